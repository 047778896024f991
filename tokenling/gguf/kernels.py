"""Whether each operator that built graphs lean on works here: each is run once, on a few numbers."""

from collections.abc import Callable, Mapping

import numpy as np

from tokenling.gguf.graph import MICROSOFT, Graph
from tokenling.gguf.linear import ACCURACY_LEVEL
from tokenling.gguf.protobuf import ValueInfo
from tokenling.runtime import BrainRefused
from tokenling.runtime.ort import open_session

WIDTH = 32
"""Of the numbers: a block of every kernel, and small enough for constants to lie in the graph itself."""


def try_kernels() -> Mapping[str, bool]:
    """Each operator by a name for people, and whether it gave a finite row of the right length."""
    return {name: _works(add) for name, add in _KERNELS.items()}


def _works(add: Callable[[Graph], str]) -> bool:
    """Whether a graph of one operator opens and runs."""
    graph = Graph()
    graph.inputs.append(ValueInfo("x", "float32", (1, WIDTH)))
    flat = graph.node("Reshape", add(graph), graph.integers(1, WIDTH), output="y")
    graph.outputs.append(ValueInfo(flat, "float32", (1, WIDTH)))
    try:
        session = open_session(graph.finish().model, "fast", 1, "kernel")
        found = session.run(None, {"x": np.linspace(-1, 1, WIDTH, dtype=np.float32)[None]})[0]
    except BrainRefused:
        return False
    except Exception:  # ORT's exceptions share no base but Exception
        return False
    return bool(np.isfinite(found).all())


def _matrix(bits: int) -> Callable[[Graph], str]:
    """MatMulNBits of so many bits, blocks of 32."""

    def add(graph: Graph) -> str:
        codes = graph.constant("codes", np.full((WIDTH, WIDTH // 32, 4 * bits), 17, dtype=np.uint8))
        scales = graph.constant("scales", np.full((WIDTH, WIDTH // 32), 0.5, dtype=np.float32))
        return graph.node(
            "MatMulNBits", "x", codes, scales, domain=MICROSOFT,
            bits=bits, block_size=32, K=WIDTH, N=WIDTH, accuracy_level=ACCURACY_LEVEL,
        )  # fmt: skip

    return add


def _attention(graph: Graph) -> str:
    """GroupQueryAttention over an empty cache, two heads of queries to one of keys and values."""
    sequence = graph.node("Reshape", "x", graph.integers(1, 1, WIDTH))
    graph.nodes("Split", sequence, graph.integers(WIDTH // 2, WIDTH // 2), outputs=("k", "v"), axis=-1)
    empty = graph.constant("empty", np.zeros((1, 1, 0, WIDTH // 2), dtype=np.float32))
    places = [graph.constant("last", np.zeros(1, np.int32)), graph.constant("total", np.array(1, np.int32))]
    tables = [graph.constant(name, np.ones((1, WIDTH // 4), np.float32)) for name in ("cos", "sin")]
    return graph.nodes(
        "GroupQueryAttention", sequence, "k", "v", empty, empty, *places, *tables, outputs=("a", "pk", "pv"),
        domain=MICROSOFT, num_heads=2, kv_num_heads=1, do_rotary=1,
    )[0]  # fmt: skip


def _norm(graph: Graph) -> str:
    gain = graph.constant("gain", np.ones(WIDTH, dtype=np.float32))
    return graph.node("SkipSimplifiedLayerNormalization", "x", "x", gain, domain=MICROSOFT, epsilon=1e-5)


def _table(graph: Graph) -> str:
    """GatherBlockQuantized, the table of embeddings."""
    codes = graph.constant("codes", np.full((4, WIDTH // 2), 17, dtype=np.uint8))
    scales = graph.constant("scales", np.full((4, WIDTH // 32), 0.5, dtype=np.float32))
    return graph.node(
        "GatherBlockQuantized", codes, graph.integers(1), scales, domain=MICROSOFT,
        bits=4, block_size=32, gather_axis=0, quantize_axis=1,
    )  # fmt: skip


_KERNELS: Mapping[str, Callable[[Graph], str]] = {
    "4-bit products": _matrix(4),
    "8-bit products": _matrix(8),
    "grouped attention": _attention,
    "fused norm": _norm,
    "quantised table": _table,
}
