"""The card's rows: one brain each, or a bound of the scale, all asked the same questions."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tokenling.engine import Reply
from tools.export_brain.directory import GRAPH_FILES, Source, load_source, write_brain
from tools.export_brain.graph import Precision
from tools.export_brain.weights import Array
from tools.grade_brain.answering import open_answering
from tools.grade_brain.flips import flip_figures, grown_states
from tools.grade_brain.likelihood import Reader, matching, perplexity
from tools.grade_brain.lives import held_out_turns
from tools.grade_brain.speech import Book
from tools.grade_brain.tally import Figure
from tools.grade_brain.turns import Answer, turn_figures
from tools.train_brain.shape import Shape

ROWS = ("q4", "q4 unmasked", "q8", "fp32", "untrained", "writer")
UNTRAINED_SEED = 1
Row = dict[str, Figure]


@dataclass(frozen=True, slots=True)
class Size:
    """How many questions a row is asked. `quick` is for a maker between two trainings."""

    turns: int
    states: int
    matched: int
    surprised: int


FULL = Size(turns=2000, states=60, matched=500, surprised=500)
QUICK = Size(turns=300, states=20, matched=40, surprised=60)
UNTRAINED = Size(turns=200, states=20, matched=100, surprised=100)
"""An untrained brain writes to the limit at each turn; what it scores shows in fewer."""


def rows_of(
    folder: Path, names: Sequence[str], size: Size, work: Path | None, keep: Path | None
) -> Iterator[tuple[str, Row]]:
    """Each row as it is done. `folder` is a source or a brain directory, `work` a training's, for its replies.

    `keep` is a file that rows are written to as they are done and read from again while brain and size stay the same.
    """
    kept = Kept(keep, f"{digest_of(folder)} {size}")
    with TemporaryDirectory() as place:
        brain = brain_in(folder, Path(place))
        known = kept.rows
        asked = Questions(size, work) if set(names) - set(known) else None
        for name in names:
            if name not in known:
                assert asked is not None
                known[name] = row_of(name, brain, folder, asked)
                kept.add(name, known[name])
            yield name, known[name]


def brain_in(folder: Path, place: Path) -> Path:
    """A brain directory: the folder itself, or one that is built of the source that it is."""
    if not is_source(folder):
        return folder
    write_brain(load_source(folder), place / "brain", tuple(GRAPH_FILES))
    return place / "brain"


def is_source(folder: Path) -> bool:
    """Whether a folder is an fp16 source."""
    return (folder / "brain-source.json").exists()


def digest_of(folder: Path) -> str:
    """Another one for every brain."""
    file = folder / ("weights.safetensors" if is_source(folder) else "brain.json")
    return hashlib.sha256(file.read_bytes()).hexdigest()


class Questions:
    """What every row is asked: made once."""

    def __init__(self, size: Size, work: Path | None) -> None:
        self.size = size
        self.turns = list(held_out_turns(size.turns))
        self.states = grown_states(size.states)
        self.book = Book(replies_in(work)) if work is not None else None

    def sized(self, size: Size) -> "Questions":
        """Fewer of the same questions."""
        fewer = object.__new__(Questions)
        fewer.size, fewer.book = size, self.book
        fewer.turns, fewer.states = self.turns[: size.turns], self.states[: size.states]
        return fewer


def replies_in(work: Path) -> Iterator[str]:
    """The replies of a work folder's corpus."""
    for name in ("corpus", "drills"):
        if (work / f"{name}.jsonl").exists():
            with (work / f"{name}.jsonl").open() as lines:
                yield from (json.loads(line)["reply"] for line in lines)


def row_of(name: str, brain: Path, folder: Path, asked: Questions) -> Row:
    """One row."""
    if name == "writer":
        return figures(lambda lived: Reply(lived.reply, "newline", ()), asked)
    if name == "untrained":
        with TemporaryDirectory() as place:
            write_brain(untrained(load_source(folder)), Path(place), ("fp32",))
            return brain_row(Path(place), "fp32", asked.sized(UNTRAINED), masked=True)
    precision, _, unmasked = name.partition(" ")
    return brain_row(brain, next(known for known in GRAPH_FILES if known == precision), asked, masked=not unmasked)


def brain_row(brain: Path, precision: Precision, asked: Questions, *, masked: bool) -> Row:
    """The row of a brain at one precision; likelihoods do not depend on the mask."""
    answering = open_answering(brain, precision, masked=masked)
    row = figures(lambda lived: answering.reply(lived.request), asked)
    if masked:
        reader = Reader(brain, precision)
        row["reply matching"] = matching(reader, asked.turns, asked.size.matched)
        row["perplexity"] = perplexity(reader, asked.turns[: asked.size.surprised])
    return row


def figures(answer: Answer, asked: Questions) -> Row:
    """What is seen in replies."""
    return turn_figures(answer, asked.turns, asked.book) | flip_figures(answer, asked.states)


def untrained(source: Source) -> Source:
    """The same shape with random weights."""
    return dataclasses.replace(source, weights=random_weights(source.shape))


def random_weights(shape: Shape) -> Mapping[str, Array]:
    """Norms at one, matrices normal at 1/sqrt(columns)."""
    chance = np.random.default_rng(UNTRAINED_SEED)
    return {
        name: np.ones(extent, dtype=np.float32)
        if len(extent) == 1
        else (chance.standard_normal(extent) / np.sqrt(extent[1])).astype(np.float32)
        for name, extent in shape.tensors().items()
    }


class Kept:
    """Rows in a file, good for one brain asked one number of questions; several processes may add to it."""

    def __init__(self, file: Path | None, key: str) -> None:
        self.file, self.key = file, key

    @property
    def rows(self) -> dict[str, Row]:
        """What is on disk now; nothing where it is another brain's."""
        found = json.loads(self.file.read_text()) if self.file is not None and self.file.exists() else {}
        told = found.get("rows", {}) if found.get("key") == self.key else {}
        return {name: {n: Figure(**f) for n, f in row.items()} for name, row in told.items()}

    def add(self, name: str, row: Row) -> None:
        """One row more beside those that are there by now, the file replaced whole."""
        if self.file is None:
            return
        rows = {name: {n: asdict(f) for n, f in row.items()} for name, row in (self.rows | {name: row}).items()}
        fresh = self.file.with_suffix(f".{os.getpid()}.new")
        fresh.write_text(json.dumps({"key": self.key, "rows": rows}, indent=1))
        fresh.replace(self.file)
