"""One token out of one row of logits, bit-equal in Python and JavaScript for equal logits (docs/sampling.md).

Floats are compared, subtracted, multiplied and divided once each, in the order that the page names; from there on all
is integers: weights at scale 2^32, sums, the draw. Chance is Philox4x32-10, a counter-based generator (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011): a step's draw depends on the seed and the step alone.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tokenling.runtime.errors import LaneFailed
from tokenling.runtime.exp2_table import EXP2_TABLE
from tokenling.runtime.plan import Sampling

Logits: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]
Integers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

WEIGHT_ONE = 2**32
"""The weight of the greatest logit."""
LOG2E_Q30 = 1_549_082_005
"""log2(e) * 2^30 to the nearest integer: nats to octaves. With d <= 2^21 the product stays below 2^53."""
D_MAX = 2**21
"""32 nats in units of 1/65536: beyond it a weight is 0 anyway (32 nats are 46 octaves, the scale holds 32)."""
NEAR_TIE_LOGIT = 1e-3
"""The logit change that a near tie allows for: 100 times the distance measured between native and web runs."""

_TABLE: Integers = np.asarray(EXP2_TABLE, dtype=np.int64)
_MASK32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Draw:
    """The chosen token; `near_tie` when a logit change of `NEAR_TIE_LOGIT` could have chosen its neighbour."""

    token: int
    near_tie: bool


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Ten rounds of Philox on four 32-bit counter words with a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        left, right = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (right >> 32) ^ c1 ^ k0, right & _MASK32, (left >> 32) ^ c3 ^ k1, left & _MASK32
        k0, k1 = (k0 + 0x9E3779B9) & _MASK32, (k1 + 0xBB67AE85) & _MASK32
    return c0, c1, c2, c3


def draw64(seed: int, step: int) -> int:
    """The step's 64-bit draw: Philox's first output word is the high half, its second the low half."""
    high, low, _, _ = philox4x32((step, 0, 0, 0), (seed & _MASK32, seed >> 32))
    return high << 32 | low


def weights_of(logits: Logits, greatest: float, temperature_milli: int) -> Integers:
    """The integer weight of each logit against the greatest one, which weighs 2^32."""
    distance = (greatest - logits.astype(np.float64)) * 65536.0 * 1000.0 / temperature_milli
    d = np.minimum(distance, D_MAX).astype(np.int64)  # the cast floors: distances are never negative
    x = (d * LOG2E_Q30 + 2**35) >> 36  # octaves in units of 1/1024, rounded half up
    weights: Integers = _TABLE[x & 1023] >> (x >> 10)
    return weights


def top_ids(logits: Logits, top_k: int) -> Integers:
    """The ids of the `top_k` greatest logits (0 for all), greatest first, ties by the lower id."""
    size = logits.shape[0]
    if not 0 < top_k < size:
        return np.argsort(-logits, kind="stable")
    threshold = np.partition(logits, size - top_k)[size - top_k]
    level = np.flatnonzero(logits >= threshold)  # all of the top, and perhaps more that equal its last
    return level[np.argsort(-logits[level], kind="stable")][:top_k]


def choose(logits: Logits, sampling: Sampling, step: int) -> Draw:
    """The token of this step. Illegal ids hold -inf. Raises `LaneFailed` when the greatest logit is not finite."""
    best = int(logits.argmax())  # the first of equals; a NaN wins, so it is seen here
    greatest = float(logits[best])
    if not math.isfinite(greatest):
        raise LaneFailed("logits_not_finite", "logits", greatest, "a finite greatest logit")
    if sampling.temperature_milli == 0:
        others = (logits[:best], logits[best + 1 :])
        runner_up = max((float(part.max()) for part in others if part.size), default=-math.inf)
        return Draw(best, greatest - runner_up <= 2 * NEAR_TIE_LOGIT)
    ids = top_ids(logits, sampling.top_k)
    sums = weights_of(logits[ids], greatest, sampling.temperature_milli).cumsum()
    total = int(sums[kept(sums, sampling.top_p_milli) - 1])
    draw = draw64(sampling.seed, step)
    at = picked(sums, (draw * total) >> 64)
    edges = (int(sums[at - 1]) if at else 0, int(sums[at]))
    return Draw(int(ids[at]), _is_near(edges, total, draw, sampling.temperature_milli))


def kept(sums: Integers, top_p_milli: int) -> int:
    """How many of the sorted tokens top-p keeps: the fewest whose sum reaches its share of the whole, at least one."""
    if top_p_milli >= 1000:
        return sums.shape[0]
    wanted = int(sums[-1]) * top_p_milli
    return max(1, int((sums * 1000).searchsorted(wanted, side="left")) + 1)


def picked(sums: Integers, mark: int) -> int:
    """The first token whose running sum is greater than `mark`: never one of weight 0."""
    return int(sums.searchsorted(mark, side="right"))


def _is_near(edges: tuple[int, int], total: int, draw: int, temperature_milli: int) -> bool:
    """Whether an edge q of the chosen interval could cross the draw: a change c of logits moves q by 2c/T q(1-q)."""
    at = draw / 2**64
    reach = 2 * NEAR_TIE_LOGIT * 1000 / temperature_milli
    low, high = edges[0] / total, edges[1] / total
    return at - low < reach * low * (1 - low) or high - at <= reach * high * (1 - high)


def could_choose(logits: Logits, sampling: Sampling, step: int, token: int) -> bool:
    """Whether some logits within `NEAR_TIE_LOGIT` of these would have chosen `token`: an outer bound, in floats.

    Tokens within twice that distance may change places and may enter or leave top-k and top-p.
    """
    values = logits.astype(np.float64)
    own, change = float(values[token]), NEAR_TIE_LOGIT
    if not math.isfinite(own):
        return False
    if sampling.temperature_milli == 0:
        return float(values.max()) - own <= 2 * change
    surely = int((values > own + 2 * change).sum())
    if 0 < sampling.top_k <= surely:
        return False
    return _interval_holds(values, own, sampling, draw64(sampling.seed, step) / 2**64)


def _interval_holds(values: np.ndarray[tuple[int], np.dtype[np.float64]], own: float, s: Sampling, at: float) -> bool:
    """Whether the widest interval that a token at `own` could get holds the draw `at`."""
    change, scale = NEAR_TIE_LOGIT, 1000 / s.temperature_milli
    ordered = -np.sort(-values)[: s.top_k or None]
    mass = np.exp((ordered - ordered[0]) * scale)
    up, down = math.exp(change * scale), math.exp(-change * scale)
    share = s.top_p_milli / 1000
    sums = mass.cumsum()
    fewest = max(1, int(sums.searchsorted(sums[-1] * share * down * down)) + 1)
    most = min(mass.shape[0], int(sums.searchsorted(sums[-1] * share * up * up)) + 1) if share < 1 else mass.shape[0]
    own_mass = math.exp((own - float(ordered[0])) * scale)
    before = float(mass[ordered > own + 2 * change].sum())
    maybe = float(mass[ordered >= own - 2 * change].sum())
    if before >= float(sums[most - 1]) * up * up:
        return False
    low = before * down / (float(sums[most - 1]) * up)
    high = max(maybe, before + own_mass) * up / (float(sums[min(fewest, most) - 1]) * down)
    return low <= at <= high
