"""A Llama's weights as a with-past ONNX graph of standard operators only (opset 21), so that it runs in the page too.

Inputs and outputs, for layers N = 0 …:

| name | type | extent |
|---|---|---|
| input_ids, position_ids | int64 | 1, seq |
| attention_mask | int64 | 1, total |
| past_key_values.N.key, .value | float32 | 1, kv_heads, past, head_dim |
| logits | float32 | 1, seq, vocab |
| present.N.key, .value | float32 | 1, kv_heads, total, head_dim |

Tiny models are bound by the number of nodes (docs/brains.md): queries, keys and values are one product, gate and up are
one, and queries and keys turn together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from tools.export_brain.quantize import BLOCK, Blocked, packed, quantize
from tools.export_brain.weights import Array
from tools.train_brain.shape import Shape

Precision = Literal["fp32", "q8", "q4"]
Attention = Literal["plain", "grouped"]
"""Standard operators, or ONNX Runtime's own GroupQueryAttention: one node a layer where the plain form takes twenty.

Plain is what ships: grouped steps were a seventh faster natively, but its prefill took twice as long in
onnxruntime-web (docs/brains.md), and no other runtime knows the operator.
"""
BITS: Mapping[Precision, int] = {"fp32": 32, "q8": 8, "q4": 4}
TABLE_BITS: Mapping[Precision, int] = {"fp32": 32, "q8": 8, "q4": 8}
"""The table is the head too: in int4 it moved the logits three times as far as all the layers together."""
OPSET = 21
IR_VERSION = 10
"""The file format that came with opset 21."""
MICROSOFT = "com.microsoft"
MASKED = np.float32(-1e9)


class Graph:
    """Nodes and constants as they are added; each method answers the name of what it made."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: int | Sequence[int]) -> str:
        """One operator with one output of its own name."""
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def split(self, source: str, names: Sequence[str], sizes: Sequence[int], axis: int) -> None:
        """`source` cut along `axis`."""
        lengths = self.integers(sizes)
        self.nodes.append(
            helper.make_node("Split", [source, lengths], list(names), name=names[0] + ".split", axis=axis)
        )

    def constant(self, name: str, values: NDArray[np.float32] | NDArray[np.int64] | NDArray[np.int32]) -> str:
        """A tensor of the file, kept once."""
        if name not in self.constants:
            kind = helper.np_dtype_to_tensor_dtype(values.dtype)
            self.constants[name] = helper.make_tensor(name, kind, values.shape, values.tobytes(), raw=True)
        return name

    def integers(self, values: Sequence[int]) -> str:
        """A constant vector of integers."""
        return self.constant("ints." + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> str:
        """A constant number."""
        return self.constant(f"number.{value:g}", np.array(value, dtype=np.float32))

    def matrix(self, name: str, values: Array, bits: int, axis: int) -> str:
        """`values`, dequantised in the graph unless `bits` is 32."""
        if bits == 32:
            return self.constant(name, np.ascontiguousarray(values, dtype=np.float32))
        blocked = quantize(values, bits=bits, axis=axis)
        codes, scales = self.codes(name + ".codes", blocked), self.constant(name + ".scales", blocked.scales)
        return self.node("DequantizeLinear", [codes, scales], name, axis=axis, block_size=BLOCK)

    def codes(self, name: str, blocked: Blocked) -> str:
        """Quantised codes as an int4 or int8 tensor."""
        four = blocked.bits == 4
        kind = TensorProto.INT4 if four else TensorProto.INT8
        data = packed(blocked.codes) if four else blocked.codes.tobytes()
        self.constants[name] = helper.make_tensor(name, kind, blocked.codes.shape, data, raw=True)
        return name


def build_graph(
    shape: Shape, weights: Mapping[str, Array], precision: Precision, attention: Attention = "plain"
) -> onnx.ModelProto:
    """The whole model; the same weights give the same bytes."""
    graph = Graph()
    head, x = add_table(graph, weights["model.embed_tokens.weight"], TABLE_BITS[precision])  # (1, seq, D)
    places = add_positions(graph, shape) if attention == "plain" else add_lengths(graph, shape)
    for layer in range(shape.num_hidden_layers):
        x = add_layer(graph, shape, weights, layer=layer, x=x, places=places, bits=BITS[precision])
    x = add_norm(graph, x, weights["model.norm.weight"], shape.rms_norm_eps, "last_norm")
    graph.node("MatMul", [x, head], "logits")
    return assemble(graph, shape, attention)


def add_table(graph: Graph, table: Array, bits: int) -> tuple[str, str]:
    """The head (D, V), which is the table turned, and the tokens' own columns of it (1, seq, D).

    Codes are gathered before they are dequantised: a whole table dequantised at each step made `fast` numerics six
    times as slow. ONNX Runtime folds the transposes at load; without them it would not fuse the head's product.
    """
    head = graph.matrix("head", np.ascontiguousarray(table.T), bits, axis=0)
    parts = ["head"] if bits == 32 else ["head.codes", "head.scales"]
    rows = []
    for part in parts:
        turned = graph.node("Transpose", [part], part + ".turned", perm=[1, 0])  # (V, D) or (V, D / BLOCK)
        rows.append(graph.node("Gather", [turned, "input_ids"], part + ".rows", axis=0))
    if bits == 32:
        return head, rows[0]
    return head, graph.node("DequantizeLinear", rows, "embedded", axis=2, block_size=BLOCK)


@dataclass(frozen=True, slots=True)
class Places:
    """Names of what every layer needs of positions: cosines and signed sines (1, seq, E), and the mask's bias."""

    cos: str
    sin: str
    bias: str


@dataclass(frozen=True, slots=True)
class Lengths:
    """Names of what GroupQueryAttention needs: the last position and the total length (int32), the rotary tables."""

    last: str
    total: str
    cos: str
    sin: str


def add_lengths(graph: Graph, shape: Shape) -> Lengths:
    """Where the sequence ends, by the mask, and the rotary tables (positions, E / 2); positions follow the cache."""
    angles = rotary_angles(shape)
    cos = graph.constant("cos", np.cos(angles).astype(np.float32))
    sin = graph.constant("sin", np.sin(angles).astype(np.float32))
    extent = graph.node("ReduceSum", ["attention_mask", graph.integers([1])], "mask_sum", keepdims=0)  # (1,)
    short = graph.node("Cast", [extent], "mask_sum.int32", to=TensorProto.INT32)
    one = graph.constant("one.int32", np.array([1], dtype=np.int32))
    last = graph.node("Sub", [short, one], "last_position")
    total = graph.node("Squeeze", [short], "total_length")
    return Lengths(last, total, cos, sin)


def rotary_angles(shape: Shape) -> NDArray[np.float64]:
    """The angle of each position and pair of channels, (positions, E / 2)."""
    half = np.arange(0, shape.head_dim, 2, dtype=np.float64) / shape.head_dim
    return np.outer(np.arange(shape.max_position_embeddings, dtype=np.float64), shape.rope_theta**-half)


def add_positions(graph: Graph, shape: Shape) -> Places:
    """Rotary cosines and signed sines (1, 1, seq, E), and what is added to the scores (1, 1, seq, total)."""
    angles = rotary_angles(shape)
    cos = np.concatenate((np.cos(angles), np.cos(angles)), axis=1)[None].astype(np.float32)
    sin = np.concatenate((-np.sin(angles), np.sin(angles)), axis=1)[None].astype(np.float32)  # signs of rotate-half
    turned = [
        graph.node("Gather", [graph.constant(name, table), "position_ids"], name + ".seq", axis=1)
        for name, table in (("cos", cos), ("sin", sin))
    ]
    return Places(turned[0], turned[1], add_mask(graph))


def add_mask(graph: Graph) -> str:
    """0 where a position may be seen, very negative where it lies ahead or the mask hides it."""
    zero, one = graph.constant("zero", np.array(0, dtype=np.int64)), graph.constant("one", np.array(1, dtype=np.int64))
    ids_extent = graph.node("Shape", ["input_ids"], "ids_extent")
    mask_extent = graph.node("Shape", ["attention_mask"], "mask_extent")
    seq = graph.node("Gather", [ids_extent, one], "seq_length", axis=0)
    total = graph.node("Gather", [mask_extent, one], "total_length", axis=0)
    past = graph.node("Sub", [total, seq], "past_length")
    rows = graph.node("Range", [past, total, one], "rows")
    columns = graph.node("Range", [zero, total, one], "columns")
    rows = graph.node("Unsqueeze", [rows, graph.integers([1])], "rows_down")  # (seq, 1)
    ahead = graph.node("Greater", [columns, rows], "ahead")  # (seq, total)
    hidden = graph.node("Equal", ["attention_mask", zero], "hidden_by_mask")  # (1, total)
    unseen = graph.node("Or", [ahead, hidden], "unseen")  # (seq, total)
    bias = graph.node("Where", [unseen, graph.constant("masked", np.array(MASKED)), graph.scalar(0)], "bias")
    return graph.node("Unsqueeze", [bias, graph.integers([0, 1])], "bias_4d")


def add_norm(graph: Graph, x: str, gain: Array, eps: float, at: str) -> str:
    """RMSNorm of (1, seq, D), spelled as ONNX Runtime's fusion knows it: one operator then, not six."""
    square = graph.node("Pow", [x, graph.scalar(2)], at + ".square")
    mean = graph.node("ReduceMean", [square, graph.integers([-1])], at + ".mean", keepdims=1)
    root = graph.node("Sqrt", [graph.node("Add", [mean, graph.scalar(eps)], at + ".plus")], at + ".root")
    even = graph.node("Div", [x, root], at + ".even")
    return graph.node("Mul", [even, graph.constant(at + ".gain", gain.astype(np.float32))], at)


def add_layer(
    graph: Graph,
    shape: Shape,
    weights: Mapping[str, Array],
    *,
    layer: int,
    x: str,
    places: Places | Lengths,
    bits: int,
) -> str:
    """One block: attention and feed-forward, each behind its norm and added to what came."""
    at, to = f"model.layers.{layer}.", f"layer{layer}"
    even = add_norm(graph, x, weights[at + "input_layernorm.weight"], shape.rms_norm_eps, to + ".norm1")
    parts = [weights[f"{at}self_attn.{name}_proj.weight"] for name in "qkv"]
    joined = graph.matrix(to + ".qkv", np.concatenate(parts).T, bits, axis=0)
    fused = graph.node("MatMul", [even, joined], to + ".qkv_out")  # (1, seq, (H + 2K) E)
    if isinstance(places, Lengths):
        mixed = add_grouped_attention(graph, shape, layer, fused, places)  # (1, seq, H E)
    else:
        mixed = add_attention(graph, shape, layer, fused, places)  # (1, seq, H E)
    output = graph.matrix(to + ".out", weights[at + "self_attn.o_proj.weight"].T, bits, axis=0)
    x = graph.node("Add", [x, graph.node("MatMul", [mixed, output], to + ".out_out")], to + ".after_attention")
    even = add_norm(graph, x, weights[at + "post_attention_layernorm.weight"], shape.rms_norm_eps, to + ".norm2")
    return graph.node(
        "Add", [x, add_feed_forward(graph, shape, weights, at=at, to=to, even=even, bits=bits)], to + ".after_mlp"
    )


def add_attention(graph: Graph, shape: Shape, layer: int, fused: str, places: Places) -> str:
    """Grouped-query attention with a growing cache, from the joined projections to (1, seq, H E)."""
    to, width = f"layer{layer}", shape.head_dim
    heads, kv_heads = shape.num_attention_heads, shape.num_key_value_heads
    apart = graph.node("Reshape", [fused, graph.integers([1, -1, heads + 2 * kv_heads, width])], to + ".apart")
    by_head = graph.node("Transpose", [apart], to + ".by_head", perm=[0, 2, 1, 3])  # (1, H + 2K, seq, E)
    graph.split(by_head, [to + ".qk", to + ".v"], [heads + kv_heads, kv_heads], axis=1)
    turned = add_rotation(graph, to, places, width)
    graph.split(turned, [to + ".q", to + ".k"], [heads, kv_heads], axis=1)
    past = f"past_key_values.{layer}."
    keys = graph.node("Concat", [past + "key", to + ".k"], f"present.{layer}.key", axis=2)  # (1, K, total, E)
    values = graph.node("Concat", [past + "value", to + ".v"], f"present.{layer}.value", axis=2)
    group = heads // kv_heads
    grouped = graph.integers([1, kv_heads, group, -1, width])
    q = graph.node("Reshape", [to + ".q", grouped], to + ".q_grouped")  # (1, K, G, seq, E)
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


def add_grouped_attention(graph: Graph, shape: Shape, layer: int, fused: str, lengths: Lengths) -> str:
    """The same by ONNX Runtime's operator, which turns queries and keys and grows the cache by itself."""
    past = f"past_key_values.{layer}."
    inputs = [fused, "", "", past + "key", past + "value", lengths.last, lengths.total, lengths.cos, lengths.sin]
    outputs = [f"layer{layer}.joined", f"present.{layer}.key", f"present.{layer}.value"]
    node = helper.make_node(
        "GroupQueryAttention",
        inputs,
        outputs,
        name=outputs[0],
        domain=MICROSOFT,
        num_heads=shape.num_attention_heads,
        kv_num_heads=shape.num_key_value_heads,
        do_rotary=1,
    )
    graph.nodes.append(node)
    return outputs[0]


def add_rotation(graph: Graph, to: str, places: Places, width: int) -> str:
    """Rotary positions on queries and keys at once: x cos + swapped halves times the signed sine."""
    source = to + ".qk"
    graph.split(source, [to + ".first", to + ".second"], [width // 2, width // 2], axis=3)
    swapped = graph.node("Concat", [to + ".second", to + ".first"], to + ".swapped", axis=3)
    straight = graph.node("Mul", [source, places.cos], to + ".straight")
    return graph.node("Add", [straight, graph.node("Mul", [swapped, places.sin], to + ".crossed")], to + ".turned")


def add_feed_forward(
    graph: Graph, shape: Shape, weights: Mapping[str, Array], *, at: str, to: str, even: str, bits: int
) -> str:
    """SwiGLU of (1, seq, D)."""
    wide = np.concatenate([weights[f"{at}mlp.{name}_proj.weight"] for name in ("gate", "up")]).T
    both = graph.node("MatMul", [even, graph.matrix(to + ".gate_up", wide, bits, axis=0)], to + ".gate_up_out")
    graph.split(both, [to + ".gate", to + ".up"], [shape.intermediate_size] * 2, axis=2)
    gate = graph.node("Mul", [to + ".gate", graph.node("Sigmoid", [to + ".gate"], to + ".sigmoid")], to + ".silu")
    down = graph.matrix(to + ".down", weights[at + "mlp.down_proj.weight"].T, bits, axis=0)
    return graph.node("MatMul", [graph.node("Mul", [gate, to + ".up"], to + ".gated"), down], to + ".down_out")


def assemble(graph: Graph, shape: Shape, attention: Attention) -> onnx.ModelProto:
    """The model with its declared inputs and outputs, checked by ONNX itself."""
    cache = [1, shape.num_key_value_heads, "past", shape.head_dim]
    grown = [1, shape.num_key_value_heads, "total", shape.head_dim]
    inputs = [("input_ids", "seq"), ("attention_mask", "total"), ("position_ids", "seq")]
    if attention == "grouped":
        inputs.pop()  # positions follow from the cache
    declared = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, extent]) for name, extent in inputs]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "seq", shape.vocab_size])]
    for layer in range(shape.num_hidden_layers):
        for part in ("key", "value"):
            past, present = f"past_key_values.{layer}.{part}", f"present.{layer}.{part}"
            declared.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, cache))
            outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, grown))
    made = helper.make_graph(graph.nodes, "brain", declared, outputs, list(graph.constants.values()))
    opsets = [helper.make_opsetid("", OPSET)]
    if attention == "grouped":
        opsets.append(helper.make_opsetid(MICROSOFT, 1))
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tokenling")
    onnx.checker.check_model(model)
    return model
