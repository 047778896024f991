"""An ONNX model's bytes as nodes, constants and declared inputs, and back again; what is not understood is handed on.

Field numbers are those of onnx.proto (IR version 10).
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tokenling.runtime.wire import bytes_field, fields, integer_field, raw_fields, signed, varint

Attribute: TypeAlias = int | tuple[int, ...] | None
"""An attribute's integers; None for what is none."""
Integers: TypeAlias = tuple[int, ...]

FLOAT, INT64 = 1, 7
"""Element types."""
_MODEL_IR, _MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTION = 1, 7, 8, 25
_GRAPH_NODE, _GRAPH_CONSTANT, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_INFO = 1, 5, 11, 12, 13
_CONSTANT_VALUES_MAX = 64
"""Larger constants are weights: their values are never looked at."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operator. `raw` is its whole message; `has_graph` when it holds a graph of its own."""

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    has_graph: bool
    raw: bytes | memoryview

    def renamed(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> "Node":
        """The same operator and attributes, without a name, between other values."""
        kept = [bytes(raw) for number, _, raw in raw_fields(memoryview(self.raw), self.op) if number not in (1, 2, 3)]
        values = ((1, inputs), (2, outputs))
        named = [bytes_field(number, _encoded(name)) for number, names in values for name in names]
        return replace(self, inputs=inputs, outputs=outputs, raw=b"".join([*named, *kept]))


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor of the file: its element type, its extents, and its values when they are few numbers."""

    element: int
    extents: Integers
    values: tuple[float, ...] | None

    @property
    def integers(self) -> Integers | None:
        """The values of a small vector or scalar of int64."""
        return None if self.element != INT64 or self.values is None else tuple(int(value) for value in self.values)

    @property
    def number(self) -> float | None:
        """The value of a float scalar."""
        return self.values[0] if self.element == FLOAT and self.values is not None and not self.extents else None


@dataclass(frozen=True, slots=True)
class Declared:
    """What an input is declared to be: its element type and its extents, 0 for a symbolic one."""

    element: int
    extents: Integers


@dataclass(frozen=True, slots=True)
class Graph:
    """A model taken apart."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Constant]
    inputs: Mapping[str, Declared]
    outputs: tuple[str, ...]
    opsets: Mapping[str, int]
    has_functions: bool


def read_graph(model: bytes, subject: str) -> Graph:
    """The model's graph. Raises `BrainRefused` for bytes that are no protobuf."""
    nodes: list[Node] = []
    constants: dict[str, Constant] = {}
    inputs: dict[str, Declared] = {}
    outputs: list[str] = []
    opsets: dict[str, int] = {}
    has_functions = False
    for number, value in _messages(memoryview(model), subject):
        has_functions |= number == _MODEL_FUNCTION
        if number == _MODEL_OPSET:
            texts, integers = _parts(value, subject)
            opsets[texts.get(1, "")] = integers.get(2, 0)
        for kind, item in _messages(value, subject) if number == _MODEL_GRAPH else ():
            if kind == _GRAPH_NODE:
                nodes.append(_read_node(item, subject))
            elif kind == _GRAPH_CONSTANT:
                name, constant = _read_constant(item, subject)
                constants[name] = constant
            elif kind in (_GRAPH_INPUT, _GRAPH_OUTPUT):
                name, declared = _read_info(item, subject)
                if kind == _GRAPH_INPUT:
                    inputs[name] = declared
                else:
                    outputs.append(name)
    return Graph(tuple(nodes), constants, inputs, tuple(outputs), opsets, has_functions)


def _messages(message: memoryview, subject: str) -> Iterator[tuple[int, memoryview]]:
    return ((number, value) for number, value in fields(message, subject) if isinstance(value, memoryview))


def _text(value: memoryview) -> str:
    return bytes(value).decode("utf-8", "surrogateescape")


def _parts(message: memoryview, subject: str) -> tuple[dict[int, str], dict[int, int]]:
    """The texts and the integers of a flat message."""
    texts: dict[int, str] = {}
    integers: dict[int, int] = {}
    for number, value in fields(message, subject):
        if isinstance(value, int):
            integers[number] = signed(value)
        else:
            texts[number] = _text(value)
    return texts, integers


def _read_node(message: memoryview, subject: str) -> Node:
    names: dict[int, list[str]] = {1: [], 2: [], 4: [], 7: []}
    attributes: dict[str, Attribute] = {}
    has_graph = False
    for number, value in _messages(message, subject):
        if number in names:
            names[number].append(_text(value))
        elif number == 5:
            name, attribute, holds_graph = _read_attribute(value, subject)
            attributes[name] = attribute
            has_graph |= holds_graph
    op, domain = ("".join(names[number][-1:]) for number in (4, 7))
    return Node(op, domain, tuple(names[1]), tuple(names[2]), attributes, has_graph, message)


def _read_attribute(message: memoryview, subject: str) -> tuple[str, Attribute, bool]:
    """Its name, its integers, and whether it holds a graph."""
    name, found, has_graph = "", None, False
    several: list[int] = []
    for number, value in fields(message, subject):
        if number == 1 and isinstance(value, memoryview):
            name = _text(value)
        elif number == 3 and isinstance(value, int):
            found = signed(value)
        elif number == 8:
            several += _integers(value, subject)
        has_graph |= number in (6, 11)
    return name, tuple(several) if several else found, has_graph


def _integers(value: memoryview | int, subject: str) -> list[int]:
    """A repeated integer, packed or one by one."""
    if isinstance(value, int):
        return [signed(value)]
    # packed varints are fields without keys: each gets one
    keyed = b"".join(b"\x08" + bytes(part) for part in _varints(value))
    return [signed(number) for _, number in fields(memoryview(keyed), subject) if isinstance(number, int)]


def _varints(message: memoryview) -> Iterator[memoryview]:
    start = 0
    for at, byte in enumerate(message):
        if byte < 0x80:
            yield message[start : at + 1]
            start = at + 1


def _read_constant(message: memoryview, subject: str) -> tuple[str, Constant]:
    name, element, raw = "", 0, None
    extents: list[int] = []
    plain: list[float] = []
    for number, value in fields(message, subject):
        if number == 1:
            extents += _integers(value, subject)
        elif number == 2 and isinstance(value, int):
            element = value
        elif number == 8 and isinstance(value, memoryview):
            name = _text(value)
        elif number == 9 and isinstance(value, memoryview):
            raw = value
        elif number == 7 and len(plain) <= _CONSTANT_VALUES_MAX:
            is_short = isinstance(value, int) or len(value) <= _CONSTANT_VALUES_MAX
            plain += _integers(value, subject) if is_short else []
        elif number == 4 and isinstance(value, memoryview) and element == FLOAT:
            plain += _values(element, value) or ()
    return name, Constant(element, tuple(extents), tuple(plain) if plain else _values(element, raw))


def _values(element: int, raw: memoryview | None) -> tuple[float, ...] | None:
    """Few numbers out of a tensor's bytes."""
    kind, width = {FLOAT: ("<f4", 4), INT64: ("<i8", 8)}.get(element, ("", 1))
    if raw is None or not kind or len(raw) > width * _CONSTANT_VALUES_MAX or len(raw) % width:
        return None
    values: tuple[float, ...] = tuple(np.frombuffer(raw, dtype=kind).tolist())
    return values


def _read_info(message: memoryview, subject: str) -> tuple[str, Declared]:
    """The name and the tensor type of an input or output."""
    name, found = "", Declared(0, ())
    for number, value in _messages(message, subject):
        if number == 1:
            name = _text(value)
        elif number == 2:
            for kind, tensor in _messages(value, subject):
                found = _read_tensor(tensor, subject) if kind == 1 else found
    return name, found


def _read_tensor(message: memoryview, subject: str) -> Declared:
    element, extents = 0, []
    for number, value in fields(message, subject):
        if number == 1 and isinstance(value, int):
            element = value
        elif number == 2 and isinstance(value, memoryview):
            extents = [_parts(axis, subject)[1].get(1, 0) for kind, axis in _messages(value, subject) if kind == 1]
    return Declared(element, tuple(extents))


def make_node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], integers: Mapping[str, int], floats: Mapping[str, float]
) -> Node:
    """A new node of the default domain."""
    parts = [bytes_field(1, _encoded(name)) for name in inputs] + [bytes_field(2, _encoded(name)) for name in outputs]
    parts.append(bytes_field(4, op.encode()))
    for name, value in integers.items():
        parts.append(bytes_field(5, bytes_field(1, name.encode()), integer_field(3, value), integer_field(20, 2)))
    for name, number in floats.items():
        single = varint(2 << 3 | 5) + struct.pack("<f", number)
        parts.append(bytes_field(5, bytes_field(1, name.encode()), single, integer_field(20, 1)))
    return Node(op, "", tuple(inputs), tuple(outputs), dict(integers), False, b"".join(parts))


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def make_integers(name: str, values: Integers) -> bytes:
    """The message of a constant vector of int64."""
    raw = np.array(values, dtype="<i8").tobytes()
    return (
        integer_field(1, len(values)) + integer_field(2, INT64) + bytes_field(8, _encoded(name)) + bytes_field(9, raw)
    )


