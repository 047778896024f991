"""Weights as a with-past ONNX graph of standard operators (opset 21), so that it runs in the page too.

What goes in and out is the runtime's contract (docs/runtime.md). Quantised matrices are dequantised in blocks of 32
along their inner axis: ONNX Runtime fuses that with the product (`fast`) or unfolds it at load (`exact`). The table's
rows are gathered as codes and dequantised alone: dequantising the whole table at each step cost a small brain three
quarters of it (docs/performance.md).
"""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper

from tools.convert_hf.layers import Ends, Layer, Linear, Norm, read_ends, read_layer
from tools.convert_hf.safetensors import Array, Weights
from tools.convert_hf.shape import HfShape
from tools.export_brain.graph import BITS, IR_VERSION, OPSET, TABLE_BITS, Graph, Precision, add_mask
from tools.export_brain.quantize import BLOCK, quantize


@dataclass(frozen=True, slots=True)
class Places:
    """Names of what every layer needs of positions: the mask's bias, and the rotary tables (1, 1, seq, R) if any."""

    bias: str
    cos: str
    sin: str


def build_graph(s: HfShape, weights: Weights, precision: Precision) -> onnx.ModelProto:
    """The whole model; the same weights give the same bytes."""
    graph = Graph()
    ends = read_ends(weights, s)
    head = Matrix(graph, "head", ends.table.T if ends.head is None else ends.head, TABLE_BITS[precision])
    x = embed(graph, ends, head, TABLE_BITS[precision])  # (1, seq, D)
    places = add_places(graph, s)
    for layer in range(s.layers):
        x = add_layer(graph, s, read_layer(weights, s, layer), layer=layer, x=x, places=places, bits=BITS[precision])
    graph.node("MatMul", [add_norm(graph, ends.norm, s.eps, x, "last_norm"), head.whole()], "logits")
    return assemble(graph, s)


class Matrix:
    """A matrix (in, out) of the file, in codes where its inner extent is a multiple of the block, else in float32."""

    def __init__(self, graph: Graph, name: str, values: Array, bits: int) -> None:
        self._graph = graph
        self.name = name
        self.is_blocked = bits < 32 and values.shape[0] % BLOCK == 0
        if not self.is_blocked:
            graph.constant(name, np.ascontiguousarray(values, dtype=np.float32))
            return
        blocked = quantize(np.ascontiguousarray(values), bits=bits, axis=0)
        graph.codes(name + ".codes", blocked)  # (in, out)
        graph.constant(name + ".scales", blocked.scales)  # (in / BLOCK, out)

    def whole(self) -> str:
        """The matrix as a product takes it."""
        if not self.is_blocked:
            return self.name
        parts = [self.name + ".codes", self.name + ".scales"]
        return self._graph.node("DequantizeLinear", parts, self.name, axis=0, block_size=BLOCK)

    def columns(self, ids: str) -> str:
        """The columns at `ids` (1, seq), as (1, seq, in).

        ONNX Runtime folds the transposes at load. They keep the product's codes to the product alone, without which
        it is not fused, and the file holds the codes once.
        """
        graph, to = self._graph, self.name
        if not self.is_blocked:
            return self._rows(to, ids, "embedded")
        parts = [self._rows(f"{to}.{part}", ids, f"{to}.{part}_at") for part in ("codes", "scales")]
        return graph.node("DequantizeLinear", parts, "embedded", axis=2, block_size=BLOCK)

    def _rows(self, part: str, ids: str, name: str) -> str:
        turned = self._graph.node("Transpose", [part], part + "_turned", perm=[1, 0])
        return self._graph.node("Gather", [turned, ids], name, axis=0)


def embed(graph: Graph, ends: Ends, head: Matrix, bits: int) -> str:
    """The rows of the tokens (1, seq, D), positions added where they are learnt."""
    table = head if ends.head is None else Matrix(graph, "table", ends.table.T, bits)
    x = table.columns("input_ids")
    if ends.places is None:
        return x
    at = graph.node("Gather", [graph.constant("places", ends.places), "position_ids"], "places_at", axis=0)
    return graph.node("Add", [x, at], "placed")


