"""A GGUF model opened and run: on the runtime's lanes and on its own steps, from the cache and without."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from gguf_bytes import Tensor, gguf, write
from quantised import TYPES, random_raw
from reference import Reference, divergence
from tiny_tokenizer import EOS, tiny_tokenizer

from tokenling.gguf import GgufUnsupported, open_gguf
from tokenling.gguf.generate import generate
from tokenling.gguf.graph import WEIGHTS_FILE
from tokenling.gguf.model import Model, brain_of, open_model
from tokenling.gguf.quantization import FLOATS, QUANTIZATIONS
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import (
    BrainRefused,
    Cancellation,
    DecodePlan,
    GenerationRefused,
    Lane,
    Sampling,
    decode,
    open_lane,
)  # fmt: skip

MODELS = Path(__file__).parent / "models"
GREEDY = Sampling(0, 0, 1000, 0)
DRAWN = Sampling(900, 20, 950, 77)
PROMPT = (5, 9, 14, 3, 22)


def opened(name: str = "llama", **choices: object) -> Model:
    with open_gguf(MODELS / f"{name}.gguf") as file:
        return open_model(file, **choices)  # type: ignore[arg-type]


def lane_of(model: Model) -> Lane:
    lane = open_lane(brain_of(model, tiny_tokenizer(), (EOS,), brain_id="tiny"))
    lane.warm_up()
    return lane


def plan(sampling: Sampling = GREEDY, max_new: int = 24, **more: object) -> DecodePlan:
    return DecodePlan(PROMPT, max_new, sampling, (), ignore_eos=True, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["llama", "gemma3", "gpt2", "gptneox"])
@pytest.mark.parametrize("sampling", [GREEDY, DRAWN])
def test_its_own_steps_write_what_the_runtimes_lane_writes(name: str, sampling: Sampling) -> None:
    model = opened(name)
    lane = lane_of(model)
    wanted = plan(sampling)
    assert decode(lane, wanted).token_ids == generate(model, lane, wanted).token_ids


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_threads_and_chunks_of_processes_change_no_token(numerics: str) -> None:
    one, two = (opened("qwen3", numerics=numerics, threads=threads) for threads in (1, 2))
    expected = generate(one, lane_of(one), plan(DRAWN)).token_ids
    assert 24 == len(expected)
    assert expected == generate(one, lane_of(one), plan(DRAWN)).token_ids
    assert expected == generate(two, lane_of(two), plan(DRAWN)).token_ids


def test_a_new_process_writes_the_same_tokens() -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/gguf')\n"
        "import test_gguf_model as t\n"
        "model = t.opened('qwen3')\n"
        "print(list(t.generate(model, t.lane_of(model), t.plan(t.DRAWN)).token_ids))\n"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    model = opened("qwen3")
    assert str(list(generate(model, lane_of(model), plan(DRAWN)).token_ids)) == run.stdout.strip()


def test_text_comes_as_it_is_sure() -> None:
    model = opened()
    pieces: list[str] = []
    found = generate(model, lane_of(model), plan(), on_token=pieces.append)
    assert found.text == "".join(pieces)
    assert 24 == len(found.text)
    assert "length" == found.stop


def test_a_chat_goes_on_behind_what_the_caches_hold() -> None:
    model = opened()
    lane = lane_of(model)
    steps = BufferedSteps(model, 64, Cancellation())
    first = generate(model, lane, plan(max_new=6), steps=steps)
    # the last token was chosen and not yet run: the next prompt begins with it
    more = DecodePlan((first.token_ids[-1], 7, 8), 6, GREEDY, (), ignore_eos=True)
    second = generate(model, lane, more, steps=steps)
    whole = DecodePlan((*PROMPT, *first.token_ids, 7, 8), 6, GREEDY, (), ignore_eos=True)
    assert generate(model, lane, whole).token_ids == second.token_ids


def test_truncated_steps_write_what_fresh_ones_write() -> None:
    model = opened(rows="all")
    steps = BufferedSteps(model, 32, Cancellation())
    expected = steps.rows(PROMPT)[-1].copy()
    steps.rows([1, 2, 3])
    steps.truncate(len(PROMPT) - 1)
    assert np.abs(expected - steps.step(PROMPT[-1:])).max() < 1e-5


def test_steps_know_by_which_pieces_their_tokens_came() -> None:
    steps = BufferedSteps(opened(), 32, Cancellation())
    steps.prefill(PROMPT, 2)
    steps.step([7])
    assert [2, 2, 1, 1] == steps.pieces
    assert (4, 2, 0) == (steps.whole_pieces(4), steps.whole_pieces(3), steps.whole_pieces(1))
    steps.truncate(3)
    assert (3, [2, 1]) == (steps.tokens, steps.pieces)


def test_a_context_that_is_full_is_an_error_and_no_silent_cut() -> None:
    model = opened(positions=16)
    with pytest.raises(GenerationRefused, match="does_not_fit"):
        generate(model, lane_of(model), plan(max_new=12))
    steps = BufferedSteps(model, 8, Cancellation())
    with pytest.raises(GenerationRefused, match="at most 8"):
        steps.prefill(range(9))
    with pytest.raises(GenerationRefused, match="context of 8"):
        generate(model, lane_of(model), plan(max_new=4), steps=steps)
    assert 0 == steps.tokens


def test_a_cancelled_generation_ends_as_cancelled() -> None:
    model = opened()
    cancel = Cancellation()
    lane = lane_of(model)
    found = generate(model, lane, plan(), cancel=cancel, on_token=lambda _piece: cancel.cancel())
    assert "cancelled" == found.stop
    assert 1 <= len(found.token_ids) < 24
    assert 24 == len(generate(model, lane, plan()).token_ids)


def test_the_graph_keeps_the_runtimes_contract() -> None:
    model = opened("gemma3")
    assert ["input_ids", "cache_position"] == [item.name for item in model.layout.inputs]
    assert (1, 16, 48, 14) == (model.layout.kv_heads, model.layout.head_dim, model.layout.vocabulary,
                               len(model.layout.caches))  # fmt: skip


@pytest.mark.parametrize("threads", [0, 257])
def test_threads_out_of_range_are_refused(threads: int) -> None:
    with pytest.raises(BrainRefused, match="threads_range"):
        opened(threads=threads)


# ---- the cache


def test_a_kept_graph_is_used_again_and_writes_the_same(tmp_path: Path) -> None:
    first, second = opened(cache_dir=tmp_path), opened(cache_dir=tmp_path)
    assert (False, True) == (first.was_cached, second.was_cached)
    assert first.files == second.files
    assert 64 == len(first.files["llama.gguf"])
    assert generate(first, lane_of(first), plan()).token_ids == generate(second, lane_of(second), plan()).token_ids
    assert 1 == len(list(tmp_path.iterdir()))


def test_other_choices_are_another_graph(tmp_path: Path) -> None:
    for choices in ({}, {"numerics": "fast"}, {"rows": "all"}, {"positions": 32}):
        assert not opened(cache_dir=tmp_path, **choices).was_cached
    assert 4 == len(list(tmp_path.iterdir()))
    assert opened(cache_dir=tmp_path, positions=128).was_cached  # the training's positions, said and unsaid


@pytest.mark.parametrize("file", ["model.onnx", WEIGHTS_FILE, "built.json"])
@pytest.mark.parametrize("how", ["changed", "cut", "gone"])
def test_a_kept_graph_that_is_not_what_was_written_is_built_again(file: str, how: str, tmp_path: Path) -> None:
    expected = generate(model := opened(cache_dir=tmp_path), lane_of(model), plan()).token_ids
    spoiled = next(tmp_path.iterdir()) / file
    data = bytearray(spoiled.read_bytes())
    if how == "gone":
        spoiled.unlink()
    else:
        data[len(data) // 2] ^= 1
        spoiled.write_bytes(data if how == "changed" else data[:-1])
    model = opened(cache_dir=tmp_path)
    assert not model.was_cached
    assert expected == generate(model, lane_of(model), plan()).token_ids
    assert opened(cache_dir=tmp_path).was_cached


def test_a_build_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    opened()
    assert [] == list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="denied"):
        opened(cache_dir=tmp_path / "cache")


# ---- every quantisation, in a model wide enough for blocks of 256

WIDE = {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 256,
        "llama.feed_forward_length": 256, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
        "llama.context_length": 64, "llama.attention.layer_norm_rms_epsilon": 1e-5}  # fmt: skip
MATRICES = {"token_embd": 48, "output": 48, "blk.0.attn_q": 256, "blk.0.attn_k": 128, "blk.0.attn_v": 128,
            "blk.0.attn_output": 256, "blk.0.ffn_gate": 256, "blk.0.ffn_up": 256, "blk.0.ffn_down": 256}  # fmt: skip


def wide_model(path: Path, kinds: dict[str, str], *, tied: bool = False) -> Path:
    """A llama whose matrices have these types (`""`: of all others)."""
    rows = [Tensor(f"{name}.weight", (256,), np.ones(256, "<f4").tobytes())
            for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")]  # fmt: skip
    for seed, (name, height) in enumerate(MATRICES.items()):
        if not (tied and name == "output"):
            kind = TYPES[kinds.get(name, kinds[""])]
            rows.append(
                Tensor(f"{name}.weight", (256, height), random_raw(kind, 256 * height, 0.08, seed), kind.number)
            )
    return write(path, gguf(WIDE, rows))


def compare(path: Path) -> None:
    """Exact logits to 1e-4 of the reference, fast ones near it as a distribution."""
    expected = Reference(path).logits(list(PROMPT))
    assert expected.std() > 0.3
    with open_gguf(path) as file:
        for numerics in ("exact", "fast"):
            model = open_model(file, rows="all", numerics=numerics)  # type: ignore[arg-type]
            found = BufferedSteps(model, 16, Cancellation()).rows(PROMPT)
            assert divergence(expected, found) < (1e-9 if numerics == "exact" else 5e-3)
            assert np.abs(expected - found).max() < (1e-4 if numerics == "exact" else 0.6)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", [*QUANTIZATIONS, *FLOATS])
def test_every_quantisation_runs(kind: str, tied: bool, tmp_path: Path, gguf_package: ModuleType) -> None:
    assert gguf_package
    compare(wide_model(tmp_path / "wide.gguf", {"": kind}, tied=tied))


def test_types_mixed_within_one_layer_run(tmp_path: Path, gguf_package: ModuleType) -> None:
    assert gguf_package
    kinds = {"": "Q4_K", "blk.0.attn_v": "Q6_K", "blk.0.attn_k": "Q5_0", "blk.0.attn_q": "Q8_0", "blk.0.ffn_up": "Q4_0",
             "blk.0.ffn_down": "F16", "output": "Q6_K"}  # fmt: skip
    compare(wide_model(tmp_path / "wide.gguf", kinds))


def test_what_is_widened_is_noted(tmp_path: Path) -> None:
    with open_gguf(wide_model(tmp_path / "wide.gguf", {"": "Q8_0", "blk.0.ffn_down": "F16"})) as file:
        assert open_model(file).notes == ()
        notes = open_model(file, numerics="fast").notes
    assert 1 == len(notes)
    assert notes[0].startswith("F16 matrices are widened")


def test_a_quantised_weight_stays_in_its_own_bits(tmp_path: Path) -> None:
    from tokenling.gguf.build import Choices, build_model

    sizes = {}
    for kind in ("Q4_0", "Q8_0", "F32"):
        with open_gguf(wide_model(tmp_path / "wide.gguf", {"": kind})) as file:
            sizes[kind] = build_model(file, Choices(numerics="fast")).weight_bytes
    assert sizes["Q4_0"] < 0.2 * sizes["F32"]
    assert sizes["Q8_0"] < 0.32 * sizes["F32"]


def test_a_header_without_its_data_does_not_open_as_a_model(tmp_path: Path) -> None:
    path = wide_model(tmp_path / "wide.gguf", {"": "Q4_0"})
    write(path, path.read_bytes()[:4096])
    with open_gguf(path, header_only=True) as file, pytest.raises(BrainRefused, match="tensor_truncated"):
        open_model(file)


def test_a_table_larger_than_any_vocabulary_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "v.gguf", gguf(WIDE, [Tensor("token_embd.weight", (256, 2**21), b"", 2)]))
    with open_gguf(path, header_only=True) as file, pytest.raises(GgufUnsupported, match="tensor_shape"):
        open_model(file)
