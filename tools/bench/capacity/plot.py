"""The windows of some runs as a picture: `python -m tools.bench.capacity.plot REPORTS OUT.png`.

The file holds what `python -m tools.bench.capacity` printed, two reports at least, one behind the other. Needs
matplotlib (the dependency group `bench`). Exits with 2 when there is nothing to draw.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.bench.capacity.profile import INSTALL
from tools.bench.capacity.reports import NoPicture, Point, read

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
    axis.set_xlim(0, 1.1 * axis.dataLim.x1)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="upper left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("windows", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    try:
        draw(read(chosen.windows), chosen.out)
    except NoPicture as none:
        sys.stderr.write(f"{none}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
