"""Each architecture against Transformers, in exact numerics, and against a float64 reference, in fast numerics too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from gguf_bytes import Tensor, gguf, write
from quantised import TYPES
from reference import Reference, divergence

from tokenling.gguf import GgufFile, GgufRefused, GgufUnsupported, open_gguf
from tokenling.gguf.architectures import ARCHITECTURES
from tokenling.gguf.build import Choices, build_model
from tokenling.gguf.model import Model, open_model
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation

MODELS = Path(__file__).parent / "models"
EXPECTED = json.loads((MODELS / "expected.json").read_text("utf-8"))
IDS: list[int] = EXPECTED.pop("ids")
POSITIONS = 64
"""Within the LongRoPE model's original context, so that its short factors hold, as in what Transformers computed."""


def rows_of(model: Model, ids: list[int], chunk: int = 0) -> np.ndarray:
    """The logits at each of `ids`, in steps of at most `chunk`."""
    steps = BufferedSteps(model, len(ids), Cancellation())
    size = chunk or len(ids)
    return np.concatenate([steps.rows(ids[at : at + size]).copy() for at in range(0, len(ids), size)])


def opened(name: str, **choices: object) -> Model:
    with open_gguf(MODELS / f"{name}.gguf") as file:
        return open_model(file, positions=POSITIONS, **choices)  # type: ignore[arg-type]


def test_every_architecture_of_the_table_has_a_model() -> None:
    found = set()
    for name in EXPECTED:
        with open_gguf(MODELS / f"{name}.gguf") as file:
            found.add(file.architecture)
    assert set(ARCHITECTURES) == found
    assert {"llama", "qwen2", "qwen3", "gemma3", "phi3", "granite", "stablelm", "gpt2", "gptneox"} == found


@pytest.mark.parametrize("name", EXPECTED)
def test_exact_logits_are_those_of_transformers(name: str) -> None:
    expected = np.array(EXPECTED[name])
    assert expected.std() > 0.3
    assert np.abs(expected - rows_of(opened(name, rows="all"), IDS)).max() < 1e-4


@pytest.mark.parametrize("name", EXPECTED)
def test_a_step_at_a_time_gives_what_the_whole_prompt_gives(name: str) -> None:
    expected = np.array(EXPECTED[name])
    model = opened(name, rows="all")
    for chunk in (1, 7):
        assert np.abs(expected - rows_of(model, IDS, chunk)).max() < 1e-4


@pytest.mark.parametrize("name", EXPECTED)
def test_the_last_row_alone_is_the_last_of_all(name: str) -> None:
    expected = np.array(EXPECTED[name])
    assert np.abs(expected[-1:] - rows_of(opened(name), IDS)).max() < 1e-4


LONG = json.loads((MODELS / "longrope.json").read_text("utf-8"))
"""The LongRoPE model behind 100 ids, its original context being 64: what Transformers computes by its long factors."""


def test_long_factors_hold_for_a_run_beyond_the_original_context() -> None:
    expected = np.array(LONG["logits"])
    with open_gguf(MODELS / "phi3-longrope.gguf") as file:
        long = open_model(file, rows="all", positions=128)
        short = open_model(file, rows="all", positions=64)
    assert expected.std() > 0.3
    assert np.abs(expected - rows_of(long, LONG["ids"])[-8:]).max() < 1e-4
    for chunk in (1, 7):
        assert np.abs(expected - rows_of(long, LONG["ids"], chunk)[-8:]).max() < 1e-4
    # the two sets tell apart: the same ids by the short one are others
    ids = LONG["ids"][:40]
    assert np.abs(rows_of(long, ids) - rows_of(short, ids)).max() > 0.05


def test_the_reference_has_the_long_factors_too(gguf_package: ModuleType) -> None:
    assert gguf_package
    found = Reference(MODELS / "phi3-longrope.gguf").logits(LONG["ids"])[-8:]
    assert np.abs(np.array(LONG["logits"]) - found).max() < 1e-4


