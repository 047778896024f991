"""A graph said more cheaply before ONNX Runtime sees it: the same numbers, fewer nodes.

What a brain's maker wrote is what is hashed, checked and proved; what runs may be a rewriting of it. Two are made, each
only where the graph's own nodes show that it changes nothing:

- *Attention in one node.* Cache concatenation, grouped scores, causal bias, softmax and mixing, as spelled out in
  standard operators, become the standard operator `Attention` (opset 23). ONNX Runtime's kernel makes the same products
  in the same order: present caches and logits are equal to the bit (tests/runtime/test_rewrite.py). Spelled out, the
  keys are copied twice a step, once to turn them.
- *The last row alone.* Only the last token's logits are ever read, so only its row enters the head's product. A packed
  product computes each row by itself: equal to the bit again. A prompt of 400 would write 400 rows of the vocabulary.

A graph that does not show the pattern, from another exporter say, runs as it is. Taken for granted, because a lane does
it: the attention mask is all ones and as long as the caches and the step together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokenling.runtime.errors import BrainRefused
from tokenling.runtime.onnx_graph import FLOAT, Graph, Node, make_integers, make_node, read_graph, write_model

OPSETS = range(21, 23)
"""Versions of the default operators that are lifted to `OPSET`. Older ones spell other operators differently."""
OPSET, IR_VERSION = 23, 11
"""The first with `Attention`, and the file format that came with it."""
# fmt: off
STEADY = frozenset((
    "Add", "And", "Cast", "Concat", "Constant", "ConstantOfShape", "Cos", "DequantizeLinear", "Div",
    "DynamicQuantizeLinear", "Equal", "Erf", "Expand", "Gather", "Gelu", "Greater", "GreaterOrEqual", "Identity",
    "LayerNormalization", "Less", "LessOrEqual", "MatMul", "MatMulInteger", "Mul", "Neg", "Not", "Or", "Pow",
    "QuantizeLinear", "Range", "ReduceMean", "ReduceMax", "Relu", "Reshape", "Shape", "Sigmoid", "Sin", "Slice",
    "Softmax", "Split", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose", "Trilu", "Unsqueeze", "Where",
))
# fmt: on
"""Operators that mean the same in opsets 21 to 23: these only gained element types. A graph with another stays."""
DEPTH_MAX = 3
"""Sums of extents within sums: `past + seq`, `past` itself a difference, and one to spare."""
FAR = -1e9
"""A bias at most this hides a position whatever its score: a softmax weight below exp(-104) is 0 in float32."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The model that ONNX Runtime gets, and which of its declared inputs it no longer reads."""

    model: bytes
    unread: frozenset[str]


def rewrite(model: bytes, subject: str, *, attention: bool = True, last_row: bool = True) -> Rewritten:
    """The model with what can be said more cheaply; the very same one where nothing can, or where it is malformed.

    Without `attention` only the last row's head is rewritten, in the operators' versions that the model is written in:
    for providers whose kernels are for those. Without `last_row` every row has its logits.
    """
    try:
        graph = read_graph(model, subject)
    except BrainRefused:
        return Rewritten(model, frozenset())  # ONNX Runtime says what is wrong with it
    is_plain = not graph.has_functions and not any(node.has_graph for node in graph.nodes) and _is_assigned_once(graph)
    is_steady = graph.opsets.get("") in OPSETS and all(node.op in STEADY for node in graph.nodes if not node.domain)
    if not is_plain or not is_steady:
        return Rewritten(model, frozenset())
    return _Rewriting(graph).run(model, attention=attention, last_row=last_row)


def _is_assigned_once(graph: Graph) -> bool:
    """Whether each value has one maker: a graph without that is ONNX Runtime's to refuse."""
    made = [name for node in graph.nodes for name in node.outputs if name]
    return len({*made, *graph.constants}) == len(made) + len(graph.constants) and not graph.inputs.keys() & set(made)


@dataclass(frozen=True, slots=True)
class _Attended:
    """One attention found: what its node reads and gives."""

    query: str
    key: "_Cache"
    value: "_Cache"
    mixed: str
    scale: float


@dataclass(frozen=True, slots=True)
class _Cache:
    """A cache: its past, what this step adds, its present, and its heads."""

    past: str
    fresh: str
    present: str
    kv_heads: int


