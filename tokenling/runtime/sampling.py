"""One token out of one row of logits, bit-equal in Python and JavaScript for equal logits (docs/sampling.md).

Floats are compared, subtracted, multiplied and divided once each, in the order that the page names; from there on all
is integers: weights at scale 2^32, sums, the draw. Chance is Philox4x32-10, a counter-based generator (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011): a step's draw depends on the seed and the step alone.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

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

DRAWS_AT_ONCE = 64
"""Steps whose draws are made together: about a turn's, for the price of some twenty made one by one."""
PARTITION_MAX = 4096
"""Up to here one partition finds the top; beyond it, the greatest of each block narrow it down first."""
BLOCKS_PER_TOP = 8
"""Blocks for each wanted token: more make the narrowing sharper, fewer make it cheaper. A guess."""

X_MAX = (D_MAX * LOG2E_Q30 + 2**35) >> 36
"""The octaves of `D_MAX`, in units of 1/1024."""

_OCTAVES = np.arange(X_MAX + 1)
_WEIGHTS: Integers = np.asarray(EXP2_TABLE, dtype=np.int64)[_OCTAVES & 1023] >> (_OCTAVES >> 10)
"""The weight of each `x` that there can be: 370 KB, for three operations fewer a step."""
_MASK32 = 0xFFFF_FFFF
# NumPy converts a Python number at each use, which costs more than the arithmetic on a row of 40: so, once each
_SCALE = np.array(65536.0 * 1000.0)  # by both at once: 65536 is a power of two, so the product rounds the same
_FARTHEST = np.array(float(D_MAX))
_LOG2E, _HALF = np.array(LOG2E_Q30, dtype=np.int64), np.array(2**35, dtype=np.int64)
_TO_STEPS = np.array(36, dtype=np.int64)


class Draw(NamedTuple):
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
    block, place = divmod(step, DRAWS_AT_ONCE)
    return _draws(seed, block)[place]


@lru_cache(maxsize=16)
def _draws(seed: int, block: int) -> tuple[int, ...]:
    """The draws of a block of steps: `philox4x32` over all of them at once."""
    mask, half = np.uint64(_MASK32), np.uint64(32)
    c0 = np.arange(block * DRAWS_AT_ONCE, (block + 1) * DRAWS_AT_ONCE, dtype=np.uint64)
    c1 = c2 = c3 = np.zeros(DRAWS_AT_ONCE, dtype=np.uint64)
    k0, k1 = seed & _MASK32, seed >> 32
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (
            (right >> half) ^ c1 ^ np.uint64(k0),
            right & mask,
            (left >> half) ^ c3 ^ np.uint64(k1),
            left & mask,
        )
        k0, k1 = (k0 + 0x9E3779B9) & _MASK32, (k1 + 0xBB67AE85) & _MASK32
    return tuple((c0 << half | c1).tolist())


def weights_of(logits: Logits, greatest: float, temperature_milli: int) -> Integers:
    """The integer weight of each logit against the greatest one, which weighs 2^32."""
    distance = (np.array(greatest) - logits.astype(np.float64)) * _SCALE / np.array(float(temperature_milli))
    d = np.minimum(distance, _FARTHEST).astype(np.int64)  # the cast floors: distances are never negative
    x = (d * _LOG2E + _HALF) >> _TO_STEPS  # octaves in units of 1/1024, rounded half up
    weights: Integers = _WEIGHTS[x]
    return weights


def top_values(logits: Logits, top_k: int) -> Logits:
    """The `top_k` greatest logits (0 for all), greatest first; a NaN counts as greater than any number."""
    size = logits.shape[0]
    if size > PARTITION_MAX and 0 < top_k * BLOCKS_PER_TOP * 2 <= size and not math.isnan(logits.max()):
        logits = logits[(logits >= _floor_of_top(logits, top_k)).nonzero()[0]]  # all of the top, and perhaps more
        size = logits.shape[0]
    values = logits.copy()
    if 0 < top_k < size:
        values.partition(size - top_k)
        values = values[size - top_k :]
    values.sort()
    return values[::-1]


