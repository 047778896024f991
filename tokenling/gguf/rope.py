"""Rotary position tables: the base, its scalings, and the factors that Llama 3 and LongRoPE files carry as tensors."""

from dataclasses import dataclass

import numpy as np

from tokenling.gguf.errors import GgufMalformed
from tokenling.gguf.hyperparameters import ROPE_SCALINGS, Hyperparameters, Keys
from tokenling.gguf.quantization import Floats
from tokenling.gguf.weights import Weights

BASE_DEFAULT = 10_000.0
"""Where a file names none, as ggml has it."""


@dataclass(frozen=True, slots=True)
class Rope:
    """How positions turn: `divisor` of every frequency, or one of each as `factors`; `magnitude` of the result."""

    base: float
    divisor: float = 1.0
    factors: Floats | None = None
    magnitude: float = 1.0

    def tables(self, rotary_dim: int, positions: int) -> tuple[Floats, Floats]:
        """Cosines and sines, (positions, rotary_dim / 2); computed in double, kept in single precision."""
        frequencies = self.base ** -(np.arange(0, rotary_dim, 2, dtype=np.float64) / rotary_dim) / self.divisor
        if self.factors is not None:
            frequencies = frequencies / self.factors.astype(np.float64)
        angles = np.outer(np.arange(positions, dtype=np.float64), frequencies)
        cosines: Floats = (np.cos(angles) * self.magnitude).astype(np.float32)
        sines: Floats = (np.sin(angles) * self.magnitude).astype(np.float32)
        return cosines, sines


def read_rope(keys: Keys, weights: Weights, h: Hyperparameters, positions: int) -> Rope:
    """The rope of a run of at most `positions`. Raises `GgufUnsupported` for a scaling that is not run here."""
    base = keys.positive("rope.freq_base", BASE_DEFAULT)
    kind = keys.text("rope.scaling.type", "none")
    if kind not in ROPE_SCALINGS:
        raise keys.refusal("rope.scaling.type", kind, " or ".join(ROPE_SCALINGS))
    divisor = 1.0
    if kind == "linear":
        divisor = keys.positive("rope.scaling.factor", keys.positive("rope.scale_linear", 1.0))
    elif kind == "none" and keys.has("rope.scale_linear"):
        divisor = keys.positive("rope.scale_linear")
    magnitude = keys.positive("rope.scaling.attn_factor", 1.0)
    return Rope(base, divisor, _factors(keys, weights, h, positions), magnitude)


def _factors(keys: Keys, weights: Weights, h: Hyperparameters, positions: int) -> Floats | None:
    """One divisor for each frequency. LongRoPE has two sets: the long one is for contexts beyond the original."""
    found = _factor_tensor(keys, weights, h, positions)
    if found is not None and (found <= 0).any():
        raise GgufMalformed("rope_factors", "rope factors", "a factor of 0 or less", "positive factors")
    return found


def _factor_tensor(keys: Keys, weights: Weights, h: Hyperparameters, positions: int) -> Floats | None:
    half = h.rotary_dim // 2
    if weights.has("rope_factors_long.weight") or weights.has("rope_factors_short.weight"):
        original = keys.integer("rope.scaling.original_context_length", h.positions, most=h.positions)
        return weights.vector(f"rope_factors_{'long' if positions > original else 'short'}.weight", half)
    return weights.may_vector("rope_freqs.weight", half)
