"""A GGUF file to an ONNX graph under the runtime's contract (docs/runtime.md).

input_ids (1, sequence) int64, past_key_values.N.key|value (1, kv_heads, past, head_dim) float32
logits (1, 1, vocabulary), or (1, sequence, vocabulary) with `rows="all"`; present.N.key|value
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from tokenling.gguf.architectures import Architecture, check_architecture, read_architecture
from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.graph import MICROSOFT, BuiltGraph, Graph
from tokenling.gguf.header import GgufTensor
from tokenling.gguf.hyperparameters import Hyperparameters, Keys, read_hyperparameters
from tokenling.gguf.linear import Linears
from tokenling.gguf.progress import Progress, silent
from tokenling.gguf.protobuf import ELEMENTS, ValueInfo
from tokenling.gguf.quantization import FLOATS, Blocks
from tokenling.gguf.reader import GgufFile
from tokenling.gguf.rope import Rope, read_rope
from tokenling.gguf.transformer import Places, Stream, Transformer
from tokenling.gguf.weights import Weights
from tokenling.runtime import Numerics

Rows: TypeAlias = Literal["last", "all"]

POSITIONS_DEFAULT = 4096
"""Of a run that names none: llama.cpp's. The rotary tables and the largest cache grow with it."""
TABLE = "token_embd.weight"


@dataclass(frozen=True, slots=True)
class Choices:
    """How a file is built: `positions` of the longest sequence, and which rows of logits come out."""

    numerics: Numerics = "exact"
    rows: Rows = "last"
    positions: int = 0
    """0: the training's, at most `POSITIONS_DEFAULT`."""


def resolve(file: GgufFile, choices: Choices) -> tuple[Hyperparameters, Keys, Choices]:
    """The model's numbers and the choices with their defaults filled in, from the header alone.

    Raises `GgufRefused` naming the key that stands in the way.
    """
    check_architecture(file.architecture)
    h, keys = read_hyperparameters(file)
    if choices.positions > h.positions:
        expected = f"at most {h.positions}, as the model was trained on"
        raise GgufUnsupported("positions_range", "positions", f"{choices.positions}", expected)
    positions = choices.positions or min(h.positions, POSITIONS_DEFAULT)
    return h, keys, replace(choices, positions=positions)


def build_model(file: GgufFile, choices: Choices, progress: Progress = silent) -> BuiltGraph:
    """The file's model as a graph. Raises `GgufRefused` naming the key or the tensor that stands in the way."""
    h, keys, choices = resolve(file, choices)
    row = read_architecture(keys, h)
    weights = Weights(file, progress)
    rope = read_rope(keys, weights, h, choices.positions)
    graph = _Builder(weights, h, row, choices).build(rope)
    weights.check_all_used()
    return graph


