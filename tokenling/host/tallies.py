"""What the host has answered and thought so far: numbers only, for the metrics page."""

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass

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


TURN_BUCKETS_S = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0)
"""From what an owner does not notice up to twice the quarter of an hour in which the liveliest pets have a turn."""


class TurnTallies:
    """Counters that only grow: how long after they were due turns were committed, by kind; and how others ended."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.in_bucket: dict[str, list[int]] = {}
        """By kind: how many took up to each of `TURN_BUCKETS_S`, and in the last place how many took longer."""
        self.failed = 0
        self.cancelled = 0

    def committed(self, kind: str, after_s: float) -> None:
        self.seconds[kind] += after_s
        held = self.in_bucket.setdefault(kind, [0] * (len(TURN_BUCKETS_S) + 1))
        held[bisect_left(TURN_BUCKETS_S, after_s)] += 1


@dataclass(frozen=True, slots=True)
class Life:
    """How the pets' own lives go now: `due` wait to be lived, `scheduled` know when they will be due, `in_memory` have
    their save here."""

    turns: TurnTallies
    due: int
    scheduled: int
    in_memory: int
    brain_restarts: int = 0
    """How often the brain's own process was started again; 0 for ever where it has none."""
    brain_pid: int | None = None
    """That process, while one is up."""
