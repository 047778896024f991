"""A graph as it is built: nodes in order, constants by name, and which of them lie outside of the graph's own bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tokenling.gguf.protobuf import Array, Attribute, Constant, Node, ValueInfo, model_bytes

MICROSOFT = "com.microsoft"
INLINE_BYTES_MAX = 1024
"""Constants up to here lie in the graph itself: ONNX Runtime reads shapes and axes before it takes external data."""
SMALL_BYTES_MAX = 2**16
"""Constants up to here stand at the file's beginning: as much as a page fault maps around a byte that is asked for."""
WEIGHTS_FILE = "weights.bin"
WEIGHTS_ALIGNMENT = 64
"""A cache line: what the kernels' widest loads like."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a large constant lies in `WEIGHTS_FILE`, and what it is."""

    element: str
    shape: tuple[int, ...]
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """A graph in two parts: a small ModelProto, and the large constants that it names as external data."""

    model: bytes
    weights: Mapping[str, Array]
    places: Mapping[str, Place]
    """In the order of their offsets; one array under two names has one place."""
    notes: tuple[str, ...]

    @property
    def weight_bytes(self) -> int:
        """Of all large constants; one that two operators share counts once."""
        return sum({place.offset_bytes: place.length_bytes for place in self.places.values()}.values())


class Graph:
    """Nodes and constants under construction. A name is given once; the same name asked for again is the same thing."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._constants: dict[str, Array] = {}
        self._elements: dict[str, str] = {}
        self._count = 0
        self.inputs: list[ValueInfo] = []
        self.outputs: list[ValueInfo] = []
        self.notes: list[str] = []

    def node(self, op_type: str, *inputs: str, output: str = "", domain: str = "", **attributes: Attribute) -> str:
        """An operator with one output, and that output's name."""
        return self.nodes(op_type, *inputs, outputs=(output or self._new(op_type),), domain=domain, **attributes)[0]

    def nodes(
        self, op_type: str, *inputs: str, outputs: tuple[str, ...] | int, domain: str = "", **attributes: Attribute
    ) -> tuple[str, ...]:
        """An operator with several outputs, named or counted."""
        names = tuple(self._new(op_type) for _ in range(outputs)) if isinstance(outputs, int) else outputs
        self._nodes.append(Node(op_type, inputs, names, domain, attributes))
        return names

    def constant(self, name: str, values: Array, element: str = "") -> str:
        """A constant, and its name. `element` says what the bytes are when NumPy has no such type."""
        assert name not in self._constants, name
        self._constants[name] = np.ascontiguousarray(values)
        self._elements[name] = element or values.dtype.name
        return name

    def has(self, name: str) -> bool:
        """Whether there is a constant of this name."""
        return name in self._constants

    def integers(self, *values: int) -> str:
        """An int64 vector, made once."""
        name = "i_" + "_".join(map(str, values))
        return name if self.has(name) else self.constant(name, np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> str:
        """A float32 scalar, made once."""
        name = f"f_{value!r}"
        return name if self.has(name) else self.constant(name, np.array(value, dtype=np.float32))

    def note(self, line: str) -> None:
        """Something the user should know of this graph, once."""
        if line not in self.notes:
            self.notes.append(line)

    def finish(self) -> BuiltGraph:
        """The graph in its two parts."""
        weights = {name: values for name, values in self._constants.items() if values.nbytes > INLINE_BYTES_MAX}
        places = self._places(weights)
        constants = []
        for name, values in self._constants.items():
            place = places.get(name)
            external = None if place is None else (WEIGHTS_FILE, place.offset_bytes, place.length_bytes)
            raw = values.tobytes() if place is None else b""
            constants.append(Constant(name, self._elements[name], values.shape, raw, external))
        model = model_bytes(self._nodes, self.inputs, self.outputs, constants)
        return BuiltGraph(model, weights, places, tuple(self.notes))

    def _places(self, weights: Mapping[str, Array]) -> dict[str, Place]:
        offsets: dict[int, int] = {}  # by place in memory: views of one array are one weight
        places: dict[str, Place] = {}
        end = 0
        # norms' gains stay mapped when matrices are packed: side by side they share the pages that come with each
        for name, values in sorted(weights.items(), key=lambda item: item[1].nbytes > SMALL_BYTES_MAX):
            if values.ctypes.data not in offsets:
                offsets[values.ctypes.data] = end
                end += -(-values.nbytes // WEIGHTS_ALIGNMENT) * WEIGHTS_ALIGNMENT
            at = offsets[values.ctypes.data]
            places[name] = Place(self._elements[name], values.shape, at, values.nbytes)
        return places

    def _new(self, op_type: str) -> str:
        self._count += 1
        return f"{op_type}_{self._count}"
