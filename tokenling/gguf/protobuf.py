"""The part of onnx.proto that a graph needs, written to its wire format: names, types, shapes, nodes, constants.

Ours, so that neither the `onnx` package nor protobuf is a dependency of running a model (25 MB, a third of a second of
start-up). Field numbers are those of onnx.proto, IR version 10; `tests/gguf` reads what this writes with `onnx`.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Attribute: TypeAlias = int | float | str | Sequence[int]
Axis: TypeAlias = int | str
Array: TypeAlias = "NDArray[np.float32 | np.float16 | np.uint8 | np.uint16 | np.int32 | np.int64]"

IR_VERSION = 10
OPSETS: Mapping[str, int] = {"": 21, "com.microsoft": 1}
ELEMENTS: Mapping[str, int] = {
    "float32": 1, "uint8": 2, "uint16": 4, "int32": 6, "int64": 7, "float16": 10, "bfloat16": 16,
}  # fmt: skip
"""TensorProto.DataType."""
_EXTERNAL = 1
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7


@dataclass(frozen=True, slots=True)
class Node:
    """One operator. An empty input name is an optional input left out."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An input or output of the graph."""

    name: str
    element: str
    shape: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the graph; with `place` its bytes lie in the file of that name, from an offset on."""

    name: str
    element: str
    shape: tuple[int, ...]
    raw: bytes = b""
    place: tuple[str, int, int] | None = None
    """File, offset and length in bytes."""


def model_bytes(
    nodes: Iterable[Node], inputs: Iterable[ValueInfo], outputs: Iterable[ValueInfo], constants: Iterable[Constant]
) -> bytes:
    """A ModelProto; the same arguments give the same bytes."""
    graph = b"".join([
        *(_message(1, _node(node)) for node in nodes),
        _text(2, "gguf"),
        *(_message(5, _tensor(constant)) for constant in constants),
        *(_message(11, _value_info(info)) for info in inputs),
        *(_message(12, _value_info(info)) for info in outputs),
    ])  # fmt: skip
    opsets = b"".join(_message(8, _text(1, domain) + _integer(2, opset)) for domain, opset in OPSETS.items())
    return _integer(1, IR_VERSION) + _text(2, "tokenling") + _message(7, graph) + opsets


def _node(node: Node) -> bytes:
    fields = [_text(1, name) for name in node.inputs] + [_text(2, name) for name in node.outputs]
    fields += [_text(3, node.outputs[0]), _text(4, node.op_type)]
    fields += [_message(5, _attribute(name, value)) for name, value in node.attributes.items()]
    return b"".join(fields) + (_text(7, node.domain) if node.domain else b"")


def _attribute(name: str, value: Attribute) -> bytes:
    start = _text(1, name)
    if isinstance(value, float):
        return start + _key(2, 5) + struct.pack("<f", value) + _integer(20, _FLOAT)
    if isinstance(value, int):
        return start + _integer(3, value) + _integer(20, _INT)
    if isinstance(value, str):
        return start + _text(4, value) + _integer(20, _STRING)
    return start + b"".join(_integer(8, item) for item in value) + _integer(20, _INTS)


def _tensor(constant: Constant) -> bytes:
    start = b"".join(_integer(1, extent) for extent in constant.shape)
    start += _integer(2, ELEMENTS[constant.element]) + _text(8, constant.name)
    if constant.place is None:
        return start + _message(9, constant.raw)
    file, offset, length = constant.place
    entries = {"location": file, "offset": str(offset), "length": str(length)}
    places = (_message(13, _text(1, key) + _text(2, value)) for key, value in entries.items())
    return start + b"".join(places) + _integer(14, _EXTERNAL)


def _value_info(info: ValueInfo) -> bytes:
    axes = (_integer(1, axis) if isinstance(axis, int) else _text(2, axis) for axis in info.shape)
    shape = b"".join(_message(1, axis) for axis in axes)
    tensor = _integer(1, ELEMENTS[info.element]) + _message(2, shape)
    return _text(1, info.name) + _message(2, _message(1, tensor))


def _message(field: int, body: bytes) -> bytes:
    return _key(field, 2) + _varint(len(body)) + body


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _integer(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value & (2**64 - 1))  # a negative one takes its 64-bit complement


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