class _Builder:
    """One build, from the table of embeddings to the logits."""

    def __init__(self, weights: Weights, h: Hyperparameters, row: Architecture, choices: Choices) -> None:
        self._graph = Graph()
        self._weights = weights
        self._h = h
        self._row = row
        self._choices = choices
        self._linears = Linears(self._graph, weights, choices.numerics)

    def build(self, rope: Rope) -> BuiltGraph:
        graph, h = self._graph, self._h
        graph.inputs.append(ValueInfo("input_ids", "int64", (1, "sequence")))
        graph.inputs.append(ValueInfo("cache_position", "int64", ("sequence",)))
        middle: int | str = 1 if self._choices.rows == "last" else "sequence"
        graph.outputs.append(ValueInfo("logits", "float32", (1, middle, h.vocabulary)))
        table = self._weights.get(TABLE, h.vocabulary, h.hidden)
        places = self._places(rope)
        stream = Stream(self._embedded(table))
        transformer = Transformer(graph, self._weights, self._linears, h, self._row)
        for layer in range(h.layers):
            stream = transformer.add(layer, stream, places)
        if self._choices.rows == "last":
            stream = Stream(self._last(stream.x), self._last(stream.pending) if stream.pending else "")
        self._add_logits(transformer.norm("output_norm", stream)[0], table)
        return graph.finish()

    def _places(self, rope: Rope) -> Places:
        """Lengths from where the step's last token stands, and the rotary tables.

        From its place and not from the caches' shape, so that a cache may be a buffer longer than what it holds.
        """
        graph = self._graph
        place = graph.node("Gather", "cache_position", graph.integers(-1), axis=0)
        last = graph.node("Cast", place, to=ELEMENTS["int32"])  # (1,)
        total = graph.node("Add", last, graph.constant("one", np.ones(1, dtype=np.int32)))
        length = graph.node("Squeeze", total, graph.integers(0))
        tables = self._tables("rope", rope) if self._row.rotary != "none" else ("", "")
        local, local_tables = self._row.local, tables
        if local is not None and local.rope is not None:
            local_tables = self._tables("rope_local", local.rope)
        ids = graph.node("Unsqueeze", "cache_position", graph.integers(0))  # dropped where nothing asks for it
        return Places(last, length, ids, tables, local_tables)

    def _tables(self, name: str, rope: Rope) -> tuple[str, str]:
        cosines, sines = rope.tables(self._h.rotary_dim, self._choices.positions)
        return self._graph.constant(name + ".cos", cosines), self._graph.constant(name + ".sin", sines)

    def _embedded(self, table: GgufTensor) -> str:
        """The rows of the tokens, (sequence, hidden)."""
        graph, h = self._graph, self._h
        x = self._gathered(table)
        x = graph.node("Reshape", x, graph.integers(-1, h.hidden))
        if self._row.rotary == "none":
            tensor = self._weights.get("position_embd.weight", h.positions, h.hidden)
            learnt = graph.constant("positions", self._weights.floats(tensor)[: self._choices.positions])
            x = graph.node("Add", x, graph.node("Gather", learnt, "cache_position", axis=0))
        scale = self._row.scales.embedding
        return x if scale == 1 else graph.node("Mul", x, graph.scalar(scale))

    def _gathered(self, table: GgufTensor) -> str:
        """Rows at `input_ids`, (1, sequence, hidden): in the table's own bits where an operator unpacks them."""
        graph = self._graph
        is_head = not self._weights.has("output.weight")
        if self._choices.numerics == "exact" or (table.type.name in FLOATS and is_head):
            return graph.node("Gather", self._linears.floats([table]), "input_ids", axis=0)
        if table.type.name in FLOATS:
            rows = graph.node("Gather", graph.constant(*self._weights.narrow(table)), "input_ids", axis=0)
            return graph.node("Cast", rows, to=ELEMENTS["float32"])
        blocks = self._weights.blocks(table, keep=is_head)
        codes = graph.constant("table.codes", blocks.codes.reshape(blocks.codes.shape[0], -1))
        scales = graph.constant("table.scales", blocks.scales)
        rows = graph.node(
            "GatherBlockQuantized", codes, "input_ids", scales, domain=MICROSOFT,
            bits=blocks.bits, block_size=blocks.block, gather_axis=0, quantize_axis=1,
        )  # fmt: skip
        return rows if blocks.minima is None else self._raised(rows, blocks)

    def _raised(self, rows: str, blocks: Blocks) -> str:
        """Gathered rows with the minimum of each block added."""
        graph, count = self._graph, self._h.hidden // blocks.block
        assert blocks.minima is not None
        minima = graph.node("Gather", graph.constant("table.minima", blocks.minima), "input_ids", axis=0)
        apart = graph.node("Reshape", rows, graph.integers(-1, count, blocks.block))
        return graph.node("Add", apart, graph.node("Reshape", minima, graph.integers(-1, count, 1)))

    def _last(self, x: str) -> str:
        """The last row alone, (1, width)."""
        return self._graph.node("Gather", x, self._graph.integers(-1), axis=0)

    def _add_logits(self, x: str, table: GgufTensor) -> None:
        """The head: a matrix of its own, or the table of embeddings once more."""
        graph, h = self._graph, self._h
        name = "output.weight" if self._weights.has("output.weight") else TABLE
        head = self._weights.get(name, h.vocabulary, h.hidden)
        logits = self._linears.one(x, (head, self._weights.may_vector("output.bias", h.vocabulary)))
        if self._row.scales.logits != 1:
            logits = graph.node("Mul", logits, graph.scalar(self._row.scales.logits))
        graph.node("Reshape", logits, graph.integers(1, -1, h.vocabulary), output="logits")
