"""A graph for several sequences at once: rows that share each weight's product, and nothing else.

Continuous batching pads as a rule: shorter caches are filled up and masked, and a softmax over a longer row rounds
differently. Here a step's tokens, one of each sequence, lie side by side on the *sequence* axis of the graph as it is,
each with a position of its own. Embedding, norms, projections and head take each token by itself, so a product over
eight rows reads its weights once; only attention looks across tokens, and it is split:

    q, k, v (1, heads, rows, width) -> rows times (1, heads, 1, width)
    row r: Attention over that row's own past (1, kv_heads, past_r, width)
    the rows' results side by side again

So each row's numbers are made by the same kernels from the same operands as alone. That a product's rows do not depend
on how many there are is ONNX Runtime's to keep and is no promise of its: `open_rows` proves it at start, on the machine
where it runs.
"""

from collections import Counter
from collections.abc import Sequence

from tokenling.runtime.errors import BrainRefused
from tokenling.runtime.graph import GraphLayout
from tokenling.runtime.onnx_graph import FLOAT, INT64, Graph, Node, make_info, make_integers, make_node, read_graph
from tokenling.runtime.onnx_graph import write_model as write
from tokenling.runtime.rewrite import Rewritten, rewrite

ROWS_MAX = 16
"""More rows share a product without gain (docs/capacity.md), and each has its own attention nodes and caches."""
ELEMENTS = {"int32": 6, "int64": INT64}
_SEQUENCE_AXIS = 2


def row_name(name: str, row: int) -> str:
    """A cache's name for one row."""
    return f"{name}.row{row}"


def with_rows(model: bytes, subject: str, layout: GraphLayout, rows: int) -> Rewritten:
    """The model for one token of each of `rows` sequences. Raises `BrainRefused` (`rows_unsupported`) where the graph
    does not show that only its attention looks across tokens."""
    assert 2 <= rows <= ROWS_MAX, "a single row is the graph itself"
    lifted = rewrite(model, subject, last_row=False)
    graph = read_graph(lifted.model, subject)
    attentions = [node for node in graph.nodes if node.op == "Attention" and not node.domain]
    _check_attentions(graph, attentions, subject, layout)
    read = {name for node in graph.nodes for name in node.inputs}
    if "attention_mask" in read:
        raise _unsupported(subject, "a graph that reads attention_mask")
    ones = _unused("rows.ones", read | {name for node in graph.nodes for name in node.outputs})
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _split(node, rows, ones) if node in attentions else [node]
    unread = frozenset(item.name for item in layout.inputs if item.name not in read)
    declared = _declared(layout, rows, unread)
    return Rewritten(write(lifted.model, nodes, [make_integers(ones, (1,) * rows)], declared=declared), unread)


def _check_attentions(graph: Graph, attentions: Sequence[Node], subject: str, layout: GraphLayout) -> None:
    """Each cache is read by one attention and by nothing else, and comes out of it."""
    pasts = {pair.past: pair.present for pair in layout.caches}
    readers = Counter(name for node in graph.nodes for name in node.inputs if name in pasts)
    through = {
        past: present for node in attentions for past, present in zip(node.inputs[4:], node.outputs[1:], strict=True)
    }
    if through != pasts or set(readers.values()) != {1}:
        raise _unsupported(subject, "attention that is not the standard one over a cache of its own")


def _unsupported(subject: str, found: str) -> BrainRefused:
    return BrainRefused("rows_unsupported", subject, found, "a graph whose attention alone looks across tokens")


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _split(node: Node, rows: int, ones: str) -> list[Node]:
    """An attention as one for each row, between splits and a concatenation."""
    query, key, value, _, past_key, past_value = node.inputs
    mixed, present_key, present_value = node.outputs
    parts = {name: [f"{mixed}.{which}{row}" for row in range(rows)] for which, name in
             (("query", query), ("key", key), ("value", value))}  # fmt: skip
    made = [make_node("Split", (name, ones), names, {"axis": _SEQUENCE_AXIS}, {}) for name, names in parts.items()]
    for row in range(rows):
        taken = (parts[query][row], parts[key][row], parts[value][row], "")
        inputs = (*taken, row_name(past_key, row), row_name(past_value, row))
        outputs = (f"{mixed}.mixed{row}", row_name(present_key, row), row_name(present_value, row))
        made.append(node.renamed(inputs, outputs))
    return [*made, make_node("Concat", [f"{mixed}.mixed{row}" for row in range(rows)], (mixed,),
                             {"axis": _SEQUENCE_AXIS}, {})]  # fmt: skip


def _declared(layout: GraphLayout, rows: int, unread: frozenset[str]) -> tuple[list[bytes], list[bytes]]:
    """What goes in and out. Each row's extents have names of their own: equal names would promise equal sizes."""
    inputs = [
        make_info(item.name, ELEMENTS[item.element], (1, rows) if item.rank == 2 else (rows,))
        for item in layout.inputs
        if item.name not in unread
    ]
    outputs = [make_info("logits", FLOAT, (1, rows, layout.vocabulary))]
    for row in range(rows):
        for pair in layout.caches:
            axes = (1, layout.kv_heads), (layout.head_dim,)
            inputs.append(make_info(row_name(pair.past, row), FLOAT, (*axes[0], f"past{row}", *axes[1])))
            outputs.append(make_info(row_name(pair.present, row), FLOAT, (*axes[0], f"total{row}", *axes[1])))
    return inputs, outputs