@pytest.mark.parametrize("name", EXPECTED)
def test_the_float64_reference_is_transformers_too(name: str, gguf_package: ModuleType) -> None:
    assert gguf_package
    assert np.abs(np.array(EXPECTED[name]) - Reference(MODELS / f"{name}.gguf").logits(IDS)).max() < 1e-4


@pytest.mark.parametrize("kind", ["Q8_0", "Q5_1", "Q4_1"])
@pytest.mark.parametrize("name", EXPECTED)
def test_quantised_both_numerics_keep_to_the_reference(
    name: str, kind: str, tmp_path: Path, gguf_package: ModuleType
) -> None:
    path = quantised(MODELS / f"{name}.gguf", tmp_path / "q.gguf", kind, gguf_package)
    expected = Reference(path).logits(IDS)
    with open_gguf(path) as file:
        exact = open_model(file, rows="all", positions=POSITIONS)
        fast = open_model(file, rows="all", positions=POSITIONS, numerics="fast")
    assert np.abs(expected - rows_of(exact, IDS)).max() < 1e-4
    # int8 activations: far from exact in single logits, near as a distribution
    assert divergence(expected, rows_of(fast, IDS)) < 0.02


def quantised(source: Path, path: Path, kind: str, package: ModuleType) -> Path:
    """The file with every matrix whose rows are whole blocks in another type."""
    with open_gguf(source) as file:
        rows = [requantised(file, name, kind, package) for name in file.tensors]
        keys = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in file.metadata.items()}
        return write(path, gguf(keys, rows))


def requantised(file: GgufFile, name: str, kind: str, package: ModuleType) -> Tensor:
    tensor = file.tensors[name]
    extents, data = tensor.shape[::-1], bytes(file.data(name))
    if tensor.type.name != "F16" or extents[0] % 32 or name.startswith("position"):
        return Tensor(name, extents, data, tensor.type.number)
    values = np.frombuffer(data, "<f2").astype(np.float32).reshape(tensor.shape)
    raw = package.quantize(values, package.GGMLQuantizationType[kind])
    return Tensor(name, extents, raw.tobytes(), TYPES[kind].number)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("name", EXPECTED)
def test_the_graph_is_a_valid_onnx_model(name: str, numerics: str) -> None:
    with open_gguf(MODELS / f"{name}.gguf") as file:
        built = build_model(file, Choices(numerics=numerics))  # type: ignore[arg-type]
    model = onnx.load_from_string(built.model)
    assert ["input_ids", "cache_position"] == [info.name for info in model.graph.input][:2]
    assert ["logits"] == [info.name for info in model.graph.output][:1]
    constants = {item.name for item in model.graph.initializer}
    outputs = {name for node in model.graph.node for name in node.output}
    read = {name for node in model.graph.node for name in node.input if name}
    assert read <= constants | outputs | {info.name for info in model.graph.input}
    assert constants <= read
    assert set(built.weights) <= constants


def test_the_same_file_gives_the_same_graph() -> None:
    with open_gguf(MODELS / "qwen3.gguf") as file:
        one, two = build_model(file, Choices()), build_model(file, Choices())
    assert one.model == two.model
    assert all(np.array_equal(one.weights[name], two.weights[name]) for name in one.weights)


def changed(name: str, tmp_path: Path, keys: Mapping[str, object], drop: str, add: Tensor | None) -> Path:
    """A model's file with other keys (None removes one), without one tensor, with one more."""
    with open_gguf(MODELS / f"{name}.gguf") as file:
        found = dict(file.metadata) | dict(keys)
        rows = [Tensor(n, t.shape[::-1], bytes(file.data(n)), t.type.number) for n, t in file.tensors.items()]
    rows = [row for row in rows if row.name != drop] + ([add] if add else [])
    return write(tmp_path / "changed.gguf", gguf({k: v for k, v in found.items() if v is not None}, rows))


@dataclass(frozen=True)
class Case:
    """A change to a model's file, and the refusal it must meet."""

    code: str
    subject: str
    keys: Mapping[str, object] = field(default_factory=dict)
    model: str = "llama"
    drop: str = ""
    add: Tensor | None = None


def key(name: str, value: object, code: str = "hyperparameter", subject: str = "") -> Case:
    """A key of the llama's that says something else."""
    return Case(code, "llama." + (subject or name), {"llama." + name: value})


