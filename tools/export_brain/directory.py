"""A brain directory from the source weights: graphs, config, tokenizer, and the manifest with every file's digest."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.export_brain.graph import Attention, Precision, build_graph
from tools.export_brain.weights import Array, read_weights
from tools.train_brain.shape import Shape
from tools.train_brain.tokenizer import end_id, load_tokenizer

GRAPH_FILES: Mapping[Precision, str] = {
    "fp32": "onnx/model.onnx",
    "q8": "onnx/model_quantized.onnx",
    "q4": "onnx/model_q4.onnx",
}


@dataclass(frozen=True, slots=True)
class Source:
    """What a brain is built from. `record` is the training's own account; it goes into the manifest as `training`."""

    id: str
    shape: Shape
    weights: Mapping[str, Array]
    tokenizer: Path
    prompt_version: int
    features: tuple[str, ...]
    succeeds: tuple[str, ...]
    record: Mapping[str, object]


def load_source(folder: Path) -> Source:
    """The source in a folder of brain-source.json, tokenizer.json, weights.safetensors. `ValueError` on any flaw."""
    facts = json.loads((folder / "brain-source.json").read_bytes())
    source = Source(
        id=facts["id"],
        shape=Shape(**facts["shape"]),
        weights=read_weights(folder / "weights.safetensors"),
        tokenizer=folder / "tokenizer.json",
        prompt_version=facts["promptVersion"],
        features=tuple(facts["features"]),
        succeeds=tuple(facts["succeeds"]),
        record=facts["training"],
    )
    check_source(source)
    return source


def check_source(source: Source) -> None:
    """Refuses weights that are not exactly the shape's, and a tokenizer larger than the table."""
    expected = source.shape.tensors()
    found = {name: tuple(weight.shape) for name, weight in source.weights.items()}
    if found != expected:
        name = min(set(expected.items()) ^ set(found.items()))[0]
        raise ValueError(f"{name}: found {found.get(name)}, expected {expected.get(name)}")
    tokens = load_tokenizer(source.tokenizer).get_vocab_size()
    if tokens > source.shape.vocab_size:
        raise ValueError(f"tokenizer.json has {tokens} text tokens, the table {source.shape.vocab_size} rows")


def graph_bytes(source: Source, precision: Precision, attention: Attention = "plain") -> bytes:
    """One graph file's bytes: the same source gives the same bytes."""
    return bytes(build_graph(source.shape, source.weights, precision, attention).SerializeToString(deterministic=True))


def write_brain(source: Source, out: Path, precisions: Sequence[Precision], attention: Attention = "plain") -> None:
    """`out` is a brain directory holding `precisions`; its manifest lists the digests of all three graphs as built."""
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    digests: dict[str, str] = {}
    for precision, file in GRAPH_FILES.items():
        data = graph_bytes(source, precision, attention)
        digests[file] = hashlib.sha256(data).hexdigest()
        if precision in precisions:
            (out / file).write_bytes(data)
    shutil.copyfile(source.tokenizer, out / "tokenizer.json")
    config = source.shape.config(eos_token_id=end_id(load_tokenizer(source.tokenizer)))
    (out / "config.json").write_text(canonical(config))
    for name in ("tokenizer.json", "config.json"):
        digests[name] = hashlib.sha256((out / name).read_bytes()).hexdigest()
    (out / "brain.json").write_text(canonical(manifest(source, digests)))


def manifest(source: Source, digests: Mapping[str, str]) -> dict[str, object]:
    """The content of brain.json."""
    return {
        "id": source.id,
        "features": list(source.features),
        "promptVersion": source.prompt_version,
        "succeeds": list(source.succeeds),
        "files": dict(sorted(digests.items())),
        "training": source.record,
    }


def canonical(value: object) -> str:
    """JSON that people can read, always in the same bytes."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
