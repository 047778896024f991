"""A Hugging Face directory becomes a brain directory that writes what Transformers writes, or is refused by name."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tokenling.runtime import Brain, Cancellation, DecodePlan, Sampling, decode, open_brain, open_lane
from tokenling.runtime.steps import Steps
from tools.convert_hf.directory import convert
from tools.convert_hf.safetensors import SourceRefused

EXPORTED = Path(__file__).parents[1] / "runtime" / "exported"
MODEL_TYPES = ("gpt2", "gpt_neox", "llama")
Tensors = dict[str, np.ndarray]


@pytest.fixture(params=MODEL_TYPES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A random model as Transformers saved it, with its greedy tokens."""
    return unpacked(request.param, tmp_path)


def unpacked(model_type: str, tmp_path: Path) -> Path:
    with zipfile.ZipFile(EXPORTED / f"{model_type}-source.zip") as archive:
        archive.extractall(tmp_path / "source")
    return tmp_path / "source"


def converted(source: Path, name: str = "brain", **changes: object) -> Path:
    settings = {"brain_id": "converted-0", "features": ["tags"], "prompt_version": 1}
    convert(source, source.parent / name, **(settings | changes))  # type: ignore[arg-type]
    return source.parent / name


def save(folder: Path, tensors: Tensors, name: str = "model.safetensors") -> None:
    """A safetensors file of float32 tensors."""
    table: dict[str, object] = {}
    blobs: list[bytes] = []
    for tensor, values in tensors.items():
        start = sum(map(len, blobs))
        blobs.append(values.astype("<f4").tobytes())
        table[tensor] = {"dtype": "F32", "shape": values.shape, "data_offsets": [start, start + len(blobs[-1])]}
    write_file(folder / name, json.dumps(table).encode(), b"".join(blobs))


def write_file(file: Path, table: bytes, body: bytes) -> None:
    file.write_bytes(len(table).to_bytes(8, "little") + table + body)


def load(folder: Path) -> tuple[dict[str, dict[str, object]], bytes]:
    """The table and the body of a safetensors file."""
    data = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def wide_llama(folder: Path) -> Path:
    """A Llama of random weights whose every matrix can be blocked, with the tokenizer of the small ones."""
    source = unpacked("llama", folder)
    config = json.loads((source / "config.json").read_text("utf-8"))
    config |= {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
               "num_hidden_layers": 1, "head_dim": 16, "tie_word_embeddings": True}  # fmt: skip
    (source / "config.json").write_text(json.dumps(config), "utf-8")
    rng = np.random.default_rng(3)
    sizes = {"q_proj": (64, 64), "k_proj": (32, 64), "v_proj": (32, 64), "o_proj": (64, 64)}
    at = "model.layers.0."
    tensors = {f"{at}self_attn.{name}.weight": rng.normal(size=size) / 8 for name, size in sizes.items()}
    sizes = {"gate_proj": (96, 64), "up_proj": (96, 64), "down_proj": (64, 96)}
    tensors |= {f"{at}mlp.{name}.weight": rng.normal(size=size) / 8 for name, size in sizes.items()}
    for name in (at + "input_layernorm", at + "post_attention_layernorm", "model.norm"):
        tensors[name + ".weight"] = np.ones(64)
    tensors["model.embed_tokens.weight"] = rng.normal(size=(config["vocab_size"], 64))
    save(source, tensors)
    return source


def first_logits(brain: Brain) -> np.ndarray:
    return Steps(brain, 64, Cancellation()).prefill(brain.tokenizer.encode("Pip, how are you?"), 0).copy()


def test_the_converted_fp32_graph_writes_what_transformers_wrote(source: Path) -> None:
    greedy = json.loads((source / "greedy.json").read_text("utf-8"))
    brain = open_brain(converted(source), precision="fp32")
    plan = DecodePlan(brain.tokenizer.encode(greedy["prompt"]), 64, Sampling(0, 0, 1000, 0), (), ignore_eos=True)
    assert greedy["tokens"] == list(decode(open_lane(brain), plan).token_ids)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_quantised_graphs_stay_near_the_fp32_one(tmp_path: Path, numerics: str) -> None:
    path = converted(wide_llama(tmp_path))
    expected = first_logits(open_brain(path, precision="fp32"))
    spread = float(expected.std())
    for precision, share in (("q8", 0.03), ("q4", 0.2)):  # twice what was measured
        found = first_logits(open_brain(path, precision=precision, numerics=numerics))  # type: ignore[arg-type]
        assert 0 < float((found - expected).std()) / spread < share


def test_every_matrix_of_a_quantised_graph_is_in_blocked_codes(tmp_path: Path) -> None:
    path = converted(wide_llama(tmp_path))
    model = onnx.load(path / "onnx/model_q4.onnx")
    assert [21] == [opset.version for opset in model.opset_import]
    kinds = {item.name: item.data_type for item in model.graph.initializer if item.name.endswith(".codes")}
    assert onnx.TensorProto.INT8 == kinds.pop("head.codes")
    assert {onnx.TensorProto.INT4} == set(kinds.values())
    floats = [item for item in model.graph.initializer if item.data_type == onnx.TensorProto.FLOAT]
    matrices = [item for item in floats if len(item.dims) == 2 and not item.name.endswith(".scales")]
    assert [] == [item.name for item in matrices]


