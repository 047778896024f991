"""The weights of the three model types under one set of names, so that one graph builder serves them all.

Matrices come (in, out). `q`, `k` and `v` are joined into one product; gpt_neox stores them head by head.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tools.convert_hf.safetensors import Array, SourceRefused, Weights
from tools.convert_hf.shape import HfShape, ModelType


@dataclass(frozen=True, slots=True)
class Norm:
    """RMSNorm when `bias` is None, LayerNorm otherwise."""

    gain: Array
    bias: Array | None


@dataclass(frozen=True, slots=True)
class Linear:
    """`x @ matrix + bias`, matrix (in, out)."""

    matrix: Array
    bias: Array | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """One block. `up` holds gate and up side by side in a gated feed-forward."""

    norm1: Norm
    qkv: Linear
    out: Linear
    norm2: Norm
    up: Linear
    down: Linear
    gated: bool


@dataclass(frozen=True, slots=True)
class Ends:
    """What stands before and behind the layers: `head` (in, out) is None when it is the table, transposed."""

    table: Array
    places: Array | None
    norm: Norm
    head: Array | None


class Reader:
    """Tensors by name, a missing or misshapen one refused."""

    def __init__(self, weights: Weights, prefix: str) -> None:
        self._weights = weights
        self._prefix = prefix if any(name.startswith(prefix) for name in weights) else ""

    def get(self, name: str, *shape: int) -> Array:
        """The tensor, which must have this shape."""
        full = self._prefix + name
        if self._weights.shape(full) != shape:
            raise SourceRefused(f"tensor {full}: found {self._weights.shape(full)}, expected {shape}")
        return self._weights[full]

    def may(self, name: str, *shape: int) -> Array | None:
        """The same, None when there is no such tensor."""
        return self.get(name, *shape) if self._weights.shape(self._prefix + name) is not None else None

    def linear(self, name: str, inner: int, outer: int) -> Linear:
        """A `torch.nn.Linear`, which stores (out, in)."""
        return Linear(self.get(name + ".weight", outer, inner).T, self.may(name + ".bias", outer))

    def rows(self, name: str) -> int:
        """The first extent of a tensor: the feed-forward's width stands in no field that all types share."""
        shape = self._weights.shape(self._prefix + name)
        if not shape:
            raise SourceRefused(f"tensor {self._prefix + name}: found none, expected one")
        return shape[0]

    def norm(self, name: str, width: int) -> Norm:
        return Norm(self.get(name + ".weight", width), self.may(name + ".bias", width))


def llama_layer(read: Reader, s: HfShape, layer: int) -> Layer:
    at = f"layers.{layer}."
    inner = read.rows(at + "mlp.up_proj.weight")
    queries, caches = s.heads * s.head_dim, s.kv_heads * s.head_dim
    return Layer(
        norm1=read.norm(at + "input_layernorm", s.hidden),
        qkv=joined([
            read.linear(at + "self_attn.q_proj", s.hidden, queries),
            read.linear(at + "self_attn.k_proj", s.hidden, caches),
            read.linear(at + "self_attn.v_proj", s.hidden, caches),
        ]),
        out=read.linear(at + "self_attn.o_proj", queries, s.hidden),
        norm2=read.norm(at + "post_attention_layernorm", s.hidden),
        up=joined([read.linear(f"{at}mlp.{name}_proj", s.hidden, inner) for name in ("gate", "up")]),
        down=read.linear(at + "mlp.down_proj", inner, s.hidden),
        gated=True,
    )  # fmt: skip


def neox_layer(read: Reader, s: HfShape, layer: int) -> Layer:
    at = f"layers.{layer}."
    inner = read.rows(at + "mlp.dense_h_to_4h.weight")
    return Layer(
        norm1=read.norm(at + "input_layernorm", s.hidden),
        qkv=by_kind(read.linear(at + "attention.query_key_value", s.hidden, 3 * s.hidden), s),
        out=read.linear(at + "attention.dense", s.hidden, s.hidden),
        norm2=read.norm(at + "post_attention_layernorm", s.hidden),
        up=read.linear(at + "mlp.dense_h_to_4h", s.hidden, inner),
        down=read.linear(at + "mlp.dense_4h_to_h", inner, s.hidden),
        gated=False,
    )


def gpt2_layer(read: Reader, s: HfShape, layer: int) -> Layer:
    """gpt2's `Conv1D` stores (in, out)."""
    at = f"h.{layer}."
    inner = read.rows(at + "mlp.c_fc.bias")

    def conv(name: str, width: int, outer: int) -> Linear:
        return Linear(read.get(f"{at}{name}.weight", width, outer), read.get(f"{at}{name}.bias", outer))

    return Layer(
        norm1=read.norm(at + "ln_1", s.hidden),
        qkv=conv("attn.c_attn", s.hidden, 3 * s.hidden),
        out=conv("attn.c_proj", s.hidden, s.hidden),
        norm2=read.norm(at + "ln_2", s.hidden),
        up=conv("mlp.c_fc", s.hidden, inner),
        down=conv("mlp.c_proj", inner, s.hidden),
        gated=False,
    )


def joined(parts: list[Linear]) -> Linear:
    """Several products of one input as one."""
    biases = [part.bias for part in parts if part.bias is not None]
    if biases and len(biases) != len(parts):
        raise SourceRefused("attention and mlp biases: found on some projections, expected on all of a group or none")
    matrix = np.concatenate([part.matrix for part in parts], axis=1)
    return Linear(matrix, np.concatenate(biases) if biases else None)


def by_kind(linear: Linear, s: HfShape) -> Linear:
    """Columns ordered (head, kind, width) brought to (kind, head, width)."""
    order = np.arange(3 * s.hidden).reshape(s.heads, 3, s.head_dim).transpose(1, 0, 2).reshape(-1)
    return Linear(linear.matrix[:, order], None if linear.bias is None else linear.bias[order])


LAYERS: Mapping[ModelType, Callable[[Reader, HfShape, int], Layer]] = {
    "llama": llama_layer,
    "gpt_neox": neox_layer,
    "gpt2": gpt2_layer,
}
PREFIXES: Mapping[ModelType, str] = {"llama": "model.", "gpt_neox": "gpt_neox.", "gpt2": "transformer."}
NAMES: Mapping[ModelType, tuple[str, str, str]] = {
    "llama": ("embed_tokens.weight", "norm", "lm_head.weight"),
    "gpt_neox": ("embed_in.weight", "final_layer_norm", "embed_out.weight"),
    "gpt2": ("wte.weight", "ln_f", "lm_head.weight"),
}
"""Of the table, the last norm and the head, which lies outside of the prefix."""


def read_ends(weights: Weights, s: HfShape) -> Ends:
    """The table, the last norm and the head. Where the config ties the two, a stored head is ignored, as by the
    library that wrote it; a head that equals the table is the table."""
    table, norm, head = NAMES[s.model_type]
    read = Reader(weights, PREFIXES[s.model_type])
    rows = read.get(table, s.vocabulary, s.hidden)
    own = None if s.tied else Reader(weights, "").get(head, s.vocabulary, s.hidden)
    places = read.get("wpe.weight", s.positions, s.hidden) if s.model_type == "gpt2" else None
    return Ends(rows, places, read.norm(norm, s.hidden), None if own is None or np.array_equal(own, rows) else own.T)


def read_layer(weights: Weights, s: HfShape, layer: int) -> Layer:
    """The weights of one block."""
    return LAYERS[s.model_type](Reader(weights, PREFIXES[s.model_type]), s, layer)
