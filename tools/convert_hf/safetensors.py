"""The weights of a Hugging Face directory, tensor by tensor as float32: one safetensors file, or shards by an index.

A file is an 8-byte length, a JSON table of names, types, shapes and offsets, and the numbers. The table is checked
against the file before a number is read. Files are mapped, so a tensor costs memory only while it is used.
"""

import json
import math
import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

HEADER_BYTES_MAX = 100_000_000
"""The bound that the format's own library sets."""
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}


class SourceRefused(ValueError):
    """The source directory is not what can be converted; nothing was written. The message names the file or field."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where one tensor lies."""

    blob: mmap.mmap
    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


class Weights(Mapping[str, Array]):
    """Names to float32 arrays, decoded anew at each look-up."""

    def __init__(self, tensors: Mapping[str, Stored]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Array:
        return decoded(self._tensors[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def shape(self, name: str) -> tuple[int, ...] | None:
        """A tensor's shape, None when there is no such tensor."""
        stored = self._tensors.get(name)
        return stored.shape if stored else None


def decoded(stored: Stored) -> Array:
    """The numbers of a stored tensor."""
    raw = stored.blob[stored.start : stored.end]
    if stored.kind == "BF16":  # the upper half of a float32
        wide = np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16
        return wide.view(np.float32).reshape(stored.shape)
    kind = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[stored.kind]
    return np.frombuffer(raw, dtype=kind).astype(np.float32).reshape(stored.shape)


def open_weights(folder: Path) -> Weights:
    """All tensors of the directory. Raises `SourceRefused`."""
    tensors: dict[str, Stored] = {}
    for name in weight_files(folder):
        for tensor, stored in read_table(folder / name).items():
            if tensor in tensors:
                raise SourceRefused(f"{name}: found {tensor} a second time, expected each tensor once")
            tensors[tensor] = stored
    return Weights(tensors)


def weight_files(folder: Path) -> list[str]:
    """The names of the weight files, those of an index each a plain name beside it."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        if not (folder / "model.safetensors").is_file():
            raise SourceRefused(f"{folder.name}: found no model.safetensors and no index of shards, expected either")
        return ["model.safetensors"]
    places = json.loads(index.read_bytes()).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise SourceRefused(f"{index.name} weight_map: expected an object of tensor and file names")
    names = sorted(set(places.values()))
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise SourceRefused(f"{index.name}: found file name {name!r}, expected a file beside the index")
    return names


def read_table(file: Path) -> dict[str, Stored]:
    """The tensors that a file's table lists."""
    with file.open("rb") as opened:
        blob = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(blob[:8], "little")
    if not 0 < length <= min(HEADER_BYTES_MAX, len(blob) - 8):
        raise SourceRefused(f"{file.name}: found a table of {length} bytes in a file of {len(blob)}")
    table = json.loads(blob[8 : 8 + length])
    table.pop("__metadata__", None)
    return {name: checked(name, entry, blob, 8 + length) for name, entry in table.items()}


def checked(name: str, entry: Mapping[str, object], blob: mmap.mmap, at: int) -> Stored:
    """One entry of a table whose body begins at `at`, held to its extent."""
    kind, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(kind, str) or kind not in WIDTHS:
        raise SourceRefused(f"{name} dtype: found {kind}, expected " + ", ".join(WIDTHS))
    if not is_sizes(shape) or not is_sizes(offsets) or len(offsets) != 2:
        raise SourceRefused(f"{name}: found shape {shape}, data_offsets {offsets}, expected sizes, and two offsets")
    start, end = offsets
    if end - start != WIDTHS[kind] * math.prod(shape) or at + end > len(blob):
        raise SourceRefused(f"{name}: found bytes {start} to {end}, expected what {kind} {shape} takes, in the file")
    return Stored(blob, kind, tuple(shape), at + start, at + end)


def is_sizes(value: object) -> TypeGuard[list[int]]:
    """Whether a value is a list of integers that are not negative."""
    return isinstance(value, list) and all(type(entry) is int and entry >= 0 for entry in value)
