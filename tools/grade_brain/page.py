"""The report card as a page: one table of all rows, the plots, the conversations as they came out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.grade_brain.flips import FLIPS
from tools.grade_brain.tally import Figure

Rows = Mapping[str, Mapping[str, Figure]]
TARGETS: Mapping[str, str] = {
    "fitting actions": "≥ 90",
    "right lookups": "≥ 90",
    "false lookups": "≤ 3",
    "reply matching": "≥ 70",
    "distinct-2": "≥ 0.5",
    "verbatim replies": "≤ 30",
    "empty replies": "0",
    "legal tags": "≥ 97 unmasked",
    **dict.fromkeys(FLIPS, "≥ 50"),
}
"""What the shipped q4 is asked to reach."""
HEAD = """# Report card

*For brain makers and owners who want to know how good the shipped brain is, and where it is not.*

Made whole by the command below it; the conversations are unedited, whatever they hold. What each line of the table
means stands in `tools/grade_brain/`: `marks.py` (which action, which lookup), `flips.py` (counterfactuals: the share
of matching replies when the fact holds minus the share when it does not, in points), `likelihood.py` (perplexity, and
reply matching: how often the writer's reply is likelier behind its own owner line than behind each of 19 others) and
`speech.py` (variety, borrowing, manners). Questions are held out by owner and by phrase: no training owner says these
lines. A full row asks 2,000 held-out states (some 1,400 of them owners' lines), twelve facts of 60 pets, both ways, and
500 lines to be matched; a row marked quick asks 300, 20 and 40. Without the mask a lookup gets no answer.
"""


def page_of(rows: Rows, command: str, brain: str, facts: Sequence[str], talks: Sequence[Sequence[str]]) -> str:
    """The Markdown of the page."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [HEAD, f"```sh\n{command}\n```\n", f"## {brain}\n", *(f"- {fact}" for fact in facts), ""]
    lines += ["| | target | " + " | ".join(rows) + " |", "|---" * (len(rows) + 2) + "|"]
    for name in names:
        cells = [str(row[name]) if name in row else "" for row in rows.values()]
        lines.append(f"| {name} | {TARGETS.get(name, '')} | " + " | ".join(cells) + " |")
    lines += ["", "![How far each fact moves the replies](images/brain-flips.png)", ""]
    lines += ["![Marks by row](images/brain-marks.png)", ""]
    lines += ["## Twenty conversations", ""]
    lines += ["Owners' lines written by hand before the training; seeds 1 to 20; production sampling; unedited.", ""]
    for number, talk in enumerate(talks, start=1):
        lines += [f"Seed {number}", "", "```text", *talk, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def plot(rows: Rows, folder: Path) -> None:
    """brain-flips.png and brain-marks.png of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = {name: row for name, row in rows.items() if row}
    bars(rows, [name for name in FLIPS if any(name in row for row in rows.values())], 50, folder / "brain-flips.png")
    marks = ("fitting actions", "right lookups", "told words said", "right memories", "legal tags", "reply matching")
    bars(rows, marks, 90, folder / "brain-marks.png")


def bars(rows: Rows, names: Sequence[str], target: float, image: Path) -> None:
    """Horizontal bars by name, one colour a row; the target as a line."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.16 * len(names) * max(1, len(rows)) + 0.2 * len(names)))
    height = 0.8 / max(1, len(rows))
    for number, (row, figures) in enumerate(rows.items()):
        at = [place + number * height for place in range(len(names))]
        axes.barh(at, [figures[name].value if name in figures else 0 for name in names], height, label=row)
    axes.axvline(target, linestyle=":", color="black", linewidth=1)
    axes.set_yticks([place + 0.4 for place in range(len(names))], names, fontsize=7)
    axes.invert_yaxis()
    axes.legend(fontsize=7)
    figure.savefig(image, dpi=90, bbox_inches="tight")
    plt.close(figure)