def _floor_of_top(logits: Logits, top_k: int) -> np.float32:
    """A logit that at least `top_k` reach: of the greatest of each block, the `top_k` greatest are so many of them."""
    blocks = top_k * BLOCKS_PER_TOP
    rows = logits.shape[0] // blocks  # what does not fill a block is left out: a lower floor is a floor too
    maxima = logits[: rows * blocks].reshape(rows, blocks).max(axis=0)
    maxima.partition(blocks - top_k)
    floor: np.float32 = maxima[blocks - top_k]
    return floor


def id_of(logits: Logits, top: Logits, at: int) -> int:
    """The token that stands at `at` when tokens are ordered as `top` is, equals by the lower id."""
    value = top[at]
    equals = (logits == value).nonzero()[0]
    # values alone are sorted, in the half of the time: how many of its equals stand before it tells which it is
    before = int((top[:at] == value).sum()) if at and top[at - 1] == value else 0
    return int(equals[before])


def choose(logits: Logits, sampling: Sampling, step: int) -> Draw:
    """The token of this step. Illegal ids hold -inf. Raises `LaneFailed` when the greatest logit is not finite."""
    if sampling.temperature_milli == 0:
        return _choose_greatest(logits)
    top = top_values(logits, sampling.top_k)
    at, near_tie = _drawn(top, sampling, step)
    return Draw(id_of(logits, top, at), near_tie)


def choose_among(values: Logits, ids: Sequence[int], sampling: Sampling, step: int) -> Draw:
    """The token of this step, as `choose` would have it, out of the greatest legal logits and their ids.

    Greatest first, equals by the lower id, all finite, and at least `top_k` (two, for a greedy choice) where there are.
    """
    if sampling.temperature_milli == 0:
        runner_up = float(values[1]) if len(ids) > 1 else -math.inf
        return Draw(ids[0], float(values[0]) - runner_up <= 2 * NEAR_TIE_LOGIT)
    at, near_tie = _drawn(values[: sampling.top_k] if sampling.top_k else values, sampling, step)
    return Draw(ids[at], near_tie)


def _drawn(top: Logits, sampling: Sampling, step: int) -> tuple[int, bool]:
    """The place that the step's draw picks in the sorted logits, and whether it was near a tie."""
    greatest = _finite(float(top[0]))
    # few numbers are quicker in a list: each one that leaves an array becomes an object on the way
    sums = np.add.accumulate(weights_of(top, greatest, sampling.temperature_milli)).tolist()
    total = sums[kept(sums, sampling.top_p_milli) - 1]
    draw = draw64(sampling.seed, step)
    at = picked(sums, (draw * total) >> 64)
    edges = (sums[at - 1] if at else 0, sums[at])
    return at, _is_near(edges, total, draw, sampling.temperature_milli)


def _choose_greatest(logits: Logits) -> Draw:
    best = int(logits.argmax())  # the first of equals; a NaN wins, so it is seen here
    greatest = _finite(float(logits[best]))
    others = (logits[:best], logits[best + 1 :])
    runner_up = max((float(part.max()) for part in others if part.size), default=-math.inf)
    return Draw(best, greatest - runner_up <= 2 * NEAR_TIE_LOGIT)


def _finite(greatest: float) -> float:
    if not math.isfinite(greatest):
        raise LaneFailed("logits_not_finite", "logits", greatest, "a finite greatest logit")
    return greatest


def kept(sums: Sequence[int], top_p_milli: int) -> int:
    """How many of the sorted tokens top-p keeps: the fewest whose sum reaches its share of the whole, at least one."""
    if top_p_milli >= 1000:
        return len(sums)
    wanted = -(-sums[-1] * top_p_milli // 1000)  # rounded up: a sum times 1000 reaches the product from there on
    return max(1, bisect_left(sums, wanted) + 1)


def picked(sums: Sequence[int], mark: int) -> int:
    """The first token whose running sum is greater than `mark`: never one of weight 0."""
    return bisect_right(sums, mark)


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