def add_places(graph: Graph, s: HfShape) -> Places:
    """The mask's bias and the rotary tables at the step's positions, the sines signed for rotate-half."""
    bias = add_mask(graph)
    if not s.rotary_dim:
        return Places(bias, "", "")
    half = np.arange(0, s.rotary_dim, 2, dtype=np.float64) / s.rotary_dim
    angles = np.outer(np.arange(s.positions, dtype=np.float64), s.theta**-half)
    tables = {"cos": (np.cos(angles),) * 2, "sin": (-np.sin(angles), np.sin(angles))}
    at = {}
    for name, halves in tables.items():
        whole = graph.constant(name, np.concatenate(halves, axis=1)[None].astype(np.float32))  # (1, positions, R)
        at[name] = graph.node("Gather", [whole, "position_ids"], name + "_at", axis=1)
    return Places(bias, at["cos"], at["sin"])


def add_norm(graph: Graph, norm: Norm, eps: float, x: str, at: str) -> str:
    """RMSNorm or LayerNorm of (1, seq, D). The former is spelled as ONNX Runtime's fusion knows it: as one operator
    instead of six it spares a small brain a fifth of its nodes."""
    gain = graph.constant(at + ".gain", norm.gain)
    if norm.bias is not None:
        bias = graph.constant(at + ".bias", norm.bias)
        graph.nodes.append(helper.make_node("LayerNormalization", [x, gain, bias], [at], name=at, axis=-1, epsilon=eps))
        return at
    square = graph.node("Pow", [x, graph.scalar(2)], at + ".square")
    mean = graph.node("ReduceMean", [square, graph.integers([-1])], at + ".mean", keepdims=1)
    root = graph.node("Sqrt", [graph.node("Add", [mean, graph.scalar(eps)], at + ".plus")], at + ".root")
    return graph.node("Mul", [graph.node("Div", [x, root], at + ".even"), gain], at)


def add_linear(graph: Graph, linear: Linear, bits: int, x: str, at: str) -> str:
    """A product, and a bias where there is one."""
    out = graph.node("MatMul", [x, Matrix(graph, at, linear.matrix, bits).whole()], at + ".product")
    if linear.bias is None:
        return out
    return graph.node("Add", [out, graph.constant(at + ".bias", linear.bias)], at + ".sum")


def add_layer(graph: Graph, s: HfShape, w: Layer, *, layer: int, x: str, places: Places, bits: int) -> str:
    """One block: attention and feed-forward behind their norms, one after the other or side by side."""
    to = f"layer{layer}"
    even = add_norm(graph, w.norm1, s.eps, x, to + ".norm1")
    fused = add_linear(graph, w.qkv, bits, even, to + ".qkv")  # (1, seq, (H + 2K) E)
    mixed = add_linear(graph, w.out, bits, add_attention(graph, s, layer, fused, places), to + ".out")
    after = graph.node("Add", [x, mixed], to + ".after_attention")
    even = add_norm(graph, w.norm2, s.eps, x if s.parallel else after, to + ".norm2")
    wide = add_linear(graph, w.up, bits, even, to + ".up")
    inner = add_gate(graph, s, w, wide, to) if w.gated else add_activation(graph, s.activation, wide, to)
    return graph.node("Add", [after, add_linear(graph, w.down, bits, inner, to + ".down")], to + ".after_mlp")


def add_gate(graph: Graph, s: HfShape, w: Layer, wide: str, to: str) -> str:
    """Gate and up apart, the gate's activation times up."""
    half = w.down.matrix.shape[0]
    graph.split(wide, [to + ".gate", to + ".raised"], [half, half], axis=2)
    gate = add_activation(graph, s.activation, to + ".gate", to)
    return graph.node("Mul", [gate, to + ".raised"], to + ".gated")


def add_activation(graph: Graph, kind: str, x: str, to: str) -> str:
    """SiLU, or GELU by the error function or by tanh."""
    if kind == "silu":
        return graph.node("Mul", [x, graph.node("Sigmoid", [x], to + ".sigmoid")], to + ".silu")
    approximate = "tanh" if kind == "gelu_tanh" else "none"
    graph.nodes.append(helper.make_node("Gelu", [x], [to + ".gelu"], name=to + ".gelu", approximate=approximate))
    return to + ".gelu"