def test_the_manifest_names_every_file_and_the_same_source_gives_the_same_bytes(source: Path) -> None:
    first, second = converted(source, "first"), converted(source, "second")
    for file in sorted(path for path in first.rglob("*") if path.is_file()):
        assert file.read_bytes() == (second / file.relative_to(first)).read_bytes()
    manifest = json.loads((first / "brain.json").read_text("utf-8"))
    expected = {"config.json", "tokenizer.json", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_q4.onnx"}
    assert expected == set(manifest["files"])
    brain = open_brain(first)
    assert ("converted-0", ("tags",), 1) == (brain.id, brain.features, brain.prompt_version)


def test_shards_and_bfloat16_read_as_one_file_does(tmp_path: Path) -> None:
    source = unpacked("llama", tmp_path)
    whole = converted(source, "whole")
    table, body = load(source)
    halves: dict[str, tuple[dict[str, object], bytes]] = {"a.safetensors": ({}, b""), "b.safetensors": ({}, b"")}
    for place, (name, entry) in enumerate((n, e) for n, e in table.items() if n != "__metadata__"):
        start, end = entry["data_offsets"]  # type: ignore[misc]
        upper = np.frombuffer(body[start:end], "<u2")[1::2].tobytes()  # the weights fit bfloat16 by their making
        file = ("a.safetensors", "b.safetensors")[place % 2]
        entries, blob = halves[file]
        entries[name] = entry | {"dtype": "BF16", "data_offsets": [len(blob), len(blob) + len(upper)]}
        halves[file] = (entries, blob + upper)
    for file, (entries, blob) in halves.items():
        write_file(source / file, json.dumps(entries).encode(), blob)
    places = {name: file for file, (entries, _) in halves.items() for name in entries}
    (source / "model.safetensors").unlink()
    (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}), "utf-8")
    graph = "onnx/model.onnx"
    assert (whole / graph).read_bytes() == (converted(source, "sharded") / graph).read_bytes()


def config(**changes: object) -> Callable[[Path], object]:
    def spoil(source: Path) -> None:
        document = json.loads((source / "config.json").read_text("utf-8")) | changes
        (source / "config.json").write_text(json.dumps(document), "utf-8")

    return spoil


def entry(change: Callable[[dict[str, dict[str, object]]], object]) -> Callable[[Path], object]:
    """The table of the weights changed, the numbers left."""

    def spoil(source: Path) -> None:
        table, body = load(source)
        change(table)
        write_file(source / "model.safetensors", json.dumps(table).encode(), body)

    return spoil


def shards(places: object) -> Callable[[Path], object]:
    def spoil(source: Path) -> None:
        (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}), "utf-8")

    return spoil


NORM = "model.norm.weight"
REFUSED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "no config": ("config.json", lambda source: (source / "config.json").unlink()),
    "a config that is a list": ("config.json", lambda source: (source / "config.json").write_text("[]")),
    "a config of 2 MiB": ("config.json", lambda source: (source / "config.json").write_text(" " * 2**21)),
    "another model type": ("model_type", config(model_type="mistral")),
    "scaled rotary positions": ("rope_scaling", config(rope_scaling={"rope_type": "yarn", "factor": 4.0})),
    "another activation": ("hidden_act", config(hidden_act="relu6")),
    "no layers": ("num_hidden_layers", config(num_hidden_layers=0)),
    "an epsilon that is a word": ("rms_norm_eps", config(rms_norm_eps="small")),
    "more layers than weights": ("layers.2", config(num_hidden_layers=3)),
    "another width than the weights": ("embed_tokens", config(hidden_size=32)),
    "no weights": ("model.safetensors", lambda source: (source / "model.safetensors").unlink()),
    "no tokenizer": ("tokenizer.json", lambda source: (source / "tokenizer.json").unlink()),
    "a tensor too few": (NORM, entry(lambda table: table.pop(NORM))),
    "a tensor of integers": ("dtype", entry(lambda table: table[NORM].update(dtype="I8"))),
    "a tensor of another size": (NORM, entry(lambda table: table[NORM].update(shape=[17]))),
    "a tensor of negative size": (NORM, entry(lambda table: table[NORM].update(shape=[-4, -4]))),
    "a tensor beyond the file": (NORM, entry(lambda table: table[NORM].update(data_offsets=[2**40, 2**40 + 64]))),
    "a tensor before the file": (NORM, entry(lambda table: table[NORM].update(data_offsets=[-64, 0]))),
    "a table longer than the file": ("table", lambda source: (source / "model.safetensors").write_bytes(b"\xff" * 16)),
    "a shard by its path": ("../x", shards({"a": "../x"})),
    "a shard that is not there": ("none.safetensors", shards({"a": "none.safetensors"})),
    "shards that are numbers": ("weight_map", shards({"a": 1})),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_source_that_cannot_be_converted_is_refused_and_no_brain_is_written(tmp_path: Path, name: str) -> None:
    named, spoil = REFUSED[name]
    source = unpacked("llama", tmp_path)
    spoil(source)
    with pytest.raises(SourceRefused) as refusal:
        converted(source)
    assert named in str(refusal.value)
    assert not (tmp_path / "brain" / "brain.json").exists()


def test_a_brain_is_never_written_over(tmp_path: Path) -> None:
    source = unpacked("llama", tmp_path)
    converted(source)
    with pytest.raises(SourceRefused, match="empty"):
        converted(source)