class _Rewriting:
    """One graph on its way: matching by what nodes compute, never by their names."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers = {name: node for node in graph.nodes for name in node.outputs if name}
        self.taken = {*self.makers, *graph.constants, *graph.inputs}
        self.constants: list[bytes] = []
        self.added: list[Node] = []

    def run(self, model: bytes, *, attention: bool, last_row: bool) -> Rewritten:
        """The rewritings, without the nodes that nothing reads any more, each node behind those that it reads."""
        found = [one for node in self.graph.nodes if attention and (one := self._attention(node)) is not None]
        last = self._last_row() if last_row else None
        if not found and last is None:
            return Rewritten(model, frozenset())
        for one in found:
            self._attend(one)
        replaced = {name for node in self.added for name in node.outputs}
        kept = [node for node in self.graph.nodes if not replaced.intersection(node.outputs)]
        # what nothing read before stays: ONNX Runtime judges it as its maker wrote it
        idle = {id(node) for node in self.graph.nodes} - set(map(id, _needed(self.graph.nodes, self.graph.outputs)))
        wanted = [name for node in self.graph.nodes if id(node) in idle for name in node.outputs]
        ordered = _ordered(_needed([*kept, *self.added], [*self.graph.outputs, *wanted]))
        if ordered is None:
            return Rewritten(model, frozenset())
        read = {name for node in ordered for name in node.inputs}
        unread = frozenset(name for name in self.graph.inputs if name not in read)
        opset, ir = (OPSET, IR_VERSION) if attention else (None, None)
        return Rewritten(write_model(model, ordered, self.constants, opset=opset, ir=ir), unread)

    def _made_by(self, name: str, op: str) -> Node | None:
        """The node of this operator that makes `name`."""
        node = self.makers.get(name)
        return node if node is not None and node.op == op and not node.domain else None

    def _operand(self, name: str, op: str, axes: tuple[int, ...]) -> str | None:
        """What the Unsqueeze or Reshape that makes `name` reads, if its constant is `axes`."""
        node = self._made_by(name, op)
        if node is None or len(node.inputs) != 2:
            return None
        constant = self.graph.constants.get(node.inputs[1])
        return node.inputs[0] if constant is not None and constant.integers == axes else None

    def _number(self, name: str) -> float | None:
        constant = self.graph.constants.get(name)
        return None if constant is None else constant.number

    def _attention(self, node: Node) -> _Attended | None:
        """The attention whose mixed values `node` brings back to (1, heads, seq, width)."""
        shape = self.graph.constants.get(node.inputs[1]) if node.op == "Reshape" and len(node.inputs) == 2 else None
        extents = shape.integers if shape is not None else None
        if extents is None or len(extents) != 4 or extents[0] != 1 or extents[2] != -1 or node.domain:
            return None
        mixing = self._made_by(node.inputs[0], "MatMul")
        scores = self._scores(mixing.inputs[0]) if mixing is not None else None
        if mixing is None or scores is None:
            return None
        product, scale = scores
        key = self._cache(self._turned(product.inputs[1]))
        value = self._cache(self._operand(mixing.inputs[1], "Unsqueeze", (2,)))
        if key is None or value is None or key.kv_heads != value.kv_heads:
            return None
        query = self._grouped(product.inputs[0], (1, key.kv_heads, extents[1] // key.kv_heads, -1, extents[3]))
        if query is None or self._part_beside(query, key.fresh) != extents[1]:
            return None
        if (
            key.kv_heads == 1 < extents[1]
        ):  # one head for all: spelled out, their rows are one product, summed otherwise
            return None
        return _Attended(query, key, value, node.outputs[0], scale)

    def _scores(self, name: str) -> tuple[Node, float] | None:
        """The product of queries and turned keys behind softmax, causal bias and scale."""
        softmax = self._made_by(name, "Softmax")
        if softmax is None or softmax.attributes.get("axis", -1) not in (-1, 4):
            return None
        biased = self._made_by(softmax.inputs[0], "Add")
        for scaled_name, bias in _both_ways(biased):
            scaled = self._made_by(scaled_name, "Mul")
            if scaled is None or not self._is_causal(bias):
                continue
            for product, factor in _both_ways(scaled):
                node, scale = self._made_by(product, "MatMul"), self._number(factor)
                # a factor of 1 lets ONNX Runtime choose another kernel, whose sums round differently
                if node is not None and scale is not None and scale not in (0.0, 1.0):
                    return node, scale
        return None

    def _turned(self, name: str) -> str | None:
        """The keys (1, K, total, E) that `name` holds as (1, K, 1, E, total), turned before or after."""
        last = self._made_by(name, "Transpose")
        if last is not None and last.attributes.get("perm") == (0, 1, 2, 4, 3):
            return self._operand(last.inputs[0], "Unsqueeze", (2,))
        first = self._made_by(self._operand(name, "Unsqueeze", (2,)) or "", "Transpose")
        return first.inputs[0] if first is not None and first.attributes.get("perm") == (0, 1, 3, 2) else None

    def _cache(self, name: str | None) -> _Cache | None:
        """The float32 cache whose present is `name`, if it grows along its third axis."""
        node = self._made_by(name or "", "Concat")
        if node is None or node.attributes.get("axis") not in (2, -2) or len(node.inputs) != 2:
            return None
        past, present = node.inputs[0], node.outputs[0]
        declared = self.graph.inputs.get(past)
        if declared is None or declared.element != FLOAT or len(declared.extents) != 4:
            return None
        kv_heads = declared.extents[1]
        return _Cache(past, node.inputs[1], present, kv_heads) if kv_heads and present in self.graph.outputs else None

    def _grouped(self, name: str, groups: tuple[int, ...]) -> str | None:
        """The queries that `name` holds as `groups`: (1, K, heads / K, seq, width)."""
        node = self._made_by(name, "Reshape")
        shape = self.graph.constants.get(node.inputs[1]) if node is not None and len(node.inputs) == 2 else None
        return node.inputs[0] if node is not None and shape is not None and shape.integers == groups else None

    def _part_beside(self, name: str, key: str) -> int | None:
        """The heads of `name` when one Split makes it and the new keys: (1, heads, seq, width), as these are."""
        node = self._made_by(name, "Split")
        if node is None or key not in node.outputs or node.attributes.get("axis") != 1 or len(node.inputs) != 2:
            return None
        sizes = self.graph.constants.get(node.inputs[1])
        counts = sizes.integers if sizes is not None else None
        return counts[node.outputs.index(name)] if counts is not None and len(counts) == len(node.outputs) else None

    def _is_causal(self, name: str) -> bool:
        """Whether `name` is (1, 1, seq, total): 0 up to a token's own position, far below it ahead."""
        where = self._made_by(self._operand(name, "Unsqueeze", (0, 1)) or "", "Where")
        if where is None:
            return False
        far, near = self._number(where.inputs[1]), self._number(where.inputs[2])
        return far is not None and far <= FAR and near == 0.0 and self._hides_ahead(where.inputs[0])

    def _hides_ahead(self, name: str) -> bool:
        """Whether `name` is true ahead of each token, and else only where the mask, which is all ones, is 0."""
        either = _both_ways(self._made_by(name, "Or"))
        ahead = next((one for one, other in either if self._is_masked(other)), name)
        greater = self._made_by(ahead, "Greater")
        if greater is None:
            return False
        rows = self._operand(greater.inputs[1], "Unsqueeze", (1,))
        return self._range(greater.inputs[0]) == (0, "total", 1) and self._range(rows or "") == ("past", "total", 1)

    def _is_masked(self, name: str) -> bool:
        """Whether `name` is `attention_mask == 0`."""
        equal = self._made_by(name, "Equal")
        if equal is None:
            return False
        mask, zero = equal.inputs
        cast = self._made_by(mask, "Cast")
        mask = cast.inputs[0] if cast is not None else mask
        return mask == "attention_mask" and self._extent(zero) == 0

    def _range(self, name: str) -> tuple[int | str | None, ...]:
        """What a Range counts from, to, and by."""
        node = self._made_by(name, "Range")
        return tuple(self._extent(part) for part in node.inputs) if node is not None else ()

    def _extent(self, name: str, depth: int = DEPTH_MAX) -> int | str | None:
        """A number, or the name of an extent: `seq` (the step), `past` (the caches), `total` (both)."""
        constant = self.graph.constants.get(name)
        if constant is not None:
            return constant.integers[0] if constant.integers and len(constant.integers) == 1 else None
        node = self.makers.get(name)
        if node is None or node.domain or len(node.inputs) != 2:
            return None
        if node.op == "Gather":
            return self._axis_extent(*node.inputs)
        if node.op not in ("Add", "Sub") or depth == 0:
            return None
        left, right = (self._extent(part, depth - 1) for part in node.inputs)
        known = {("Sub", "total", "seq"): "past", ("Add", "past", "seq"): "total", ("Add", "seq", "past"): "total"}
        return known.get((node.op, str(left), str(right)))

    def _axis_extent(self, shape: str, axis: str) -> str | None:
        """The extent of one axis of an input."""
        node = self._made_by(shape, "Shape")
        if node is None or node.attributes:
            return None
        constant = self.graph.constants.get(axis)
        of, at = node.inputs[0], constant.integers[0] if constant is not None and constant.integers else None
        if of in ("input_ids", "attention_mask") and at == 1:
            return "seq" if of == "input_ids" else "total"
        return "past" if of.startswith("past_key_values.") and of in self.graph.inputs and at == 2 else None

    def _attend(self, one: _Attended) -> None:
        """One node in the place of many."""
        inputs = (one.query, one.key.fresh, one.value.fresh, "", one.key.past, one.value.past)
        outputs = (one.mixed, one.key.present, one.value.present)
        self.added.append(make_node("Attention", inputs, outputs, {"is_causal": 1}, {"scale": one.scale}))

    def _last_row(self) -> Node | None:
        """The head's product over the last row alone, when its matrix is a constant of the file."""
        head = self._made_by("logits", "MatMul")
        if head is None or not self._is_matrix(head.inputs[1]):
            return None
        rows, last, at = head.inputs[0], self._fresh("logits.row"), self._fresh("logits.at")
        self.constants.append(make_integers(at, (-1,)))
        self.added.append(make_node("Gather", (rows, at), (last,), {"axis": 1}, {}))
        node = make_node("MatMul", (last, head.inputs[1]), ("logits",), {}, {})
        self.added.append(node)
        return node

    def _is_matrix(self, name: str) -> bool:
        """Whether `name` is a constant of rank two, quantised or not."""
        unfolded = self._made_by(name, "DequantizeLinear")
        constant = self.graph.constants.get(unfolded.inputs[0] if unfolded is not None else name)
        return constant is not None and len(constant.extents) == 2

    def _fresh(self, name: str) -> str:
        """A name that nothing has."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def _both_ways(node: Node | None) -> Iterator[tuple[str, str]]:
    """The two inputs of a commutative node in both orders."""
    if node is not None and len(node.inputs) == 2:
        yield node.inputs[0], node.inputs[1]
        yield node.inputs[1], node.inputs[0]


def _needed(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """The nodes that the outputs hang on."""
    makers = {name: node for node in nodes for name in node.outputs}
    wanted, seen = [*outputs], set[str]()
    while wanted:
        name = wanted.pop()
        node = makers.get(name)
        if node is not None and name not in seen:
            seen.update(node.outputs)
            wanted += node.inputs
    return [node for node in nodes if seen.intersection(node.outputs)]


def _ordered(nodes: list[Node]) -> list[Node] | None:
    """The nodes so that each comes behind those that it reads; None when they run in a circle."""
    makers: Mapping[str, int] = {name: at for at, node in enumerate(nodes) for name in node.outputs if name}
    waits = [len({makers[name] for name in node.inputs if name in makers}) for node in nodes]
    readers: list[list[int]] = [[] for _ in nodes]
    for at, node in enumerate(nodes):
        for maker in {makers[name] for name in node.inputs if name in makers}:
            readers[maker].append(at)
    ready = [at for at, count in enumerate(waits) if count == 0]
    order: list[Node] = []
    for at in ready:  # grows while it is walked
        order.append(nodes[at])
        for reader in readers[at]:
            waits[reader] -= 1
            if waits[reader] == 0:
                ready.append(reader)
    return order if len(order) == len(nodes) else None