def add_attention(graph: Graph, s: HfShape, layer: int, fused: str, places: Places) -> str:
    """Grouped-query attention with a growing cache, from the joined projections to (1, seq, H E)."""
    to, heads, kv_heads, width = f"layer{layer}", s.heads, s.kv_heads, s.head_dim
    apart = graph.node("Reshape", [fused, graph.integers([1, -1, heads + 2 * kv_heads, width])], to + ".apart")
    by_head = graph.node("Transpose", [apart], to + ".by_head", perm=[0, 2, 1, 3])  # (1, H + 2K, seq, E)
    graph.split(by_head, [to + ".qk", to + ".v"], [heads + kv_heads, kv_heads], axis=1)
    turned = add_rotation(graph, s, to, places) if s.rotary_dim else to + ".qk"
    graph.split(turned, [to + ".q", to + ".k"], [heads, kv_heads], axis=1)
    past = f"past_key_values.{layer}."
    keys = graph.node("Concat", [past + "key", to + ".k"], f"present.{layer}.key", axis=2)  # (1, K, total, E)
    values = graph.node("Concat", [past + "value", to + ".v"], f"present.{layer}.value", axis=2)
    q = graph.node("Reshape", [to + ".q", graph.integers([1, kv_heads, heads // kv_heads, -1, width])], to + ".q_by_kv")
    axis = graph.integers([2])
    k = graph.node("Unsqueeze", [graph.node("Transpose", [keys], to + ".k_t", perm=[0, 1, 3, 2]), axis], to + ".k_one")
    v = graph.node("Unsqueeze", [values, axis], to + ".v_one")  # (1, K, 1, total, E)
    scores = graph.node("MatMul", [q, k], to + ".scores")  # (1, K, G, seq, total)
    scaled = graph.node("Mul", [scores, graph.scalar(width**-0.5)], to + ".scaled")
    shares = graph.node("Softmax", [graph.node("Add", [scaled, places.bias], to + ".biased")], to + ".shares", axis=-1)
    mixed = graph.node("MatMul", [shares, v], to + ".mixed")  # (1, K, G, seq, E)
    flat = graph.node("Reshape", [mixed, graph.integers([1, heads, -1, width])], to + ".flat")
    back = graph.node("Transpose", [flat], to + ".back", perm=[0, 2, 1, 3])  # (1, seq, H, E)
    return graph.node("Reshape", [back, graph.integers([1, -1, heads * width])], to + ".joined")


def add_rotation(graph: Graph, s: HfShape, to: str, places: Places) -> str:
    """Rotary positions on queries and keys at once, on the first `rotary_dim` of each head."""
    source, rest, rotary = to + ".qk", "", s.rotary_dim
    if rotary < s.head_dim:
        source, rest = to + ".turning", to + ".still"
        graph.split(to + ".qk", [source, rest], [rotary, s.head_dim - rotary], axis=3)
    graph.split(source, [to + ".first", to + ".second"], [rotary // 2] * 2, axis=3)
    swapped = graph.node("Concat", [to + ".second", to + ".first"], to + ".swapped", axis=3)
    straight = graph.node("Mul", [source, places.cos], to + ".straight")
    turned = graph.node("Add", [straight, graph.node("Mul", [swapped, places.sin], to + ".crossed")], to + ".turned")
    return graph.node("Concat", [turned, rest], to + ".whole", axis=3) if rest else turned


def assemble(graph: Graph, s: HfShape) -> onnx.ModelProto:
    """The model with its declared inputs and outputs."""
    cache, grown = ([1, s.kv_heads, length, s.head_dim] for length in ("past", "total"))
    inputs = [("input_ids", "seq"), ("attention_mask", "total"), ("position_ids", "seq")]
    declared = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, extent]) for name, extent in inputs]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "seq", s.vocabulary])]
    for name in (f"{layer}.{part}" for layer in range(s.layers) for part in ("key", "value")):
        declared.append(helper.make_tensor_value_info(f"past_key_values.{name}", TensorProto.FLOAT, cache))
        outputs.append(helper.make_tensor_value_info(f"present.{name}", TensorProto.FLOAT, grown))
    made = helper.make_graph(graph.nodes, "brain", declared, outputs, list(graph.constants.values()))
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(made, opset_imports=[opset], ir_version=IR_VERSION, producer_name="tokenling")
