"""What a source's `config.json` says, in one form for the three model types. What would change the arithmetic and is
not supported is refused by name, never left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tools.convert_hf.safetensors import SourceRefused

ModelType = Literal["gpt2", "gpt_neox", "llama"]

ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
LLAMA_DEFAULTS: dict[str, object] = {"hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 10000.0}
NEOX_DEFAULTS: dict[str, object] = {
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
    "rotary_pct": 0.25,
    "rotary_emb_base": 10000,
}
GPT2_DEFAULTS: dict[str, object] = {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
REFUSED: Mapping[str, tuple[object, ...]] = {
    "rope_scaling": (None,),
    "scale_attn_weights": (None, True),
    "scale_attn_by_inverse_layer_idx": (None, False),
    "reorder_and_upcast_attn": (None, False),
    "add_cross_attention": (None, False),
    "pretraining_tp": (None, 1),
    "sliding_window": (None,),
}
"""Fields that change the arithmetic, and the values under which they do not."""


@dataclass(frozen=True, slots=True)
class HfShape:
    """A model's dimensions and choices. `rotary_dim` 0: learnt positions (gpt2).

    `parallel`: attention and feed-forward read the same input. `tied`: the head is the table."""

    model_type: ModelType
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    positions: int
    eps: float
    activation: str
    rotary_dim: int
    theta: float
    parallel: bool
    tied: bool


def read_shape(config: Mapping[str, object]) -> HfShape:
    """The shape that `config.json` describes. Raises `SourceRefused`."""
    for name, fine in REFUSED.items():
        if config.get(name) not in fine:
            raise SourceRefused(f"config.json {name}: found {config[name]!r}, supported: {fine[-1]!r}")
    kind = config.get("model_type")
    if kind == "llama":
        return llama(LLAMA_DEFAULTS | dict(config))
    if kind == "gpt_neox":
        return gpt_neox(NEOX_DEFAULTS | dict(config))
    if kind == "gpt2":
        return gpt2(GPT2_DEFAULTS | dict(config))
    raise SourceRefused(f"config.json model_type: found {kind!r}, expected gpt2, gpt_neox or llama")


def llama(config: Mapping[str, object]) -> HfShape:
    heads, hidden = count(config, "num_attention_heads"), count(config, "hidden_size")
    head_dim = count(config, "head_dim") if config.get("head_dim") else hidden // heads
    kv_heads = count(config, "num_key_value_heads") if config.get("num_key_value_heads") else heads
    return HfShape(
        "llama", count(config, "num_hidden_layers"), hidden, heads, kv_heads, head_dim, count(config, "vocab_size"),
        count(config, "max_position_embeddings"), number(config, "rms_norm_eps"), activation(config, "hidden_act"),
        head_dim, number(config, "rope_theta"), parallel=False,
        tied=config.get("tie_word_embeddings", False) is True,
    )  # fmt: skip


def gpt_neox(config: Mapping[str, object]) -> HfShape:
    heads, hidden = count(config, "num_attention_heads"), count(config, "hidden_size")
    rotary = int(hidden // heads * number(config, "rotary_pct"))
    return HfShape(
        "gpt_neox", count(config, "num_hidden_layers"), hidden, heads, heads, hidden // heads,
        count(config, "vocab_size"), count(config, "max_position_embeddings"), number(config, "layer_norm_eps"),
        activation(config, "hidden_act"), rotary, number(config, "rotary_emb_base"),
        parallel=config.get("use_parallel_residual", True) is True,
        tied=config.get("tie_word_embeddings", False) is True,
    )  # fmt: skip


def gpt2(config: Mapping[str, object]) -> HfShape:
    heads, hidden = count(config, "n_head"), count(config, "n_embd")
    return HfShape(
        "gpt2", count(config, "n_layer"), hidden, heads, heads, hidden // heads, count(config, "vocab_size"),
        count(config, "n_positions"), number(config, "layer_norm_epsilon"), activation(config, "activation_function"),
        0, 1.0, parallel=False, tied=config.get("tie_word_embeddings", True) is True,
    )  # fmt: skip


def count(config: Mapping[str, object], field: str) -> int:
    value = config.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**24:
        raise SourceRefused(f"config.json {field}: found {value!r}, expected a positive integer")
    return value


def number(config: Mapping[str, object], field: str) -> float:
    value = config.get(field)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e12:
        raise SourceRefused(f"config.json {field}: found {value!r}, expected a positive number")
    return float(value)


def activation(config: Mapping[str, object], field: str) -> str:
    value = config.get(field)
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise SourceRefused(f"config.json {field}: found {value!r}, expected " + " or ".join(ACTIVATIONS))
    return ACTIVATIONS[value]
