"""Simulated lives in numbers: how often the pet asks, how its meters do, what a weekend does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tools.simulate_life.life import METERS, Life, Look
from tools.simulate_life.owners import DAY_MINUTES, START_MINUTE, START_MS

FLOOR = 40_000
TOP = 1_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one owner's simulated pets. Shares in percent, meters in percent (5th percentile, median, 95th)."""

    owner: str
    pets: int
    asks_a_day: float
    asks_most: int
    meters: dict[str, tuple[int, int, int]]
    at_an_end_percent: int
    asleep_by_night: int
    asleep_by_day: int
    lines_a_day: float
    pages: tuple[int, int]
    idle_with_deed: int


def local_minute(at_ms: int) -> int:
    """Minutes since local midnight of the first day; no shift of clocks lies in these weeks."""
    return (at_ms - START_MS) // 60_000 + START_MINUTE


def figures_of(lives: Sequence[Life], *, days: Iterable[int] | None = None) -> Figures:
    """What lives of one owner showed, on the given days (from 0) or on all."""
    owner = lives[0].owner
    chosen = frozenset(range(len(owner.days)) if days is None else days)
    looks = [look for life in lives for look in life.looks if _day(look.at_ms) in chosen]
    asks = [sum(_day(at) == day for at, _ in life.wants) for life in lives for day in sorted(chosen)]
    turns = [turn for life in lives for turn in life.turns if _day(turn.at_ms) in chosen]
    idle = [turn for turn in turns if turn.kind == "idle"]
    pages = [sum(turn.kind == "diary" and turn.spoke for turn in life.turns) for life in lives]
    spoken = sum(turn.spoke and turn.kind != "diary" for turn in turns)
    return Figures(
        owner=owner.name,
        pets=len(lives),
        asks_a_day=sum(asks) / len(asks),
        asks_most=max(asks),
        meters={name: _spread([look.meters[name] for look in looks]) for name in METERS},
        at_an_end_percent=_percent(any(not FLOOR < held < TOP for held in look.meters.values()) for look in looks),
        asleep_by_night=_percent(look.asleep for look in looks if _hour(look.at_ms) in {23, 0, 1, 2, 3, 4}),
        asleep_by_day=_percent(look.asleep for look in looks if 8 <= _hour(look.at_ms) < 20),
        lines_a_day=spoken / len(asks),
        pages=(min(pages), max(pages)),
        idle_with_deed=_percent(turn.deed for turn in idle),
    )


def look_at(life: Life, day: int, minute: int) -> Look:
    """The last look before a local time."""
    at_ms = START_MS + (day * DAY_MINUTES + minute - START_MINUTE) * 60_000
    return [look for look in life.looks if look.at_ms < at_ms][-1]


def means_at(lives: Sequence[Life], day: int, minute: int) -> dict[str, int]:
    """Each meter in percent just before a local time, its mean over the lives."""
    looks = [look_at(life, day, minute) for life in lives]
    return {name: round(sum(look.meters[name] for look in looks) / len(looks) / 10_000) for name in METERS}


def _day(at_ms: int) -> int:
    return local_minute(at_ms) // DAY_MINUTES


def _hour(at_ms: int) -> int:
    return local_minute(at_ms) % DAY_MINUTES // 60


def _percent(held: Iterable[bool]) -> int:
    all_held = list(held)
    return round(100 * sum(all_held) / len(all_held)) if all_held else 0


def _spread(values: list[int]) -> tuple[int, int, int]:
    ordered = sorted(values)
    low, middle, high = (ordered[(len(ordered) - 1) * percent // 100] for percent in (5, 50, 95))
    return round(low / 10_000), round(middle / 10_000), round(high / 10_000)
