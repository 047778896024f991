"""Which files an ONNX graph reads beside itself, learnt from its bytes before ONNX Runtime may open any.

A walk over protobuf's wire format, so that a hostile graph is judged without the `onnx` package and without loading
it. Field numbers are those of onnx.proto (IR version 10).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenling.runtime.errors import BrainRefused
from tokenling.runtime.files import size_inside
from tokenling.runtime.wire import fields

DEPTH_MAX = 32
"""Nested subgraphs; a guess, eight times the deepest that exporters write."""
TENSORS_MAX = 2**16
"""A guess: thirty times what the deepest model of the contract has."""

_CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Which fields of a message lead to a tensor, and as what."""
_NAME, _EXTERNAL, _LOCATION = 8, 13, 14
_KEYS = frozenset({"location", "offset", "length", "checksum"})


@dataclass(frozen=True, slots=True)
class ExternalTensor:
    """One tensor whose bytes lie in another file: `length_bytes` None means up to what its shape needs."""

    name: str
    location: str
    offset_bytes: int
    length_bytes: int | None


def external_tensors(graph: bytes, subject: str) -> tuple[ExternalTensor, ...]:
    """Every external tensor of the graph, subgraphs and functions included. Raises `BrainRefused`."""
    found: list[ExternalTensor] = []
    waiting: list[tuple[str, memoryview, int]] = [("model", memoryview(graph), 0)]
    seen = 0
    while waiting:
        kind, message, depth = waiting.pop()
        if kind == "tensor":
            seen += 1
            found.extend(_external(message, subject))
            continue
        for number, value in fields(message, subject):
            child = _CHILDREN[kind].get(number)
            if child is not None and isinstance(value, memoryview):
                waiting.append((child, value, depth + 1))
        if depth > DEPTH_MAX * 3 or seen > TENSORS_MAX:
            raise BrainRefused("graph_unbounded", subject, f"depth {depth}, {seen} tensors", "a graph within bounds")
    return tuple(found)


def check_external(root: Path, folder: str, tensors: tuple[ExternalTensor, ...]) -> tuple[str, ...]:
    """The files, relative to `root`, that the tensors read: each inside, regular, and long enough."""
    files: dict[str, int] = {}
    for tensor in tensors:
        relative = f"{folder}/{tensor.location}" if folder else tensor.location
        if tensor.location.startswith("/") or ":" in tensor.location:
            raise BrainRefused("path_malformed", f"tensor {tensor.name}", tensor.location, "a relative path")
        size = files[relative] if relative in files else size_inside(root, relative)
        files[relative] = size
        end = tensor.offset_bytes + (tensor.length_bytes or 0)
        if end > size or tensor.offset_bytes >= max(size, 1):
            found = f"bytes {tensor.offset_bytes} to {end} of a file of {size}"
            raise BrainRefused("external_extent", f"tensor {tensor.name}", found, "an extent inside the file")
    return tuple(files)


def _external(message: memoryview, subject: str) -> Iterator[ExternalTensor]:
    """The tensor's external data, if it has any."""
    name, is_external = "", False
    entries: dict[str, str] = {}
    for number, value in fields(message, subject):
        if number == _NAME and isinstance(value, memoryview):
            name = bytes(value).decode("utf-8", "replace")
        elif number == _LOCATION:
            is_external = value == 1
        elif number == _EXTERNAL and isinstance(value, memoryview):
            _add_entry(entries, value, subject, name)
    if is_external or entries:
        yield _tensor(name, entries)


def _add_entry(entries: dict[str, str], message: memoryview, subject: str, name: str) -> None:
    pair = {1: "", 2: ""}
    for number, value in fields(message, subject):
        if number in pair and isinstance(value, memoryview):
            pair[number] = bytes(value).decode("utf-8", "replace")
    if pair[1] not in _KEYS or pair[1] in entries:
        raise BrainRefused("external_key", f"tensor {name}", pair[1], "location, offset, length, checksum, each once")
    entries[pair[1]] = pair[2]


def _tensor(name: str, entries: dict[str, str]) -> ExternalTensor:
    if not entries.get("location"):
        raise BrainRefused("external_location", f"tensor {name}", "no location", "the path of a file")
    numbers = {key: _size(name, key, entries[key]) for key in ("offset", "length") if key in entries}
    return ExternalTensor(name, entries["location"], numbers.get("offset", 0), numbers.get("length"))


def _size(name: str, key: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise BrainRefused("external_extent", f"tensor {name} {key}", text, "a number of bytes")
    return int(text)
