"""The architectures that run here: each a row of `ARCHITECTURES`, with a small function where its file says more.

A row says how the parts of a block are made; whether a block has biases shows in its tensors. Sources: the model
definitions of Transformers and the GGUF conversions of llama.cpp, which decide layouts (queries and keys of `llama` and
`granite` are stored for interleaved rotary pairs, all others in halves; Gemma's gains are stored with their 1 added).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.hyperparameters import Hyperparameters, Keys
from tokenling.gguf.rope import Rope

Norm: TypeAlias = Literal["rms", "layer"]
Rotary: TypeAlias = Literal["interleaved", "halves", "none"]
Activation: TypeAlias = Literal["silu", "gelu", "gelu_tanh"]

GEMMA_PERIOD = 6
"""Every sixth layer of Gemma 3 attends to all positions."""
GEMMA_27B_LAYERS = 62
"""The one Gemma 3 whose attention is not scaled by its heads' width."""


@dataclass(frozen=True, slots=True)
class Scales:
    """Constant factors; 1 leaves out the operator."""

    embedding: float = 1.0
    residual: float = 1.0
    logits: float = 1.0
    attention: float = 0.0
    """Of queries times keys; 0 for one over the root of the heads' width."""


@dataclass(frozen=True, slots=True)
class Local:
    """Sliding-window layers: every layer but each `period`-th sees `window` positions only, with a rope of its own."""

    window: int
    period: int
    rope: Rope | None = None

    def holds(self, layer: int) -> bool:
        """Whether the layer is a local one."""
        return self.period == 0 or (layer + 1) % self.period != 0


@dataclass(frozen=True, slots=True)
class Architecture:
    """One row: what the graph builder does for every layer alike."""

    norm: Norm
    rotary: Rotary
    activation: Activation
    gated: bool = True
    parallel: bool = False
    """Attention and feed-forward read the same stream."""
    query_key_norm: bool = False
    post_norm: bool = False
    """Attention and feed-forward are normed once more before they join the stream."""
    scales: Scales = field(default_factory=Scales)
    local: Local | None = None


Refine: TypeAlias = Callable[[Architecture, Keys, Hyperparameters], Architecture]


def _as_it_is(row: Architecture, _keys: Keys, _h: Hyperparameters) -> Architecture:
    return row


def _gemma3(row: Architecture, keys: Keys, h: Hyperparameters) -> Architecture:
    """Scaled embeddings; local layers with a base of their own and no scaling."""
    attention = 1 / math.sqrt(h.hidden / h.heads) if h.layers == GEMMA_27B_LAYERS else 0.0
    period = keys.integer("attention.sliding_window_pattern", GEMMA_PERIOD)
    local = Local(keys.integer("attention.sliding_window", most=2**31 - 1), period,
                  Rope(keys.positive("rope.freq_base_swa", 10_000.0)))  # fmt: skip
    return replace(row, scales=Scales(embedding=math.sqrt(h.hidden), attention=attention), local=local)


def _granite(row: Architecture, keys: Keys, _h: Hyperparameters) -> Architecture:
    """Four factors; logits are divided by theirs."""
    scales = Scales(
        embedding=keys.positive("embedding_scale", 1.0),
        residual=keys.positive("residual_scale", 1.0),
        logits=1 / keys.positive("logit_scale", 1.0),
        attention=keys.positive("attention.scale") if keys.has("attention.scale") else 0.0,
    )
    return replace(row, scales=scales)


def _phi3(row: Architecture, keys: Keys, _h: Hyperparameters) -> Architecture:
    """A window over every layer, in some of the family."""
    window = keys.integer("attention.sliding_window", 0, least=0, most=2**31 - 1)
    return replace(row, local=Local(window, 0)) if window else row


def _parallel(row: Architecture, keys: Keys, _h: Hyperparameters) -> Architecture:
    """GPT-NeoX says it in a key."""
    return replace(row, parallel=keys.flag("use_parallel_residual", True))


def _stablelm(row: Architecture, keys: Keys, _h: Hyperparameters) -> Architecture:
    """The key tells what `ffn_norm` tells too; without that tensor the feed-forward reads attention's norm."""
    return replace(row, parallel=keys.flag("use_parallel_residual", False))


_LLAMA = Architecture(norm="rms", rotary="interleaved", activation="silu")
_QWEN = Architecture(norm="rms", rotary="halves", activation="silu")
ARCHITECTURES: Mapping[str, tuple[Architecture, Refine]] = {
    "llama": (_LLAMA, _as_it_is),
    "granite": (_LLAMA, _granite),
    "qwen2": (_QWEN, _as_it_is),
    "qwen3": (replace(_QWEN, query_key_norm=True), _as_it_is),
    "phi3": (_QWEN, _phi3),
    "gemma3": (replace(_QWEN, activation="gelu_tanh", query_key_norm=True, post_norm=True), _gemma3),
    "stablelm": (Architecture("layer", "halves", "silu", query_key_norm=True), _stablelm),
    "gpt2": (Architecture("layer", "none", "gelu_tanh", gated=False), _as_it_is),
    "gptneox": (Architecture("layer", "halves", "gelu", gated=False, parallel=True), _parallel),
}
"""By `general.architecture`. A further one is a row here, and a function above if its file says more."""


def read_architecture(keys: Keys, h: Hyperparameters) -> Architecture:
    """The row of a file, refined by its keys. Raises `GgufUnsupported` for an architecture that does not run here."""
    check_architecture(h.architecture)
    row, refine = ARCHITECTURES[h.architecture]
    return refine(row, keys, h)


def check_architecture(name: str) -> None:
    """Refuse an architecture by its name."""
    if name not in ARCHITECTURES:
        raise GgufUnsupported("architecture", "general.architecture", name, "one of " + ", ".join(ARCHITECTURES))
