"""What the host has answered so far, counted by method, route and status: numbers only, for the metrics page."""

from bisect import bisect_left
from collections import Counter, defaultdict

BUCKETS_S = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0)
"""Upper bounds of the duration histogram: a 304 takes about a millisecond, a long-poll up to 50 s."""


class Tallies:
    """Counters that only grow. Labels come from closed lists (methods, route templates, statuses): they stay few."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, str, int]] = Counter()
        """By method, route template and status; status 0: the client went away first."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.in_bucket: dict[str, list[int]] = {}
        """By route: how many took up to each of `BUCKETS_S`, and in the last place how many took longer."""

    def count(self, method: str, route: str, status: int | None, elapsed_s: float) -> None:
        self.answers[method, route, status or 0] += 1
        self.seconds[route] += elapsed_s
        held = self.in_bucket.setdefault(route, [0] * (len(BUCKETS_S) + 1))
        held[bisect_left(BUCKETS_S, elapsed_s)] += 1
