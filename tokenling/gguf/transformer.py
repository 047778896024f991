"""One transformer block, for every architecture of the table: norms, attention, feed-forward, and how they join.

Activations are (seq, width): the batch is 1, and Gemm, which adds a product to what is there, knows two axes only.
"""

from dataclasses import dataclass

import numpy as np

from tokenling.gguf.architectures import Architecture
from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.graph import MICROSOFT, Graph
from tokenling.gguf.hyperparameters import Hyperparameters
from tokenling.gguf.linear import Linears, Part, Product
from tokenling.gguf.protobuf import Attribute, ValueInfo
from tokenling.gguf.weights import Weights

GQA_ROTARY_MULTIPLE = 16
"""GroupQueryAttention turns only so many columns at once; other widths are turned in front of it."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The residual stream: `x`, and what is still to be added to it (the next norm does both at once)."""

    x: str
    pending: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """What attention needs of positions: lengths, rotary tables, and position ids where something asks for them."""

    past_and_step: str
    total: str
    position_ids: str
    tables: tuple[str, str]
    local_tables: tuple[str, str]


class Transformer:
    """Adds blocks to a graph. `h`, `row`: the model's numbers and its row of the table."""

    def __init__(self, graph: Graph, weights: Weights, linears: Linears, h: Hyperparameters, row: Architecture) -> None:
        self._graph = graph
        self._weights = weights
        self._linears = linears
        self._h = h
        self._row = row

    def add(self, layer: int, stream: Stream, places: Places) -> Stream:
        """One block behind `stream`. The caches of the layer join the graph's inputs and outputs."""
        at = f"blk.{layer}."
        normed, stream = self.norm(at + "attn_norm", stream)
        attended = self._scaled(self._post(at + "post_attention_norm", self._attention(layer, normed, places)))
        if not self._row.parallel:
            stream = self.joined(stream, attended)
            normed, stream = self.norm(at + "ffn_norm", stream)
            return self.joined(stream, self._feed_forward(at, normed))
        if self._weights.has(at + "ffn_norm.weight"):
            normed, stream = self.norm(at + "ffn_norm", stream)
        both = self._graph.node("Add", attended, self._feed_forward(at, normed))
        return self.joined(stream, both)

    def joined(self, stream: Stream, more: str) -> Stream:
        """The stream with `more` still to be added."""
        assert not stream.pending
        return Stream(stream.x, more)

    def norm(self, name: str, stream: Stream) -> tuple[str, Stream]:
        """The normed stream, and the stream with nothing pending."""
        gain, bias = self._gain(name)
        tail = (gain, bias) if bias else (gain,)
        if not stream.pending:
            return self._norm_of(stream.x, *tail), stream
        op_type = "SkipSimplifiedLayerNormalization" if self._row.norm == "rms" else "SkipLayerNormalization"
        outputs = (f"{name}.normed", "", "", f"{name}.stream")
        self._graph.nodes(
            op_type, stream.x, stream.pending, *tail, outputs=outputs, domain=MICROSOFT, epsilon=self._h.epsilon
        )
        return outputs[0], Stream(outputs[3])

    def _gain(self, name: str) -> tuple[str, str]:
        """Constants of a norm over the hidden width; no bias is an empty name."""
        gain = self._graph.constant(name + ".gain", self._weights.vector(name + ".weight", self._h.hidden))
        bias = self._weights.may_vector(name + ".bias", self._h.hidden)
        if bias is not None and self._row.norm == "rms":
            raise GgufUnsupported("norm_bias", name + ".bias", "a bias", "an RMS norm without one")
        return gain, "" if bias is None else self._graph.constant(name + ".bias", bias)

    def _norm_of(self, x: str, *tail: str) -> str:
        op_type = "SimplifiedLayerNormalization" if self._row.norm == "rms" else "LayerNormalization"
        return self._graph.node(op_type, x, *tail, axis=-1, epsilon=self._h.epsilon)

    def _post(self, name: str, x: str) -> str:
        """The norm behind attention or feed-forward, where the architecture has one."""
        return self._norm_of(x, *self._gain(name)[:1]) if self._row.post_norm else x

    def _scaled(self, x: str) -> str:
        scale = self._row.scales.residual
        return x if scale == 1 else self._graph.node("Mul", x, self._graph.scalar(scale))

    def _part(self, name: str, rows: int, columns: int) -> Part:
        """A matrix and its bias, if it has one."""
        return self._weights.get(name + ".weight", rows, columns), self._weights.may_vector(name + ".bias", rows)

    def _attention(self, layer: int, x: str, places: Places) -> str:
        """Projections, GroupQueryAttention over past and step, and the way back to the stream's width."""
        h, at = self._h, f"blk.{layer}."
        if self._weights.has(at + "attn_qkv.weight"):
            parts = [self._part(at + "attn_qkv", h.query_width + 2 * h.cache_width, h.hidden)]
        else:
            parts = [self._part(at + "attn_q", h.query_width, h.hidden)]
            parts += [self._part(at + name, h.cache_width, h.hidden) for name in ("attn_k", "attn_v")]
        attended = self._attended(layer, self._queries_keys_values(at, self._linears.apply(x, *parts), places), places)
        flat = self._graph.node("Reshape", attended, self._graph.integers(-1, h.query_width))
        return self._linears.one(flat, self._part(at + "attn_output", h.hidden, h.query_width))

    def _queries_keys_values(self, at: str, products: list[Product], places: Places) -> tuple[str, ...]:
        """Queries, keys and values (1, seq, width), as one packed tensor where nothing comes between."""
        h = self._h
        normed = self._row.query_key_norm and self._weights.has(at + "attn_q_norm.weight")
        turned = self._row.rotary != "none" and h.rotary_dim % GQA_ROTARY_MULTIPLE != 0
        if len(products) == 1 and not normed and not turned:
            width = h.query_width + 2 * h.cache_width
            return self._graph.node("Reshape", products[0].name, self._graph.integers(1, -1, width)), "", ""
        queries, keys, values = self._linears.each(self._apart(products))
        if normed:
            queries = self._head_norm(at + "attn_q_norm", queries, h.heads)
            keys = self._head_norm(at + "attn_k_norm", keys, h.kv_heads)
        widths = (h.query_width, h.cache_width, h.cache_width)
        shaped = [self._graph.node("Reshape", name, self._graph.integers(1, -1, width))
                  for name, width in zip((queries, keys, values), widths, strict=True)]  # fmt: skip
        if turned:
            shaped[:2] = [self._turned(shaped[0], h.heads, places), self._turned(shaped[1], h.kv_heads, places)]
        return tuple(shaped)

    def _apart(self, products: list[Product]) -> list[Product]:
        """The products with their widths; a matrix stored packed is known here as the three that it holds."""
        if len(products) == 1 and len(products[0].widths) == 1:
            h = self._h
            return [Product(products[0].name, (h.query_width, h.cache_width, h.cache_width))]
        return products

    def _head_norm(self, name: str, x: str, heads: int) -> str:
        """Each head normed by itself, (seq, heads * width)."""
        h, graph = self._h, self._graph
        split = graph.node("Reshape", x, graph.integers(-1, heads, h.head_dim))
        if self._row.norm == "rms":
            gain = graph.constant(name + ".gain", self._weights.vector(name + ".weight", h.head_dim))
            return self._norm_of(split, gain)
        tensor = self._weights.get(name + ".weight", heads, h.head_dim)
        gains = graph.constant(name + ".gain", self._weights.floats(tensor))  # a gain of its own for each head
        ones = f"ones.{h.head_dim}"
        if not graph.has(ones):
            graph.constant(ones, np.ones(h.head_dim, dtype=np.float32))
        return graph.node("Mul", self._norm_of(split, ones), gains)

    def _turned(self, x: str, heads: int, places: Places) -> str:
        return self._graph.node(
            "RotaryEmbedding", x, places.position_ids, *places.tables, domain=MICROSOFT, num_heads=heads,
            rotary_embedding_dim=self._h.rotary_dim, interleaved=int(self._row.rotary == "interleaved"),
        )  # fmt: skip

    def _attended(self, layer: int, inputs: tuple[str, ...], places: Places) -> str:
        """GroupQueryAttention; its caches become the graph's."""
        h, row = self._h, self._row
        is_local = row.local is not None and row.local.holds(layer)
        tables = places.local_tables if is_local else places.tables
        rotary = int(row.rotary != "none" and h.rotary_dim % GQA_ROTARY_MULTIPLE == 0)
        attributes: dict[str, Attribute] = {"num_heads": h.heads, "kv_num_heads": h.kv_heads, "do_rotary": rotary}
        if rotary:
            attributes["rotary_interleaved"] = int(row.rotary == "interleaved")
        if row.scales.attention:
            attributes["scale"] = row.scales.attention
        if row.local is not None and is_local:
            attributes["local_window_size"] = row.local.window
        pasts, presents = self._add_caches(layer)
        places_in = (places.past_and_step, places.total, *(tables if rotary else ()))
        outputs = (f"attended.{layer}", *presents)
        return self._graph.nodes(
            "GroupQueryAttention", *inputs, *pasts, *places_in, outputs=outputs, domain=MICROSOFT, **attributes
        )[0]

    def _add_caches(self, layer: int) -> tuple[list[str], list[str]]:
        pasts = [f"past_key_values.{layer}.{kind}" for kind in ("key", "value")]
        presents = [f"present.{layer}.{kind}" for kind in ("key", "value")]
        for names, axis, into in ((pasts, "past", self._graph.inputs), (presents, "total", self._graph.outputs)):
            into += [ValueInfo(name, "float32", (1, self._h.kv_heads, axis, self._h.head_dim)) for name in names]
        return pasts, presents

    def _feed_forward(self, at: str, x: str) -> str:
        """Up, activation, down; gated where the architecture is."""
        h = self._h
        if not self._row.gated:
            inner = self._activated(self._linears.one(x, self._part(at + "ffn_up", h.inner, h.hidden)))
        else:
            gate, up = self._gate_and_up(at, x)
            inner = self._graph.node("Mul", self._activated(gate), up)
        down = self._linears.one(inner, self._part(at + "ffn_down", h.hidden, h.inner))
        return self._scaled(self._post(at + "post_ffw_norm", down))

    def _gate_and_up(self, at: str, x: str) -> list[str]:
        """Both halves, from two matrices or from one that holds the gate first."""
        h = self._h
        if self._weights.has(at + "ffn_gate.weight"):
            parts = [self._part(at + name, h.inner, h.hidden) for name in ("ffn_gate", "ffn_up")]
            return self._linears.each(self._linears.apply(x, *parts))
        packed = self._linears.one(x, self._part(at + "ffn_up", 2 * h.inner, h.hidden))
        return self._linears.each([Product(packed, (h.inner, h.inner))])

    def _activated(self, x: str) -> str:
        if self._row.activation == "silu":
            return self._graph.node("QuickGelu", x, domain=MICROSOFT, alpha=1.0)  # x * sigmoid(1.0 * x)
        if self._row.activation == "gelu_tanh":
            return self._graph.node("FastGelu", x, domain=MICROSOFT)
        return self._graph.node("Gelu", x, domain=MICROSOFT)
