"""Built graphs on disk: a directory that ONNX Runtime opens, kept by the digest of the file it was built from, or not.

    DIRECTORY/KEY/model.onnx weights.bin built.json

KEY names the file's SHA-256, this builder's version and the choices; `built.json` holds digests of the other two, which
are compared before use. What does not agree is built again. Loading a kept graph spares the build, never a check.

Weights go to ONNX Runtime by a file, not by `add_external_initializers`: that copies each of them, while a file is
mapped, and what the kernels have packed for themselves is unmapped again (222 against 160 MB for SmolLM2).
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from tokenling.gguf.build import Choices
from tokenling.gguf.building import building_folder
from tokenling.gguf.graph import WEIGHTS_FILE, BuiltGraph
from tokenling.runtime.documents import JsonRefused, parse_object
from tokenling.runtime.files import CHUNK_BYTES

BUILDER_VERSION = 2
"""Raised by any change after which the same file gives another graph."""
FACTS_BYTES_MAX = 2**20
"""A guess: a thousand times what it takes."""
MODEL_FILE, FACTS_FILE = "model.onnx", "built.json"


def sha256_of(path: Path, told: Callable[[int], None] = lambda _bytes: None) -> str:
    """The SHA-256 of a file of any size, in lower-case hex; `told` hears of the bytes of each piece."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            told(len(chunk))
    return digest.hexdigest()


def cache_key(files: Mapping[str, str], choices: Choices) -> str:
    """The directory of one build: of the files' digests, in their order, and of resolved choices."""
    chosen = [BUILDER_VERSION, list(files.values()), choices.numerics, choices.rows, choices.positions]
    return hashlib.sha256(json.dumps(chosen).encode()).hexdigest()


def kept_notes(folder: Path) -> tuple[str, ...] | None:
    """The notes of the graph in `folder`; None when there is none, or one that is not what was written."""
    try:
        if (folder / FACTS_FILE).stat().st_size > FACTS_BYTES_MAX:
            return None
        facts = parse_object((folder / FACTS_FILE).read_bytes())
        wanted = {name: facts.get(name) for name in (MODEL_FILE, WEIGHTS_FILE)}
        if wanted != {name: sha256_of(folder / name) for name in wanted}:
            return None
    except (OSError, JsonRefused):
        return None
    notes = facts.get("notes")
    return tuple(str(line) for line in notes) if isinstance(notes, list) else ()


def keep(folder: Path, graph: BuiltGraph) -> None:
    """The graph in `folder`, whole or not at all; one that another process put there meanwhile stays."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with building_folder(folder.parent, ".building-") as made:
            write_model(made, graph)
            facts = {name: sha256_of(made / name) for name in (MODEL_FILE, WEIGHTS_FILE)}
            (made / FACTS_FILE).write_text(json.dumps({**facts, "notes": list(graph.notes)}), "utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
    except OSError:
        if not (folder / FACTS_FILE).exists():
            raise


def write_model(folder: Path, graph: BuiltGraph) -> None:
    """`model.onnx` and `weights.bin`. Raises `OSError` that names the folder, as a full disk alone does not."""
    try:
        (folder / MODEL_FILE).write_bytes(graph.model)
        with (folder / WEIGHTS_FILE).open("wb") as file:
            _write_weights(graph, file)
    except OSError as error:
        if error.filename is None:
            error.filename = str(folder)
        raise


def _write_weights(graph: BuiltGraph, file: BinaryIO) -> None:
    """The constants at their places, one that two operators share once."""
    for name, place in graph.places.items():
        if place.offset_bytes >= file.tell():
            file.write(b"\0" * (place.offset_bytes - file.tell()))
            file.write(graph.weights[name].data)
