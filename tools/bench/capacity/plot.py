"""The windows of some runs as a picture: `python -m tools.bench.capacity.plot WINDOWS.jsonl OUT.png`.

A line of the file is a window's figures as `python -m tools.bench.capacity` prints them, on one line. Needs matplotlib
(the dependency group `bench`).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.capacity.profile import INSTALL

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError:
    sys.stderr.write(f"a picture needs matplotlib: {INSTALL}\n")
    sys.exit(2)

mpl.use("Agg")

COLOURS = {"brain": "#5b3fa0", "loop": "#b4540a", "store": "#00708c"}
"""Dark enough on white for a contrast of 4.5."""
HEADROOM = 1.3
"""What the legend needs above the highest line."""
NAMES = {"brain": "the brain's lanes", "loop": "the event loop: HTTP, dispatch, rules", "store": "the store"}


@dataclass(frozen=True, slots=True)
class Point:
    """One window, by the pets whose traffic it carried."""

    pets: int
    replies_in_time: float
    idle_soon: float
    turns_per_s: float
    asked_per_s: float
    bare_per_s: float
    cores: dict[str, float]
    kept: bool


def read(path: Path) -> list[Point]:
    """The points in a file, fewest pets first."""
    found = []
    for line in path.read_text().splitlines():
        window = json.loads(line)
        found.append(
            Point(
                window["asOf"], window["owners"]["within2s"] or 0.0, window["idleWithin60s"] or 0.0,
                window["turnsPerS"], window["askedPerS"], window["bare"]["turnsPerS"],
                {name: window["cpu"][name] for name in COLOURS}, window["kept"],
            )
        )  # fmt: skip
    return sorted(found, key=lambda point: point.pets)


def draw(points: Sequence[Point], path: Path) -> None:
    """The picture, as PNG: the same bytes from the same windows."""
    picture = Figure(figsize=(9, 8), dpi=85, layout="constrained")
    upper, lower = picture.subplots(2, 1, sharex=True)
    _turns(upper, points)
    _cores(lower, points)
    picture.savefig(path, metadata={"Software": None})


def _turns(axis: Axes, points: Sequence[Point]) -> None:
    pets = [point.pets for point in points]
    axis.plot(pets, [point.asked_per_s for point in points], linestyle="--", color="#777777", label="asked for")
    axis.plot(pets, [point.turns_per_s for point in points], marker="o", color=COLOURS["brain"], label="done")
    bare = [point.bare_per_s for point in points]
    axis.plot(pets, bare, linestyle=":", color="#111111", label="the bare brain on the same lanes")
    for point in points:
        text = f"{point.replies_in_time:.0%} in 2 s"
        axis.annotate(text, (point.pets, point.turns_per_s), (8, -14), textcoords="offset points", ha="center")
    axis.set_ylabel("turns a second")
    _plain(axis)


def _cores(axis: Axes, points: Sequence[Point]) -> None:
    pets = [point.pets for point in points]
    held = [[point.cores[name] for point in points] for name in COLOURS]
    axis.stackplot(pets, *held, labels=list(NAMES.values()), colors=list(COLOURS.values()), alpha=0.85)
    axis.set_ylabel("cores")
    axis.set_xlabel("pets whose traffic was carried")
    _plain(axis)


def _plain(axis: Axes) -> None:
    axis.set_ylim(0, HEADROOM * axis.get_ylim()[1])
    axis.set_xlim(0, 1.06 * axis.dataLim.x1)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="upper left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("windows", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    draw(read(chosen.windows), chosen.out)


if __name__ == "__main__":
    main()
