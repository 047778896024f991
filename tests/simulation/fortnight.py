# ruff: noqa: T201 - it prints its report
"""A fortnight with a real brain at normal chatter, run in one go: `python -m tests.simulation.fortnight --brain DIR`.

The owner comes in the morning and in the evening. Prints what happened, and what should not have; exits with 1 then.
"""

import argparse
import sys
import time
from itertools import groupby
from pathlib import Path

from tokenling.cli.brain_files import shipped_brain_dir
from tools.simulate_life.figures import FLOOR, TOP, figures_of
from tools.simulate_life.life import METERS, Life, simulate
from tools.simulate_life.owners import MORNING_AND_EVENING, Owner
from tools.simulate_life.words import Writer, brain_writer

DAYS = 14
IDLE_WITH_DEED_MIN = 60
"""Percent of the idle turns that carry an action."""
ASLEEP_BY_NIGHT_MIN = 90
"""Percent of the half hours from 23:00 to 5:00."""
ASLEEP_BY_DAY_MAX = 20
"""Percent of the half hours from 8:00 to 20:00: naps are welcome."""
STUCK_LOOKS_MAX = 24
"""Half hours in a row that a meter may stand at an end: half a day. A sleeper is rested sooner or later."""
SEED = "fern"


def owner_of(days: int) -> Owner:
    """Morning and evening, every day."""
    return Owner("fortnight", "a visit in the morning and one in the evening", (MORNING_AND_EVENING,) * days)


def live(writer: Writer, days: int, seed: str = SEED) -> Life:
    """The life of one pet over some days."""
    return simulate(owner_of(days), seed, writer)


def faults(life: Life) -> list[str]:
    """What a life of some days should not have shown."""
    found, days = figures_of([life]), len(life.owner.days)
    dates = [page.text("date") for page in life.last.all("diary")]
    wrong = {
        f"{len(dates)} diary pages in {days} days": not days - 1 <= len(dates) <= days + 1,
        f"{len(dates) - len(set(dates))} dates have two pages": len(dates) != len(set(dates)),
        f"asleep {found.asleep_by_night} % of the nights": found.asleep_by_night < ASLEEP_BY_NIGHT_MIN,
        f"asleep {found.asleep_by_day} % of the days": found.asleep_by_day > ASLEEP_BY_DAY_MAX,
        f"{found.idle_with_deed} % of the idle turns carry an action": found.idle_with_deed < IDLE_WITH_DEED_MIN,
        "no idle turn at all": not any(turn.kind == "idle" for turn in life.turns),
    }
    stuck = [f"{meter} stood at an end for {longest_at_an_end(life, meter) / 2} hours" for meter in METERS
             if longest_at_an_end(life, meter) > STUCK_LOOKS_MAX]  # fmt: skip
    return [text for text, is_wrong in wrong.items() if is_wrong] + stuck


def longest_at_an_end(life: Life, meter: str) -> int:
    """The most looks in a row at which a meter stood at its floor or its top."""
    ends = groupby(not FLOOR < look.meters[meter] < TOP for look in life.looks)
    return max((len(list(run)) for at_an_end, run in ends if at_an_end), default=0)


def report(life: Life) -> str:
    """The life in a few lines."""
    found = figures_of([life])
    kinds = {kind: sum(turn.kind == kind for turn in life.turns) for kind in ("reactive", "idle", "diary")}
    meters = ", ".join(f"{name} {low}-{mid}-{high}" for name, (low, mid, high) in found.meters.items())
    return "\n".join([
        f"{len(life.turns)} turns in {len(life.owner.days)} days: {kinds}",
        f"diary pages: {len(life.last.all('diary'))}; memories: {len(life.last.all('memories'))}",
        f"asleep: {found.asleep_by_night} % of the nights, {found.asleep_by_day} % of the days",
        f"idle turns with an action: {found.idle_with_deed} %; asks a day: {found.asks_a_day:.1f}",
        f"meters in percent (5th percentile, median, 95th): {meters}",
    ])  # fmt: skip


def main() -> None:
    """Live the fortnight and judge it."""
    parser = argparse.ArgumentParser(description="A fortnight with a real brain.")
    parser.add_argument("--brain", type=Path, default=shipped_brain_dir())
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--seed", default=SEED)
    chosen = parser.parse_args()
    began = time.monotonic()
    life = live(brain_writer(chosen.brain), chosen.days, chosen.seed)
    print(f"{report(life)}\n{time.monotonic() - began:.0f} s")
    wrong = faults(life)
    print("\n".join(wrong) or "nothing amiss")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
