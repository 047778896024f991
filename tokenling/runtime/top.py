"""The greatest logits of a step, found by the graph itself: what nearly every token is chosen from.

A lane's thread needs Python's interpreter between two steps, and what NumPy does with a row of thousands lets go of it
and may have to wait for it again, beside an event loop that is busy. A row that is sorted in the step's own run waits
less often (docs/capacity.md has by how much). The logits themselves stay the graph's first output, the same bits.

What is chosen from a `Top` is what is chosen from the whole row (`Writer`): equals stand by the lower id in both.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tokenling.runtime.errors import BrainRefused
from tokenling.runtime.onnx_graph import FLOAT, INT64, make_info, make_integers, make_node, read_graph, write_model
from tokenling.runtime.sampling import Integers, Logits

TOP_COUNT = 64
"""The engine asks for the 40 greatest legal ones; up to 24 of a row's greatest may be illegal then. A guess: inside a
tag few are legal, and those are looked up one by one."""
OPSET_MIN = 13
"""From here on the operators that are added mean what they do now."""


class Top(NamedTuple):
    """The `TOP_COUNT` greatest logits of a row that is finite everywhere, greatest first, equals by the lower id."""

    values: Logits
    ids: Sequence[int]


class TopNames(NamedTuple):
    """The outputs that a graph was given: the greatest logits, their ids, and the sum of the whole row, which is finite
    when all of it is."""

    values: str
    ids: str
    total: str


def with_top(model: bytes, subject: str, vocabulary: int) -> tuple[bytes, TopNames | None]:
    """The model with the outputs of a `Top`; the very same one, and None, where it cannot have them."""
    try:
        graph = read_graph(model, subject)
    except BrainRefused:
        return model, None  # ONNX Runtime says what is wrong with it
    if graph.opsets.get("", 0) < OPSET_MIN or vocabulary <= TOP_COUNT or "logits" not in graph.outputs:
        return model, None
    taken = {*graph.constants, *graph.inputs, *graph.outputs, *(name for node in graph.nodes for name in node.outputs)}
    row, last, count, values, ids, total = (_fresh(f"logits.top.{part}", taken)
                                            for part in ("row", "last", "count", "values", "ids", "total"))  # fmt: skip
    nodes = (
        make_node("Gather", ("logits", last), (row,), {"axis": 1}, {}),
        make_node("TopK", (row, count), (values, ids), {"axis": -1, "largest": 1, "sorted": 1}, {}),
        make_node("ReduceSum", (row,), (total,), {"keepdims": 0}, {}),
    )
    constants = (make_integers(last, (-1,)), make_integers(count, (TOP_COUNT,)))
    more = (
        make_info(values, FLOAT, (1, 1, TOP_COUNT)),
        make_info(ids, INT64, (1, 1, TOP_COUNT)),
        make_info(total, FLOAT, ()),
    )
    changed = write_model(model, (*graph.nodes, *nodes), constants, more_outputs=more)
    return changed, TopNames(values, ids, total)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def read_top(values: Logits, ids: Integers, total: Logits) -> Top | None:
    """What a step fetched; None when the row holds a number that is not finite, and must be looked at itself."""
    return Top(values.reshape(-1), ids.reshape(-1).tolist()) if math.isfinite(float(total)) else None
