"""The report card of a brain: `python -m tools.grade_brain FOLDER [--quick]` prints it as a table.

FOLDER is a brain directory, or the fp16 source that all three precisions are built of for the occasion. With `--work`
(a training's work folder) the card tells how much is borrowed from the training text; with `--page` it becomes a page
with plots and the twenty conversations.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.grade_brain.answering import open_answering
from tools.grade_brain.conversation import converse
from tools.grade_brain.page import page_of, plot
from tools.grade_brain.rows import FULL, QUICK, ROWS, Row, brain_in, is_source, rows_of

SAMPLES = Path(__file__).parent / "conversations.json"


def main() -> None:
    """Prints the card, and writes the page if one is asked for."""
    chosen = parsed()
    names = chosen.rows or (ROWS if is_source(chosen.folder) else ROWS[:2])
    rows: dict[str, Row] = {}
    for name, row in rows_of(chosen.folder, names, QUICK if chosen.quick else FULL, chosen.work, chosen.keep):
        rows[name] = shown(name, row)
    keep = chosen.keep.with_suffix(".quick.json") if chosen.keep else None
    for name, row in rows_of(chosen.folder, chosen.quick_rows, QUICK, None, keep):
        rows[f"{name}, quick"] = shown(f"{name}, quick", row)
    talks = conversations(chosen.folder)
    if chosen.page is None:
        print(*("\n" + "\n".join(talk) for talk in talks), sep="\n")
    else:
        plot(rows, chosen.page.parent / "images")
        command = "python -m tools.grade_brain " + shlex.join(sys.argv[1:])
        chosen.page.write_text(page_of(rows, command, *facts_of(chosen.folder), talks))


def shown(name: str, row: Row) -> Row:
    """The row, printed."""
    print(f"\n{name}", *(f"{figure:<50} {value}" for figure, value in row.items()), sep="\n", flush=True)
    return row


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tools.grade_brain", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a brain directory, or a source folder")
    parser.add_argument("--rows", nargs="+", choices=ROWS, help="which rows; all that the folder allows otherwise")
    parser.add_argument("--quick", action="store_true", help="fewer questions: about two minutes a row")
    parser.add_argument("--quick-rows", nargs="+", default=(), choices=ROWS, help="rows that are asked fewer questions")
    parser.add_argument("--work", type=Path, help="the training's work folder, for what is borrowed from it")
    parser.add_argument("--keep", type=Path, help="a file that holds finished rows, so that a stopped card goes on")
    parser.add_argument("--page", type=Path, help="write this page, its plots into images/ beside it")
    return parser.parse_args()


def conversations(folder: Path) -> list[list[str]]:
    """What the shipped precision makes of the twenty conversations."""
    with TemporaryDirectory() as place:
        answering = open_answering(brain_in(folder, Path(place)), "q4")
        samples: list[list[str]] = json.loads(SAMPLES.read_text(encoding="utf-8"))
        return [list(converse(answering.reply, seed, acts)) for seed, acts in enumerate(samples, start=1)]


def facts_of(folder: Path) -> tuple[str, Sequence[str]]:
    """The brain's id, and what its manifest says of how it was made."""
    file = folder / ("brain-source.json" if is_source(folder) else "brain.json")
    told = json.loads(file.read_bytes())
    training: Mapping[str, object] = told["training"]
    facts = [f"weights {training['weightsSha256']}", f"{training['steps']} steps"]
    return str(told["id"]), facts


if __name__ == "__main__":
    main()
