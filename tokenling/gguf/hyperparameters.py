"""A model's numbers, read from its metadata and consistent in themselves."""

import math
from dataclasses import dataclass

from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.metadata import Metadata
from tokenling.gguf.reader import GgufFile
from tokenling.runtime.config import LAYERS_MAX, POSITIONS_MAX, VOCABULARY_MAX, WIDTH_MAX

HEAD_DIM_MULTIPLE = 16
"""GroupQueryAttention's, once it turns positions."""
ROPE_SCALINGS = ("none", "linear", "longrope")
KNOWN_KEYS = frozenset({
    "attention.causal", "attention.head_count", "attention.head_count_kv", "attention.key_length",
    "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.scale", "attention.sliding_window",
    "attention.sliding_window_pattern", "attention.value_length", "block_count", "context_length", "embedding_length",
    "embedding_scale", "expert_count", "expert_used_count", "feed_forward_length", "logit_scale", "residual_scale",
    "rope.dimension_count", "rope.freq_base", "rope.freq_base_swa", "rope.scaling.attn_factor", "rope.scaling.factor",
    "rope.scaling.finetuned", "rope.scaling.original_context_length", "rope.scaling.type", "rope.scale_linear",
    "use_parallel_residual", "vocab_size",
})  # fmt: skip
"""What the keys of an architecture may say. Another one might change what the model computes, so it is refused."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """What every architecture here has. Positions are those of the training, not of a run."""

    architecture: str
    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head_dim: int
    rotary_dim: int
    vocabulary: int
    positions: int
    epsilon: float

    @property
    def query_width(self) -> int:
        """Of all heads together."""
        return self.heads * self.head_dim

    @property
    def cache_width(self) -> int:
        """Of all key heads together, and of all value heads."""
        return self.kv_heads * self.head_dim


class Keys:
    """The metadata under `ARCHITECTURE.`."""

    def __init__(self, architecture: str, metadata: Metadata) -> None:
        self.architecture = architecture
        self._metadata = metadata

    def has(self, name: str) -> bool:
        """Whether the file has this key."""
        return self.full(name) in self._metadata

    def full(self, name: str) -> str:
        """The key as the file spells it."""
        return f"{self.architecture}.{name}"

    def integer(self, name: str, default: int | None = None, *, least: int = 1, most: int = WIDTH_MAX) -> int:
        """A number of things."""
        return self._metadata.integer(self.full(name), default, least=least, most=most)

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        return self._metadata.number(self.full(name), default)

    def positive(self, name: str, default: float | None = None) -> float:
        """A finite number above 0."""
        value = self.number(name, default)
        if value <= 0:
            raise self.refusal(name, value, "a positive number")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A boolean."""
        return self._metadata.flag(self.full(name), default)

    def text(self, name: str, default: str) -> str:
        """A string."""
        return self._metadata.text(self.full(name), default)

    def refusal(self, name: str, found: object, expected: str) -> GgufUnsupported:
        """A refusal that names the key."""
        return GgufUnsupported("hyperparameter", self.full(name), found, expected)

    def check_known(self) -> None:
        """Refuse keys of which this runner knows nothing, and what they may say that does not run here."""
        start = self.architecture + "."
        for key in self._metadata:
            if key.startswith(start) and key.removeprefix(start) not in KNOWN_KEYS:
                raise GgufUnsupported("key_unknown", key, "a key of this name", "a key that is known here")
        if self.has("expert_count") and self.integer("expert_count", least=0):
            raise self.refusal("expert_count", self.integer("expert_count"), "0: mixtures of experts do not run here")
        if not self.flag("attention.causal", True):
            raise self.refusal("attention.causal", "false", "true: only causal attention runs here")


def read_hyperparameters(file: GgufFile) -> tuple[Hyperparameters, Keys]:
    """The checked numbers of a model, and its further keys. Raises `GgufRefused` naming the key."""
    keys = Keys(file.architecture, file.metadata)
    keys.check_known()
    heads = keys.integer("attention.head_count")
    hidden = keys.integer("embedding_length")
    head_dim = _head_dim(keys, hidden, heads)
    found = Hyperparameters(
        architecture=file.architecture,
        layers=keys.integer("block_count", most=LAYERS_MAX),
        hidden=hidden,
        inner=keys.integer("feed_forward_length", most=16 * WIDTH_MAX),
        heads=heads,
        kv_heads=keys.integer("attention.head_count_kv", heads),
        head_dim=head_dim,
        rotary_dim=keys.integer("rope.dimension_count", head_dim),
        vocabulary=_vocabulary(file),
        positions=keys.integer("context_length", most=POSITIONS_MAX),
        epsilon=_epsilon(keys),
    )
    _check_heads(keys, found)
    return found, keys


def _head_dim(keys: Keys, hidden: int, heads: int) -> int:
    if not keys.has("attention.key_length") and hidden % heads:
        raise keys.refusal("embedding_length", hidden, f"a multiple of the {heads} heads")
    found = keys.integer("attention.key_length", hidden // heads)
    values = keys.integer("attention.value_length", found)
    if values != found:
        raise keys.refusal("attention.value_length", values, f"{found}, as the keys'")
    if found % HEAD_DIM_MULTIPLE:
        raise keys.refusal("attention.key_length", found, f"a multiple of {HEAD_DIM_MULTIPLE}")
    return found


def _check_heads(keys: Keys, h: Hyperparameters) -> None:
    if h.heads % h.kv_heads:
        raise keys.refusal("attention.head_count_kv", h.kv_heads, f"a divisor of the {h.heads} heads")
    if h.rotary_dim > h.head_dim or h.rotary_dim % 2:
        expected = f"an even number, at most {h.head_dim}"
        raise keys.refusal("rope.dimension_count", h.rotary_dim, expected)


def _vocabulary(file: GgufFile) -> int:
    """As many as the table of embeddings has rows."""
    table = file.tensors.get("token_embd.weight")
    if table is None or len(table.shape) != 2 or table.shape[0] > VOCABULARY_MAX:
        found = "no such tensor" if table is None else f"{table.shape}"
        raise GgufUnsupported("tensor_shape", "token_embd.weight", found, f"(at most {VOCABULARY_MAX}, hidden)")
    return table.shape[0]


def _epsilon(keys: Keys) -> float:
    name = "attention.layer_norm_rms_epsilon"
    if not keys.has(name):
        name = "attention.layer_norm_epsilon"
    value = keys.positive(name)
    if not math.isfinite(value) or value > 1:
        raise keys.refusal(name, value, "at most 1")
    return value