def make_info(name: str, element: int, extents: Sequence[int | str]) -> bytes:
    """The message that declares an input or output: a number is fixed, a text names a symbolic extent."""
    axes = (
        integer_field(1, extent) if isinstance(extent, int) else bytes_field(2, _encoded(extent)) for extent in extents
    )
    shape = bytes_field(2, *(bytes_field(1, axis) for axis in axes))
    return bytes_field(1, _encoded(name)) + bytes_field(2, bytes_field(1, integer_field(1, element), shape))


def write_model(
    model: bytes,
    nodes: Iterable[Node],
    constants: Iterable[bytes],
    *,
    opset: int | None = None,
    ir: int | None = None,
    declared: tuple[Sequence[bytes], Sequence[bytes]] | None = None,
    more_outputs: Sequence[bytes] = (),
) -> bytes:
    """The model with other nodes, more constants, and, where given, another version of the default operators and of
    the format, other declared inputs and outputs, and more outputs. What is said of values in between is left out."""
    changed: list[bytes | memoryview] = []
    for number, value, raw in raw_fields(memoryview(model), ""):
        if number == _MODEL_GRAPH and isinstance(value, memoryview):
            changed.append(bytes_field(number, *_graph_parts(value, nodes, constants, declared, more_outputs)))
        elif number == _MODEL_OPSET and isinstance(value, memoryview) and opset is not None:
            is_default = not _parts(value, "")[0].get(1, "")
            changed.append(bytes_field(number, integer_field(2, opset)) if is_default else raw)
        elif number == _MODEL_IR and ir is not None:
            changed.append(integer_field(number, ir))
        else:
            changed.append(raw)
    return b"".join(changed)


def _graph_parts(
    graph: memoryview,
    nodes: Iterable[Node],
    constants: Iterable[bytes],
    declared: tuple[Sequence[bytes], Sequence[bytes]] | None,
    more_outputs: Sequence[bytes],
) -> Iterator[bytes | memoryview]:
    yield from (bytes_field(_GRAPH_NODE, node.raw) for node in nodes)
    yield from (bytes_field(_GRAPH_CONSTANT, constant) for constant in constants)
    replaced = [_GRAPH_NODE, _GRAPH_INFO]
    if declared is not None:
        replaced += [_GRAPH_INPUT, _GRAPH_OUTPUT]
        yield from (bytes_field(_GRAPH_INPUT, info) for info in declared[0])
        yield from (bytes_field(_GRAPH_OUTPUT, info) for info in declared[1])
    yield from (raw for number, _, raw in raw_fields(graph, "") if number not in replaced)
    yield from (bytes_field(_GRAPH_OUTPUT, info) for info in more_outputs)  # behind those that were there
