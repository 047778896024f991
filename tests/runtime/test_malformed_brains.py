"""Every way a brain directory can break the contract, with its verdict: refused at start, by its own code."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tokenling.runtime import BrainRefused, open_brain, open_lane

Spoil = Callable[[Path], object]
GRAPH = "onnx/model_q4.onnx"


def config(**changes: object) -> Spoil:
    """Set fields of config.json; None removes one."""

    def spoil(path: Path) -> None:
        edit(path / "config.json", changes)

    return spoil


def manifest(**changes: object) -> Spoil:
    def spoil(path: Path) -> None:
        edit(path / "brain.json", changes)

    return spoil


def edit(file: Path, changes: dict[str, object]) -> None:
    document = json.loads(file.read_text("utf-8")) | changes
    file.write_text(json.dumps({name: value for name, value in document.items() if value is not None}), "utf-8")


def tokenizer(change: Callable[[dict], object]) -> Spoil:  # type: ignore[type-arg]
    def spoil(path: Path) -> None:
        document = json.loads((path / "tokenizer.json").read_text("utf-8"))
        change(document)
        (path / "tokenizer.json").write_text(json.dumps(document), "utf-8")

    return spoil


def content(name: str, data: bytes) -> Spoil:
    def spoil(path: Path) -> None:
        (path / name).write_bytes(data)

    return spoil


def missing(name: str) -> Spoil:
    return lambda path: (path / name).unlink()


def graph(change: Callable[[onnx.ModelProto], object]) -> Spoil:
    """Change the graph and write it back."""

    def spoil(path: Path) -> None:
        model = onnx.load(path / GRAPH)
        change(model)
        (path / GRAPH).write_bytes(model.SerializeToString())

    return spoil


def unlist(path: Path) -> None:
    document = json.loads((path / "brain.json").read_text("utf-8"))
    del document["files"][GRAPH]
    (path / "brain.json").write_text(json.dumps(document), "utf-8")


def external(**entries: str) -> Spoil:
    """The first big weight moved to `onnx/weights.bin`, with these external-data entries changed."""

    def spoil(path: Path) -> None:
        model = onnx.load(path / GRAPH)
        tensor = max(model.graph.initializer, key=lambda item: len(item.raw_data))
        (path / "onnx/weights.bin").write_bytes(tensor.raw_data)
        values = {"location": "weights.bin", "offset": "0", "length": str(len(tensor.raw_data))} | entries
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in values.items():
            if value:
                tensor.external_data.add(key=key, value=value)
        (path / GRAPH).write_bytes(model.SerializeToString())

    return spoil


def both(*spoils: Spoil) -> Spoil:
    def spoil(path: Path) -> None:
        for each in spoils:
            each(path)

    return spoil


def linked(name: str, target: str) -> Spoil:
    """`name` replaced by a link to `target`, which exists outside."""

    def spoil(path: Path) -> None:
        outside = path.parent / "outside"
        outside.write_bytes((path / name).read_bytes())
        (path / name).unlink()
        (path / name).symlink_to(target)

    return spoil


def pipe(name: str) -> Spoil:
    def spoil(path: Path) -> None:
        (path / name).unlink(missing_ok=True)
        os.mkfifo(path / name)

    return spoil


def folder(name: str) -> Spoil:
    def spoil(path: Path) -> None:
        (path / name).unlink()
        (path / name).mkdir()

    return spoil


def add_input(model: onnx.ModelProto) -> None:
    model.graph.input.append(helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1]))


def add_output(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Identity", ["logits"], ["hidden"]))
    model.graph.output.append(helper.make_tensor_value_info("hidden", TensorProto.FLOAT, None))


def rename(old: str, new: str) -> Callable[[onnx.ModelProto], None]:
    """A tensor by another name, everywhere."""

    def change(model: onnx.ModelProto) -> None:
        for node in model.graph.node:
            for names in (node.input, node.output):
                names[:] = [new if name == old else name for name in names]
        for info in [*model.graph.input, *model.graph.output]:
            info.name = new if info.name == old else info.name

    return change


def axis(name: str, at: int, value: int | str) -> Callable[[onnx.ModelProto], None]:
    """One declared axis changed, inferred shapes left alone."""

    def change(model: onnx.ModelProto) -> None:
        info = next(item for item in [*model.graph.input, *model.graph.output] if item.name == name)
        dimension = info.type.tensor_type.shape.dim[at]
        dimension.Clear()
        if isinstance(value, int):
            dimension.dim_value = value
        else:
            dimension.dim_param = value

    return change


def unknown_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "NoSuchOperator"


def set_key(*path: str, value: object) -> Callable[[dict], None]:  # type: ignore[type-arg]
    def change(document: dict) -> None:  # type: ignore[type-arg]
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


def spoil_spelling(document: dict) -> None:  # type: ignore[type-arg]
    vocabulary = document["model"]["vocab"]
    vocabulary["a b"] = vocabulary.pop(max(vocabulary, key=lambda word: vocabulary[word]))
    document["model"]["merges"] = []


CASES: dict[str, tuple[str, Spoil]] = {
    "no directory": ("brain_missing", shutil.rmtree),
    "no config": ("file_missing", missing("config.json")),
    "config is no JSON": ("json_malformed", content("config.json", b"{")),
    "config is a list": ("json_malformed", content("config.json", b"[]")),
    "config with a key twice": (
        "json_malformed",
        content("config.json", b'{"model_type":"llama","model_type":"gpt2"}'),
    ),
    "config with NaN": ("json_malformed", content("config.json", b'{"model_type":NaN}')),
    "config 100,000 deep": ("json_malformed", content("config.json", b'{"a":' + b"[" * 100_000)),
    "config in Latin-1": ("json_malformed", content("config.json", b'{"a":"\xe9"}')),
    "config of 2 MiB": ("file_too_large", content("config.json", b" " * 2**21)),
    "config is a pipe": ("file_irregular", pipe("config.json")),
    "config is a directory": ("file_irregular", folder("config.json")),
    "no model type": ("model_type_unsupported", config(model_type=None)),
    "another model type": ("model_type_unsupported", config(model_type="bert")),
    "model type is a list": ("model_type_unsupported", config(model_type=["llama"])),
    "no layer count": ("config_missing", config(num_hidden_layers=None)),
    "two layer counts": ("config_conflict", config(n_layer=3)),
    "two head counts": ("config_conflict", config(n_head=8)),
    "two widths": ("config_conflict", config(n_embd=64)),
    "two position counts": ("config_conflict", config(n_positions=1024)),
    "no positions": ("config_missing", config(max_position_embeddings=None)),
    "no position at all": ("config_range", config(max_position_embeddings=0)),
    "positions as text": ("config_range", config(max_position_embeddings="512")),
    "heads as a truth value": ("config_range", config(num_attention_heads=True)),
    "a million layers": ("config_range", config(num_hidden_layers=10**6)),
    "width not shared by heads": ("config_heads", config(hidden_size=34)),
    "KV heads that do not divide": ("config_heads", config(num_key_value_heads=3)),
    "no KV head": ("config_range", config(num_key_value_heads=0)),
    "another head width than the graph": ("cache_shape", config(head_dim=16)),
    "more KV heads than the graph": ("cache_shape", config(num_key_value_heads=4)),
    "more layers than the graph": ("cache_missing", config(num_hidden_layers=3)),
    "fewer layers than the graph": ("input_unknown", config(num_hidden_layers=1)),
    "no vocabulary": ("config_range", config(vocab_size=None)),
    "another vocabulary than the graph": ("logits_vocabulary", config(vocab_size=500)),
    "a vocabulary below the tokenizer": ("tokenizer_range", config(vocab_size=300)),
    "no EOS": ("eos_malformed", config(eos_token_id=None)),
    "EOS as text": ("eos_malformed", config(eos_token_id="0")),
    "EOS an empty list": ("eos_malformed", config(eos_token_id=[])),
    "EOS twice": ("eos_malformed", config(eos_token_id=[0, 0])),
    "EOS outside": ("eos_range", config(eos_token_id=448)),
    "EOS below zero": ("eos_range", config(eos_token_id=-1)),
    "one EOS of a list outside": ("eos_range", config(eos_token_id=[0, 9999])),
    "no tokenizer": ("file_missing", missing("tokenizer.json")),
    "tokenizer is no JSON": ("json_malformed", content("tokenizer.json", b"\x00")),
    "tokenizer without byte-level pieces": ("tokenizer_kind", tokenizer(set_key("pre_tokenizer", value=None))),
    "tokenizer with another decoder": ("tokenizer_kind", tokenizer(set_key("decoder", value={"type": "Metaspace"}))),
    "tokenizer without a model": ("tokenizer_unreadable", tokenizer(set_key("model", value={}))),
    "tokenizer with an impossible merge": (
        "tokenizer_unreadable",
        tokenizer(set_key("model", "merges", value=[["nonsense", "words"]])),
    ),
    "a token outside the byte alphabet": ("tokenizer_token", tokenizer(spoil_spelling)),
    "no brain.json": ("brain_json_missing", missing("brain.json")),
    "brain.json without an id": ("manifest_field", manifest(id=None)),
    "an id that is a path": ("manifest_field", manifest(id="../tiny")),
    "features that are a text": ("manifest_field", manifest(features="tags")),
    "features that are numbers": ("manifest_field", manifest(features=[1])),
    "no prompt version": ("manifest_field", manifest(promptVersion=None)),
    "prompt version 0": ("manifest_field", manifest(promptVersion=0)),
    "successions that are no list": ("manifest_field", manifest(succeeds="tiny")),
    "no file digests": ("manifest_field", manifest(files={})),
    "a digest that is none": ("manifest_field", manifest(files={GRAPH: "abc"})),
    "a graph that is not listed": ("file_unlisted", unlist),
    "no q4 graph, though q8 is there": ("file_missing", missing(GRAPH)),
    "graph is a directory": ("file_irregular", folder(GRAPH)),
    "graph is a link that leads out": ("path_outside", linked(GRAPH, "../../outside")),
    "graph is a link to nothing": ("file_missing", linked(GRAPH, "../nothing")),
    "graph of noise": ("graph_malformed", content(GRAPH, b"\xff" * 4096)),
    "graph cut short": ("graph_malformed", lambda path: (path / GRAPH).write_bytes((path / GRAPH).read_bytes()[:9000])),
    "empty graph": ("graph_unloadable", content(GRAPH, b"")),
    "an operator nobody knows": ("graph_unloadable", graph(unknown_operator)),
    "weights outside, absolute": ("path_malformed", external(location="/etc/hostname")),
    "weights outside, by dots": ("path_malformed", external(location="../../outside")),
    "weights outside, by backslash": ("path_malformed", external(location="..\\outside")),
    "weights in memory": ("path_malformed", external(location="*/_ORT_MEM_ADDR_/*\0")),
    "weights in another process's memory": ("file_missing", external(location="*/_ORT_MEM_ADDR_/*")),
    "weights behind a link": ("path_outside", both(external(), linked("onnx/weights.bin", "../../outside"))),
    "weights that are a pipe": ("file_irregular", both(external(), pipe("onnx/weights.bin"))),
    "weights that are not there": ("file_missing", external(location="none.bin")),
    "weights without a place": ("external_location", external(location="")),
    "weights beyond the file": ("external_extent", external(length="99999999")),
    "weights from beyond the file": ("external_extent", external(offset="99999999", length="")),
    "weights from below zero": ("external_extent", external(offset="-1")),
    "weights of a length in words": ("external_extent", external(length="all")),
    "weights with an unknown key": ("external_key", external(loader="os.system")),
    "a merged graph": ("input_unknown", graph(add_input)),
    "hidden states too": ("output_unknown", graph(add_output)),
    "no input_ids": ("input_missing", graph(rename("input_ids", "tokens"))),
    "no logits": ("output_missing", graph(rename("logits", "scores"))),
    "a past without its present": ("cache_unmatched", graph(rename("present.1.key", "present.9.key"))),
    "a layer's past misnamed": ("cache_missing", graph(rename("past_key_values.0.value", "past.0.value"))),
    "a batch of two": ("batch_fixed", graph(axis("input_ids", 0, 2))),
    "a symbolic head axis": ("cache_axes_dynamic", graph(axis("past_key_values.0.key", 1, "heads"))),
    "a cache of fixed length": ("cache_sequence", graph(axis("past_key_values.1.value", 2, 16))),
    "prompts of fixed length": ("input_sequence", graph(axis("position_ids", 1, 4))),
}


def spoiled(brain_dir: Path, tmp_path: Path, spoil: Spoil, *, rehash: bool) -> Path:
    """A copy of the good brain, spoiled; the digests made to fit, so that they are not what refuses it."""
    path = tmp_path / "brain"
    shutil.copytree(brain_dir, path)
    spoil(path)
    if rehash and (path / "brain.json").exists():
        old = json.loads((path / "brain.json").read_text("utf-8"))
        files = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in listed(path)}
        (path / "brain.json").write_text(json.dumps(old | {"files": files}), "utf-8")
    return path


def listed(path: Path) -> list[str]:
    names = ("config.json", "tokenizer.json", GRAPH, "onnx/weights.bin")
    return [name for name in names if (path / name).is_file()]


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_brain_is_refused_by_its_own_code(brain_dir: Path, tmp_path: Path, name: str) -> None:
    code, spoil = CASES[name]
    path = spoiled(brain_dir, tmp_path, spoil, rehash=code not in ("file_unlisted", "manifest_field"))
    with pytest.raises(BrainRefused) as refusal:
        open_lane(open_brain(path)).warm_up()
    assert code == refusal.value.code, str(refusal.value)
    assert refusal.value.subject
    assert len(str(refusal.value)) < 700


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", GRAPH])
def test_a_file_that_changed_since_it_was_hashed_is_refused(brain_dir: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "brain"
    shutil.copytree(brain_dir, path)
    data = (path / name).read_bytes()
    # still the same file to every reader: JSON with a blank behind it, a graph with an unknown empty field
    (path / name).write_bytes(data + (b" " if name.endswith("json") else b"\xfa\x3f\x00"))
    with pytest.raises(BrainRefused) as refusal:
        open_brain(path)
    assert ("file_changed", name) == (refusal.value.code, refusal.value.subject)


def test_external_data_inside_the_directory_loads_and_is_hashed(brain_dir: Path, tmp_path: Path) -> None:
    path = spoiled(brain_dir, tmp_path, external(), rehash=True)
    brain = open_brain(path)
    open_lane(brain).warm_up()
    assert "onnx/weights.bin" in brain.file_sha256
    with (path / "onnx/weights.bin").open("r+b") as file:
        file.write(b"\x00\x01\x02")
    with pytest.raises(BrainRefused) as refusal:
        open_brain(path)
    assert (refusal.value.code, refusal.value.subject) == ("file_changed", "onnx/weights.bin")


def test_settings_that_disagree_with_brain_json_are_refused(brain_dir: Path) -> None:
    for settings, code in (({"brain_id": "other"}, "id_mismatch"), ({"features": ("x",)}, "features_mismatch")):
        with pytest.raises(BrainRefused) as refusal:
            open_brain(brain_dir, **settings)  # type: ignore[arg-type]
        assert code == refusal.value.code


def test_a_foreign_export_opens_under_the_name_it_is_given(brain_dir: Path, tmp_path: Path) -> None:
    path = spoiled(brain_dir, tmp_path, missing("brain.json"), rehash=False)
    brain = open_brain(path, brain_id="foreign-1", features=())
    assert (brain.id, brain.features, brain.prompt_version) == ("foreign-1", (), 0)


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"precision": "q5"}, "precision_unknown"),
        ({"numerics": "wild"}, "numerics_unknown"),
        ({"threads": 0}, "threads_range"),
    ],
)
def test_a_choice_that_is_none_is_refused(brain_dir: Path, choice: dict[str, object], code: str) -> None:
    with pytest.raises(BrainRefused) as refusal:
        open_brain(brain_dir, **choice)  # type: ignore[arg-type]
    assert code == refusal.value.code


@pytest.mark.parametrize("text", ["1.27.4", "0.99", "1.9.0"])
def test_an_old_onnx_runtime_is_refused(text: str) -> None:
    from tokenling.runtime.ort import check_version

    with pytest.raises(BrainRefused) as refusal:
        check_version(text)
    assert refusal.value.code == "onnxruntime_old"
    check_version("1.28.0")
    check_version("2.0")


def test_two_wheels_of_onnx_runtime_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenling.runtime import ort

    monkeypatch.setattr(ort.metadata, "distribution", lambda name: name)
    with pytest.raises(BrainRefused) as refusal:
        ort.check_installation()
    assert refusal.value.code == "onnxruntime_twice"