def arch(value: object, code: str = "architecture") -> Case:
    return Case(code, "general.architecture", {"general.architecture": value})


def added(name: str, length: int, code: str) -> Case:
    """A vector more."""
    return Case(code, name, add=Tensor(name, (length,), bytes(4 * length)))


def replaced(name: str, row: Tensor, code: str, subject: str = "", model: str = "llama") -> Case:
    """Another tensor of that name."""
    return Case(code, subject or name, model=model, drop=name, add=row)


INFINITE = np.full(32, np.inf, "<f4").tobytes()
REFUSALS: dict[str, Case] = {
    "no architecture": arch(None, "key_missing"),
    "another architecture": arch("mamba"),
    "an empty architecture": arch(""),
    "experts": key("expert_count", 8),
    "an unknown key": key("ssm.state_size", 8, "key_unknown"),
    "yarn": key("rope.scaling.type", "yarn"),
    "no layers": key("block_count", 0, "key_type"),
    "a million layers": key("block_count", 2**20, "key_type"),
    "a layer too many": Case("tensor_missing", "blk.2.attn_norm.weight", {"llama.block_count": 3}),
    "a layer too few": Case("tensor_unknown", "blk.1.attn_q.weight", {"llama.block_count": 1}),
    "heads that do not divide": key("attention.head_count", 3, subject="embedding_length"),
    "heads for each layer": key("attention.head_count", [2, 2], "key_type"),
    "more cache heads than heads": key("attention.head_count_kv", 4),
    "another width of values": key("attention.value_length", 32),
    "heads of a width that no kernel takes": Case(
        "hyperparameter", "llama.attention.key_length",
        {"llama.attention.key_length": 24, "llama.attention.value_length": 24}),
    "an odd rotary part": key("rope.dimension_count", 15),
    "a rotary part wider than the head": key("rope.dimension_count", 64),
    "an epsilon of 0": key("attention.layer_norm_rms_epsilon", 0.0),
    "no epsilon": key("attention.layer_norm_rms_epsilon", None, "key_missing", "attention.layer_norm_epsilon"),
    "a base that is no number": key("rope.freq_base", float("nan"), "key_type"),
    "a negative base": key("rope.freq_base", -1.0),
    "attention that sees ahead": key("attention.causal", False),
    "a norm missing": Case("tensor_missing", "output_norm.weight", drop="output_norm.weight"),
    "no table": Case("tensor_shape", "token_embd.weight", drop="token_embd.weight"),
    "a matrix of another shape": Case("tensor_shape", "blk.0.ffn_gate.weight", {"llama.feed_forward_length": 40}),
    "a tensor nobody knows": added("blk.0.ssm_a", 4, "tensor_unknown"),
    "query norms in an architecture without them": added("blk.0.attn_q_norm.weight", 16, "tensor_unknown"),
    "a bias on an RMS norm": added("output_norm.bias", 32, "norm_bias"),
    "a gain that is not finite": replaced(
        "output_norm.weight", Tensor("output_norm.weight", (32,), INFINITE), "tensor_not_finite"),
    "a rotary factor of 0": replaced(
        "rope_freqs.weight", Tensor("rope_freqs.weight", (8,), bytes(32)), "rope_factors", "rope factors", "llama3"),
    "a type that does not run": replaced(
        "output.weight", Tensor("output.weight", (32, 48), bytes(48 * 18), TYPES["IQ4_NL"].number), "quantization"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_model_that_does_not_run_is_refused_by_name(case: str, tmp_path: Path) -> None:
    wanted = REFUSALS[case]
    path = changed(wanted.model, tmp_path, wanted.keys, wanted.drop, wanted.add)
    with open_gguf(path) as file, pytest.raises(GgufRefused) as caught:
        open_model(file)
    assert (wanted.code, wanted.subject) == (caught.value.code, caught.value.subject)


def test_more_positions_than_trained_for_are_refused() -> None:
    with open_gguf(MODELS / "llama.gguf") as file, pytest.raises(GgufUnsupported, match="at most 128"):
        open_model(file, positions=129)
