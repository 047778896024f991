"""The export: same source, same bytes; a graph computes what its weights say; the shipped brain is what was built."""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.engine import PROMPT_VERSION
from tools.export_brain.directory import GRAPH_FILES, Source, graph_bytes, load_source, write_brain
from tools.export_brain.graph import build_graph
from tools.export_brain.quantize import BLOCK, packed, quantize
from tools.export_brain.weights import read_weights, write_weights
from tools.train_brain.shape import Shape
from tools.train_brain.tokenizer import load_tokenizer

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tools" / "train_brain" / "weights"
SHIPPED = shipped_brain_dir()
SMALL = Shape(vocab_size=96, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              head_dim=16, intermediate_size=96, max_position_embeddings=64)  # fmt: skip

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def random_weights(shape: Shape, seed: int = 0) -> dict[str, Floats]:
    chance = np.random.default_rng(seed)
    return {
        name: (chance.normal(size=extent) / np.sqrt(extent[-1])).astype(np.float16).astype(np.float32)
        if len(extent) == 2
        else np.ones(extent, dtype=np.float32)
        for name, extent in shape.tensors().items()
    }


def open_graph(data: bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(session: ort.InferenceSession, shape: Shape, ids: list[int], chunks: list[int]) -> Floats:
    """Logits of all ids, fed in chunks over a growing cache."""
    names = [one.name for one in session.get_outputs()][1:]
    empty = np.zeros((1, shape.num_key_value_heads, 0, shape.head_dim), dtype=np.float32)
    past = {name.replace("present", "past_key_values"): empty for name in names}
    logits, at = [], 0
    for chunk in chunks:
        feed = {
            "input_ids": np.array([ids[at : at + chunk]], dtype=np.int64),
            "attention_mask": np.ones((1, at + chunk), dtype=np.int64),
            "position_ids": np.arange(at, at + chunk, dtype=np.int64)[None],
        }
        known = {one.name for one in session.get_inputs()}
        found = session.run(None, {name: value for name, value in feed.items() if name in known} | past)
        logits.append(found[0])
        past = {name.replace("present", "past_key_values"): part for name, part in zip(names, found[1:], strict=True)}
        at += chunk
    return np.concatenate(logits, axis=1)[0]


def oracle(shape: Shape, weights: dict[str, Floats], ids: list[int]) -> Doubles:
    """The Llama written again, in float64 and without a cache, from the paper's formulas."""
    w = {name: weight.astype(np.float64) for name, weight in weights.items()}
    x = w["model.embed_tokens.weight"][ids]
    for layer in range(shape.num_hidden_layers):
        at = f"model.layers.{layer}."
        x = x + attention(shape, w, at + "self_attn.", even(shape, x) * w[at + "input_layernorm.weight"])
        h = even(shape, x) * w[at + "post_attention_layernorm.weight"]
        gate, up = h @ w[at + "mlp.gate_proj.weight"].T, h @ w[at + "mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[at + "mlp.down_proj.weight"].T
    out: Doubles = (even(shape, x) * w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T
    return out


def even(shape: Shape, x: Doubles) -> Doubles:
    out: Doubles = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + shape.rms_norm_eps)
    return out


def attention(shape: Shape, w: dict[str, Doubles], at: str, x: Doubles) -> Doubles:
    length, width = len(x), shape.head_dim
    group = shape.num_attention_heads // shape.num_key_value_heads
    mixed = []
    for head in range(shape.num_attention_heads):
        own = slice(head * width, (head + 1) * width)
        shared = slice(head // group * width, (head // group + 1) * width)
        q = turned(shape, x @ w[at + "q_proj.weight"][own].T)
        k = turned(shape, x @ w[at + "k_proj.weight"][shared].T)
        scores = np.where(np.tri(length, dtype=bool), q @ k.T / np.sqrt(width), -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed.append(shares / shares.sum(-1, keepdims=True) @ (x @ w[at + "v_proj.weight"][shared].T))
    out: Doubles = np.concatenate(mixed, axis=-1) @ w[at + "o_proj.weight"].T
    return out


def turned(shape: Shape, x: Doubles) -> Doubles:
    """Rotary positions as complex numbers: component i of the first half with component i of the second."""
    half = shape.head_dim // 2
    angle = np.outer(np.arange(len(x)), shape.rope_theta ** (-np.arange(half) / half))
    spun = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * angle)
    return np.concatenate((spun.real, spun.imag), axis=-1)


def test_the_fp32_graph_computes_the_llama_of_the_paper_in_any_chunks() -> None:
    weights = random_weights(SMALL)
    ids = np.random.default_rng(1).integers(0, SMALL.vocab_size, 24).tolist()
    session = open_graph(build_graph(SMALL, weights, "fp32").SerializeToString())
    expected = oracle(SMALL, weights, ids)
    for chunks in ([24], [1] * 24, [10, 1, 1, 7, 5]):
        np.testing.assert_allclose(expected, run(session, SMALL, ids, chunks), atol=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "q4"])
def test_grouped_attention_computes_what_the_plain_graph_computes_in_any_chunks(precision: str) -> None:
    weights = random_weights(SMALL)
    ids = [int(one) for one in np.random.default_rng(5).integers(0, SMALL.vocab_size, 24)]
    plain, grouped = (
        open_graph(build_graph(SMALL, weights, precision, attention).SerializeToString())  # type: ignore[arg-type]
        for attention in ("plain", "grouped")
    )
    assert "position_ids" not in {one.name for one in grouped.get_inputs()}
    for chunks in ([24], [7, 1, 1, 15], [1] * 24):
        np.testing.assert_allclose(
            run(plain, SMALL, ids, chunks), run(grouped, SMALL, ids, chunks), atol=2e-5, rtol=1e-4
        )


def test_a_masked_position_is_not_seen() -> None:
    session = open_graph(build_graph(SMALL, random_weights(SMALL), "fp32").SerializeToString())
    empty = np.zeros((1, SMALL.num_key_value_heads, 0, SMALL.head_dim), dtype=np.float32)
    past = {one.name: empty for one in session.get_inputs() if one.name.startswith("past")}

    def last(first_id: int, mask: list[int]) -> Floats:
        feed = {"input_ids": np.array([[first_id, 5, 6]]), "position_ids": np.array([[0, 1, 2]])}
        found: Floats = session.run(["logits"], feed | past | {"attention_mask": np.array([mask])})[0][0, -1]
        return found

    np.testing.assert_array_equal(last(1, [0, 1, 1]), last(2, [0, 1, 1]))
    assert np.abs(last(1, [1, 1, 1]) - last(2, [1, 1, 1])).max() > 1e-3


@pytest.mark.parametrize("precision", ["fp32", "q8", "q4"])
def test_the_same_weights_give_the_same_bytes(precision: str) -> None:
    first, again = (
        build_graph(SMALL, random_weights(SMALL), precision).SerializeToString(deterministic=True)  # type: ignore[arg-type]
        for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize(("bits", "bound"), [(4, 0.08), (8, 0.005)])
def test_quantising_moves_a_matrix_by_less_than_half_a_step(bits: int, bound: float) -> None:
    matrix = np.random.default_rng(2).normal(size=(96, 40)).astype(np.float32)
    blocked = quantize(matrix, bits=bits, axis=0)
    assert blocked.scales.shape == (96 // BLOCK, 40)
    assert np.sqrt(np.square(blocked.undone() - matrix).mean()) < bound * 1.3
    low = -(1 << bits - 1)
    assert low <= blocked.codes.min() <= blocked.codes.max() <= -low - 1


def test_quantising_nothing_gives_nothing_and_a_ragged_axis_is_refused() -> None:
    assert np.abs(quantize(np.zeros((32, 2), dtype=np.float32), bits=4, axis=0).undone()).max() == 0
    with pytest.raises(ValueError, match="multiple of 32"):
        quantize(np.zeros((33, 2), dtype=np.float32), bits=4, axis=0)


def test_int4_codes_are_packed_low_half_first() -> None:
    assert bytes([0x21, 0xF8]) == packed(np.array([1, 2, -8, -1], dtype=np.int8))


def test_the_graph_keeps_the_runtimes_contract_in_names_and_operators() -> None:
    model = build_graph(SMALL, random_weights(SMALL), "q4")
    assert {""} == {opset.domain for opset in model.opset_import}
    assert model.opset_import[0].version == 21
    cache = [f"past_key_values.{layer}.{part}" for layer in range(2) for part in ("key", "value")]
    assert ["input_ids", "attention_mask", "position_ids", *cache] == [one.name for one in model.graph.input]
    kinds = {one.data_type for one in model.graph.initializer if one.name.endswith(".codes")}
    assert {onnx.TensorProto.INT4, onnx.TensorProto.INT8} == kinds


def with_table(table: bytes, body: bytes = b"") -> bytes:
    return len(table).to_bytes(8, "little") + table + body


BROKEN = {
    "empty": b"",
    "short": b"\x08\x00",
    "length beyond the file": (1 << 40).to_bytes(8, "little") + b"{}",
    "offsets beyond the file": with_table(b'{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}'),
    "another type": with_table(b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'),
    "shape and offsets disagree": with_table(b'{"a":{"dtype":"F16","shape":[3],"data_offsets":[0,2]}}', b"\0\0"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_weights_file_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(BROKEN[name])
    with pytest.raises(ValueError, match=r"header length|data_offsets|F16"):
        read_weights(path)


def test_weights_come_back_as_they_were_rounded(tmp_path: Path) -> None:
    weights = random_weights(SMALL)
    write_weights(tmp_path / "w", weights)
    found = read_weights(tmp_path / "w")
    assert weights.keys() == found.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight, found[name])


# --- the shipped brain ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def source() -> Source:
    return load_source(SOURCE)


def test_the_shipped_brain_is_what_the_export_makes_of_its_source(source: Source, tmp_path: Path) -> None:
    write_brain(source, tmp_path, ["q4"])
    made = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shipped = {str(path.relative_to(SHIPPED)): path.read_bytes() for path in SHIPPED.rglob("*") if path.is_file()}
    assert made.keys() == shipped.keys()
    assert [name for name in made if made[name] != shipped[name]] == []


def test_the_manifest_lists_the_digests_of_the_files_it_ships() -> None:
    manifest = json.loads((SHIPPED / "brain.json").read_bytes())
    assert {*GRAPH_FILES.values(), "config.json", "tokenizer.json"} == set(manifest["files"])
    for name, digest in manifest["files"].items():
        path = SHIPPED / name
        if path.exists():
            assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    weights = hashlib.sha256((SOURCE / "weights.safetensors").read_bytes()).hexdigest()
    assert weights == manifest["training"]["weightsSha256"]


def test_the_shipped_brain_was_trained_on_the_engines_prompts_and_keeps_its_size(source: Source) -> None:
    assert source.prompt_version == PROMPT_VERSION
    assert source.shape.parameters() <= 6_000_000
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= 4_200_000


@pytest.mark.parametrize(("precision", "apart_max"), [("q8", 0.25), ("q4", 1.2)])
def test_quantised_logits_stay_close_to_fp32(source: Source, precision: str, apart_max: float) -> None:
    prompt = (
        "Pip is a shy, dreamy child who loves plum.\nAwake in the nest, noon, spring, feeling calm.\nOwner: hello\nPip:"
    )
    ids = load_tokenizer(source.tokenizer).encode(prompt + " Hello, friend! I'm here.").ids
    wide, narrow = (
        run(open_graph(graph_bytes(source, one)), source.shape, ids, [len(ids)])  # type: ignore[arg-type]
        for one in ("fp32", precision)
    )
    assert np.sqrt(np.square(wide - narrow).mean()) < apart_max
    assert (wide.argmax(-1) == narrow.argmax(-1)).mean() > 0.8


def test_a_source_whose_weights_do_not_fit_its_shape_is_refused(source: Source, tmp_path: Path) -> None:
    for path in SOURCE.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    write_weights(
        tmp_path / "weights.safetensors", {**source.weights, "model.norm.weight": np.ones(3, dtype=np.float32)}
    )
    with pytest.raises(ValueError, match=r"model\.norm\.weight: found \(3,\)"):
        load_source(tmp_path)
