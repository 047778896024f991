"""A simulated life as a picture: six meters over its days, sleep shaded, visits and wishes marked."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tools.simulate_life.figures import FLOOR, local_minute
from tools.simulate_life.life import METERS, Life
from tools.simulate_life.owners import DAY_MINUTES

mpl.use("Agg")

COLOURS = {
    "fullness": "#b4540a", "energy": "#8a6d00", "mood": "#a3195b", "hygiene": "#00708c", "warmth": "#b3261e",
    "bond": "#5b3fa0",
}  # fmt: skip
"""Dark enough on white for a contrast of 4.5."""
WANT_COLOUR = "#111111"
NIGHT = "#dfe5f0"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def draw(life: Life, path: Path) -> None:
    """The picture of one life, as PNG."""
    picture = Figure(figsize=(10, 8.2), dpi=85, layout="constrained")
    axes = picture.subplots(len(METERS), 1, sharex=True, sharey=True)
    for axis, meter in zip(axes, METERS, strict=True):
        _meter(axis, life, meter)
    _marks(axes[0], life)
    _days(axes[-1], life)
    picture.suptitle(f"{life.owner.name}: {life.owner.about}", fontsize=13, x=0.01, ha="left")
    _legend(picture, axes[0])
    picture.savefig(path, metadata={"Software": None})  # the same bytes from the same lives


def _meter(axis: Axes, life: Life, meter: str) -> None:
    for number, (begin, end) in enumerate(_sleeps(life)):
        axis.axvspan(begin, end, color=NIGHT, linewidth=0, label="asleep" if number == 0 else None)
    days = [_days_since(look.at_ms) for look in life.looks]
    axis.plot(days, [look.meters[meter] / 10_000 for look in life.looks], color=COLOURS[meter], linewidth=1.8)
    axis.axhline(FLOOR / 10_000, color="#999999", linewidth=0.8, linestyle=":")
    axis.set_ylim(0, 104)
    axis.set_yticks([0, 50, 100], ["0", "50", "100 %"])
    pad = 10 if meter == METERS[0] else 3  # above the first panel are the wishes
    axis.set_title(meter, loc="left", fontsize=11, color=COLOURS[meter], fontweight="bold", pad=pad)
    axis.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def _marks(axis: Axes, life: Life) -> None:
    """Visits at the first panel's foot, wishes above it."""
    visits = [_days_since(at_ms) for at_ms in life.visits]
    wants = [_days_since(at_ms) for at_ms, _ in life.wants]
    stroke = {"marker": "|", "markersize": 9, "markeredgewidth": 1.6, "color": "#1b7f3b"}
    axis.plot(visits, [2] * len(visits), linestyle="", label="the owner does something", clip_on=False, **stroke)
    arrow = {"marker": "v", "markersize": 6, "color": WANT_COLOUR}
    axis.plot(wants, [106] * len(wants), linestyle="", label="the pet asks for something", clip_on=False, **arrow)


def _days(axis: Axes, life: Life) -> None:
    count = len(life.owner.days)
    axis.set_xlim(0, count)
    axis.set_xticks([day + 0.5 for day in range(count)], [f"{WEEKDAYS[day % 7]}" for day in range(count)])
    axis.set_xticks(range(count + 1), minor=True)
    axis.tick_params(axis="x", which="major", length=0)
    axis.tick_params(axis="x", which="minor", length=6)


def _legend(picture: Figure, axis: Axes) -> None:
    handles, labels = axis.get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=11)


def _sleeps(life: Life) -> Iterator[tuple[float, float]]:
    """Spans of sleep, in days."""
    began: float | None = None
    for look in life.looks:
        at = _days_since(look.at_ms)
        if look.asleep and began is None:
            began = at
        elif not look.asleep and began is not None:
            yield began, at
            began = None
    if began is not None:
        yield began, _days_since(life.looks[-1].at_ms)


def _days_since(at_ms: int) -> float:
    return local_minute(at_ms) / DAY_MINUTES
