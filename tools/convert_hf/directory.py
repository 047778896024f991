"""From a Hugging Face directory to a brain directory: graphs, tokenizer, config, and the manifest with all digests."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from tools.convert_hf.graph import build_graph
from tools.convert_hf.safetensors import SourceRefused, Weights, open_weights
from tools.convert_hf.shape import HfShape, read_shape
from tools.export_brain.directory import GRAPH_FILES, canonical
from tools.export_brain.graph import Precision

DOCUMENT_BYTES_MAX = 2**20
"""`config.json`: the runtime's own bound."""
EXTERNAL_FROM_BYTES = 2**30
"""Weights above it go into a file beside the graph: protobuf ends at 2 GiB."""


def convert(source: Path, out: Path, *, brain_id: str, features: Sequence[str], prompt_version: int,
            succeeds: Sequence[str] = (), precisions: Sequence[Precision] = ("fp32", "q8", "q4")) -> None:  # fmt: skip
    """`out`, which must not exist or be empty, is a whole brain directory. Raises `SourceRefused` before it writes."""
    config = read_config(source)
    shape, weights = read_shape(config), open_weights(source)
    if not (source / "tokenizer.json").is_file():
        raise SourceRefused(f"{source.name}: found no tokenizer.json, expected one")
    if out.exists() and any(out.iterdir()):
        raise SourceRefused(f"{out.name}: found files in it, expected a new or empty directory")
    (out / "onnx").mkdir(parents=True)
    for precision in precisions:
        write_graph(shape, weights, precision, out / GRAPH_FILES[precision])
    shutil.copyfile(source / "tokenizer.json", out / "tokenizer.json")
    (out / "config.json").write_text(canonical(dict(config)), "utf-8")
    manifest = {
        "id": brain_id,
        "features": list(features),
        "promptVersion": prompt_version,
        "succeeds": list(succeeds),
        "files": digests(out),
        "training": {"convertedFrom": shape.model_type},
    }
    (out / "brain.json").write_text(canonical(manifest), "utf-8")


def read_config(source: Path) -> Mapping[str, object]:
    """`config.json`, with the end-of-sequence id of `generation_config.json` where it has none itself."""
    config = read_object(source / "config.json")
    if config.get("eos_token_id") is None and (source / "generation_config.json").is_file():
        return config | {"eos_token_id": read_object(source / "generation_config.json").get("eos_token_id")}
    return config


def read_object(file: Path) -> dict[str, object]:
    """The JSON object in a small file."""
    try:
        data = file.read_bytes()
        found = json.loads(data) if len(data) <= DOCUMENT_BYTES_MAX else None
    except (OSError, ValueError) as error:
        raise SourceRefused(f"{file.name}: found {type(error).__name__}, expected a JSON object") from None
    if not isinstance(found, dict):
        raise SourceRefused(f"{file.name}: expected a JSON object of at most {DOCUMENT_BYTES_MAX} bytes")
    return found


def write_graph(shape: HfShape, weights: Weights, precision: Precision, file: Path) -> None:
    """One graph file, its weights beside it when they are many; checked by ONNX itself."""
    model = build_graph(shape, weights, precision)
    if sum(len(tensor.raw_data) for tensor in model.graph.initializer) > EXTERNAL_FROM_BYTES:
        location = file.name + "_data"
        onnx.save_model(model, file, save_as_external_data=True, all_tensors_to_one_file=True, location=location)
    else:
        file.write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(str(file))


def digests(out: Path) -> dict[str, str]:
    """SHA-256 of every file of the brain."""
    files = sorted(file for file in out.rglob("*") if file.is_file())
    return {file.relative_to(out).as_posix(): sha256(file) for file in files}


def sha256(file: Path) -> str:
    """The digest of a file of any size."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
