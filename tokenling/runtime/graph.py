"""The graph contract: what a with-past graph takes and gives, checked on names, types and shapes before it runs.

    input_ids          (1, sequence)                   int32 | int64, required
    attention_mask     (1, past + sequence)            int32 | int64
    position_ids       (1, sequence)                   int32 | int64
    token_type_ids     (1, sequence)                   int32 | int64
    cache_position     (sequence,) | (1, sequence)     int32 | int64
    past_key_values.N.key|value     (1, kv_heads, past, head_dim)             float16 | float32 | float64
    logits                          (1, sequence | 1, vocabulary)             float32
    present[_key_values].N.key|value    (1, kv_heads, past + sequence, head_dim)    as the past

Nothing else may go in or come out. A symbolic batch axis is bound to 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tokenling.runtime.config import ModelConfig
from tokenling.runtime.errors import BrainRefused, quote

Axis: TypeAlias = int | str | None
"""A fixed size, or a symbolic one."""

INTEGERS = {"tensor(int32)": "int32", "tensor(int64)": "int64"}
FLOATS = {"tensor(float16)": "float16", "tensor(float)": "float32", "tensor(double)": "float64"}
TOKEN_INPUTS: dict[str, tuple[int, ...]] = {
    "input_ids": (2,),
    "attention_mask": (2,),
    "position_ids": (2,),
    "token_type_ids": (2,),
    "cache_position": (1, 2),
}
"""The integer inputs and the ranks each may have."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A graph's input or output as ONNX Runtime names it."""

    name: str
    type: str
    shape: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class TokenInput:
    """An integer input that the graph has: its element type and rank."""

    name: str
    element: str
    rank: int


@dataclass(frozen=True, slots=True)
class CachePair:
    """One past input and the present output that grows from it."""

    past: str
    present: str
    element: str


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """What a lane binds: the integer inputs, and the caches layer by layer, key before value."""

    inputs: tuple[TokenInput, ...]
    caches: tuple[CachePair, ...]
    kv_heads: int
    head_dim: int
    vocabulary: int


def check_graph(inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo], config: ModelConfig) -> GraphLayout:
    """The layout of a graph that keeps the contract. Raises `BrainRefused` naming the tensor."""
    ins, outs = {info.name: info for info in inputs}, {info.name: info for info in outputs}
    if "input_ids" not in ins:
        raise BrainRefused("input_missing", "input_ids", "no such input", "an input of rank 2, int32 or int64")
    integer_inputs = tuple(_token_input(ins[name]) for name in TOKEN_INPUTS if name in ins)
    _check_logits(outs.get("logits"), config.vocabulary)
    caches = tuple(_cache_pair(ins, outs, name, config) for name in _cache_names(config.layers))
    _check_nothing_else("input", ins, {*TOKEN_INPUTS, *(pair.past for pair in caches)})
    _check_nothing_else("output", outs, {"logits", *(pair.present for pair in caches)})
    return GraphLayout(integer_inputs, caches, config.kv_heads, config.head_dim, config.vocabulary)


def _cache_names(layers: int) -> Iterator[str]:
    return (f"{layer}.{kind}" for layer in range(layers) for kind in ("key", "value"))


def _token_input(info: TensorInfo) -> TokenInput:
    """An integer input with dynamic sequence axis."""
    if info.type not in INTEGERS:
        raise BrainRefused("input_type", info.name, info.type, "tensor(int32) or tensor(int64)")
    ranks = TOKEN_INPUTS[info.name]
    if len(info.shape) not in ranks:
        raise BrainRefused("input_rank", info.name, info.shape, "rank " + " or ".join(map(str, ranks)))
    if isinstance(info.shape[-1], int):
        raise BrainRefused("input_sequence", info.name, info.shape, "a dynamic last axis")
    if len(info.shape) == 2:
        _check_batch(info)
    return TokenInput(info.name, INTEGERS[info.type], len(info.shape))


def _check_batch(info: TensorInfo) -> None:
    if isinstance(info.shape[0], int) and info.shape[0] != 1:
        raise BrainRefused("batch_fixed", info.name, info.shape, "a first axis of 1 or a symbolic one")


def _check_logits(info: TensorInfo | None, vocabulary: int) -> None:
    if info is None:
        raise BrainRefused("output_missing", "logits", "no such output", "an output of rank 3, float32")
    if info.type != "tensor(float)":
        raise BrainRefused("logits_type", "logits", info.type, "tensor(float)")
    if len(info.shape) != 3:
        raise BrainRefused("logits_rank", "logits", info.shape, "rank 3: (1, sequence, vocabulary)")
    _check_batch(info)
    if isinstance(info.shape[1], int) and info.shape[1] != 1:
        raise BrainRefused(
            "logits_sequence", "logits", info.shape, "a dynamic middle axis, or 1 for the last token only"
        )
    if isinstance(info.shape[2], int) and info.shape[2] != vocabulary:
        raise BrainRefused("logits_vocabulary", "logits", info.shape, f"a last axis of vocab_size {vocabulary}")


def _cache_pair(ins: Mapping[str, TensorInfo], outs: Mapping[str, TensorInfo], name: str, c: ModelConfig) -> CachePair:
    """The past `name` and its one present."""
    past = ins.get(f"past_key_values.{name}")
    if past is None:
        raise BrainRefused("cache_missing", f"past_key_values.{name}", "no such input", f"{c.layers} layers of caches")
    presents = [outs[full] for full in (f"present.{name}", f"present_key_values.{name}") if full in outs]
    if len(presents) != 1:
        found = "both present and present_key_values" if presents else "no such output"
        raise BrainRefused("cache_unmatched", f"present.{name}", found, "exactly one present output for each past")
    for info in (past, presents[0]):
        _check_cache(info, c)
    if past.type != presents[0].type:
        raise BrainRefused("cache_type_changed", presents[0].name, presents[0].type, f"{past.type}, as its past")
    return CachePair(past.name, presents[0].name, FLOATS[past.type])


def _check_cache(info: TensorInfo, config: ModelConfig) -> None:
    """Rank four, heads and width fixed, one dynamic axis between them."""
    expected = f"(1, {config.kv_heads}, a dynamic sequence axis, {config.head_dim})"
    if info.type not in FLOATS:
        raise BrainRefused("cache_type", info.name, info.type, "float16, float32 or float64")
    if len(info.shape) != 4:
        raise BrainRefused("cache_rank", info.name, info.shape, expected)
    _check_batch(info)
    if not isinstance(info.shape[1], int) or not isinstance(info.shape[3], int):
        raise BrainRefused("cache_axes_dynamic", info.name, info.shape, expected)
    if isinstance(info.shape[2], int):
        raise BrainRefused("cache_sequence", info.name, info.shape, expected)
    if (info.shape[1], info.shape[3]) != (config.kv_heads, config.head_dim):
        raise BrainRefused("cache_shape", info.name, info.shape, expected)


def _check_nothing_else(kind: str, found: Mapping[str, TensorInfo], known: set[str]) -> None:
    others = sorted(set(found) - known)
    if others:
        raise BrainRefused(
            f"{kind}_unknown", others[0], f"an {kind} of shape {quote(found[others[0]].shape)}", "no such tensor"
        )
