"""A graph as it is built: nodes in order, constants by name, and which of them lie outside of the graph's own bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tokenling.gguf.protobuf import Array, Attribute, Constant, Node, ValueInfo, model_bytes

MICROSOFT = "com.microsoft"
INLINE_BYTES_MAX = 1024
"""Constants up to here lie in the graph itself: ONNX Runtime reads shapes and axes before it takes external data."""
WEIGHTS_FILE = "weights.bin"
WEIGHTS_ALIGNMENT = 64
"""A cache line: what the kernels' widest loads like."""


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """A graph in two parts: a small ModelProto, and the large constants that it names as external data.

    `weights` are in the order of their offsets in `WEIGHTS_FILE`, should they be written to one.
    """

    model: bytes
    weights: Mapping[str, Array]
    notes: tuple[str, ...]

    @property
    def weight_bytes(self) -> int:
        """Of all large constants; one that two operators share counts once."""
        return sum({_place(values): values.nbytes for values in self.weights.values()}.values())


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
        constants: list[Constant] = []
        offsets: dict[int, int] = {}  # one array under two names lies in the file once
        end = 0
        for name, values in self._constants.items():
            element, shape = self._elements[name], values.shape
            if name not in weights:
                constants.append(Constant(name, element, shape, values.tobytes()))
                continue
            if _place(values) not in offsets:
                offsets[_place(values)] = end
                end += -(-values.nbytes // WEIGHTS_ALIGNMENT) * WEIGHTS_ALIGNMENT
            place = (WEIGHTS_FILE, offsets[_place(values)], values.nbytes)
            constants.append(Constant(name, element, shape, place=place))
        model = model_bytes(self._nodes, self.inputs, self.outputs, constants)
        return BuiltGraph(model, weights, tuple(self.notes))

    def _new(self, op_type: str) -> str:
        self._count += 1
        return f"{op_type}_{self._count}"


def _place(values: Array) -> int:
    """Where an array lies in memory: views of one array are one weight."""
    return values.ctypes.data
