"""Whether a series of samples is flat: the median of all slopes, which no single jump can move (Theil and Sen)."""

import itertools
import statistics
from collections.abc import Sequence

POINTS_MAX = 200
"""Of a long series this many means are taken: 19,900 pairs."""


def grown(values: Sequence[float]) -> float:
    """By how much an evenly sampled series has grown from its beginning to its end, by its typical slope.

    Worked example: (10, 11, 12, 13, 40) has the slopes 1 1 1 30, 1 1 10, 1 9.67, 27 and others; their median is 1,
    so it has grown by 4.
    """
    points = means_of(values)
    slopes = [
        (later - earlier) / (at_later - at_earlier)
        for (at_earlier, earlier), (at_later, later) in itertools.combinations(enumerate(points), 2)
    ]
    return statistics.median(slopes) * (len(points) - 1) if slopes else 0.0


def means_of(values: Sequence[float], most: int = POINTS_MAX) -> list[float]:
    """The series, thinned to at most so many means of neighbours."""
    width = -(-len(values) // most) or 1
    return [statistics.fmean(values[at : at + width]) for at in range(0, len(values), width)]
