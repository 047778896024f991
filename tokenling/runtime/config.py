"""`config.json`, checked: the numbers of a model that its graph and tokenizer must agree with."""

from dataclasses import dataclass

from tokenling.runtime.documents import JsonObject, JsonValue
from tokenling.runtime.errors import BrainRefused

MODEL_TYPES = ("gpt2", "gpt_neox", "llama")
LAYERS_MAX = 512
"""A guess: four times the deepest published model of these types."""
WIDTH_MAX = 65_536
"""Bound on every width and head count. A guess: four times the widest published model of these types."""
VOCABULARY_MAX = 2**20
"""Keeps the integer sums of sampling below 2^63 (2^20 weights of 2^32, times 1000); four times Gemma's."""
POSITIONS_MAX = 2**24
"""A guess: sixteen times the longest published context."""
EOS_IDS_MAX = 64
"""A guess: Llama 3 has three."""

_ALIASES = {
    "layers": ("num_hidden_layers", "n_layer"),
    "heads": ("num_attention_heads", "n_head"),
    "hidden": ("hidden_size", "n_embd"),
    "positions": ("max_position_embeddings", "n_positions"),
}
"""Two exporters' names of one number: either is enough, both must agree."""
_BOUNDS = {"layers": LAYERS_MAX, "heads": WIDTH_MAX, "hidden": WIDTH_MAX, "positions": POSITIONS_MAX}


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What a brain's `config.json` says, consistent in itself."""

    model_type: str
    layers: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    positions_max: int
    eos_ids: tuple[int, ...]


def read_config(document: JsonObject) -> ModelConfig:
    """The checked config. Raises `BrainRefused`, the subject naming the field."""
    model_type = document.get("model_type")
    if not isinstance(model_type, str) or model_type not in MODEL_TYPES:
        raise BrainRefused("model_type_unsupported", "config.json model_type", model_type, " or ".join(MODEL_TYPES))
    numbers = {name: _aliased(document, name) for name in _ALIASES}
    vocabulary = _positive(document, "vocab_size", VOCABULARY_MAX)
    kv_heads, head_dim = _head_shape(document, model_type, numbers["heads"], numbers["hidden"])
    return ModelConfig(
        model_type=model_type,
        layers=numbers["layers"],
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=vocabulary,
        positions_max=numbers["positions"],
        eos_ids=_eos_ids(document.get("eos_token_id"), vocabulary),
    )


def _aliased(document: JsonObject, name: str) -> int:
    """The number that goes by either of two names."""
    given = [alias for alias in _ALIASES[name] if document.get(alias) is not None]
    if not given:
        wanted = " or ".join(_ALIASES[name])
        raise BrainRefused(
            "config_missing", f"config.json {_ALIASES[name][0]}", "nothing", f"{wanted}, a positive integer"
        )
    values = {alias: _positive(document, alias, _BOUNDS[name]) for alias in given}
    if len(set(values.values())) > 1:
        raise BrainRefused("config_conflict", "config.json " + " and ".join(values), values, "the same number")
    return values[given[0]]


def _positive(document: JsonObject, field: str, most: int) -> int:
    value = document.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise BrainRefused("config_range", f"config.json {field}", value, f"an integer from 1 to {most}")
    return value


def _head_shape(document: JsonObject, model_type: str, heads: int, hidden: int) -> tuple[int, int]:
    """KV heads and head width. Only Llama may group its heads or have a width of its own."""
    is_llama = model_type == "llama"
    own_width = document.get("head_dim") is not None
    if not own_width and hidden % heads:
        raise BrainRefused("config_heads", "config.json hidden_size", hidden, f"a multiple of the {heads} heads")
    head_dim = _positive(document, "head_dim", WIDTH_MAX) if own_width else hidden // heads
    if not is_llama and head_dim * heads != hidden:
        raise BrainRefused("config_conflict", "config.json head_dim", head_dim, f"{hidden} / {heads} heads")
    grouped = is_llama and document.get("num_key_value_heads") is not None
    kv_heads = _positive(document, "num_key_value_heads", WIDTH_MAX) if grouped else heads
    if heads % kv_heads:
        raise BrainRefused(
            "config_heads", "config.json num_key_value_heads", kv_heads, f"a divisor of the {heads} heads"
        )
    return kv_heads, head_dim


def _eos_ids(value: JsonValue, vocabulary: int) -> tuple[int, ...]:
    """One end-of-sequence id or a list of them, each within the vocabulary."""
    found = value if isinstance(value, list) else [value]
    ids = tuple(entry for entry in found if isinstance(entry, int) and not isinstance(entry, bool))
    if not 1 <= len(found) <= EOS_IDS_MAX or len(ids) != len(found) or len(set(ids)) != len(ids):
        raise BrainRefused("eos_malformed", "config.json eos_token_id", value, "an integer or a list of different ones")
    outside = [entry for entry in ids if not 0 <= entry < vocabulary]
    if outside:
        raise BrainRefused("eos_range", "config.json eos_token_id", outside[0], f"an id from 0 to {vocabulary - 1}")
    return ids
