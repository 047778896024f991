"""`tokenling verify`: run turns again from their receipts."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import click

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.cli.brain_opening import BrainChoice, open_chosen
from tokenling.cli.waiting import read_all

if TYPE_CHECKING:
    from tokenling.runtime import Brain, Verdict
    from tokenling.runtime.documents import JsonObject, JsonValue

ANSWER_BYTES_MAX = 2**26
"""A guess: fifty receipts of more than a megabyte, where real ones have some kilobytes."""

EXIT_REFUSED, EXIT_BRAIN = 2, 3
EXITS = {"identical": 0, "near_tie": 0, "different": 1, "not_provable_here": 2}
WORSE = (0, 2, 1, 3)
"""Exit codes, each worse than the one before."""
WORDS = {
    "identical": "identical",
    "near_tie": "near tie",
    "different": "different",
    "not_provable_here": "not provable here",
}


@click.command("verify")
@click.argument("receipt", type=click.File("rb"))
@click.option(
    "--brain",
    "brain_dir",
    type=click.Path(path_type=Path),
    envvar="SUBTOKENLING_MODEL_DIR",
    show_envvar=True,
    help="Brain directory; without it, the shipped brain's.",
)
@click.option("--turn", type=click.IntRange(min=1), help="Of many receipts only this one, counted from 1, the oldest.")
@click.option("--threads", default=1, type=click.IntRange(1, 256), show_default=True)
def command(receipt: BinaryIO, brain_dir: Path | None, turn: int | None, threads: int) -> None:
    """Run the turn of RECEIPT (the owner's copy, `-` for standard input) again and say whether it wrote the same.

    The answer of `GET /api/pets/ID/receipts` can be given whole: each of its receipts is run, a line for each. Exit
    codes: 0 identical or near tie, 1 different, 2 not provable here or no receipt, 3 the brain does not open; of many
    receipts the worst (3, 1, 2, 0).
    """
    receipts = receipts_in(read_all(receipt, ANSWER_BYTES_MAX + 1))
    numbers = range(1, len(receipts) + 1) if turn is None else [turn]
    if numbers[-1:] and numbers[-1] > len(receipts):
        fail(EXIT_REFUSED, f"--turn: found {turn}, expected 1 to {len(receipts)}, the oldest first")
    prove = Prover(brain_dir or shipped_brain_dir(), threads)
    worst = 0
    for number in numbers:
        label = f"{number}: " if len(receipts) > 1 else ""
        worst = max(worst, prove(receipts[number - 1], label), key=WORSE.index)
    sys.exit(worst)


def receipts_in(data: bytes) -> tuple[bytes, ...]:
    """What may be receipts in `data`: all of it, or each entry of the host's answer. None is judged yet."""
    from tokenling.runtime.documents import JsonRefused, parse_value

    if len(data) > ANSWER_BYTES_MAX:
        fail(EXIT_REFUSED, f"receipt: found more than {ANSWER_BYTES_MAX} bytes, expected at most these")
    try:
        document = parse_value(data)
        entries = document.get("receipts") if isinstance(document, Mapping) else document
        found = tuple(json.dumps(entry).encode() for entry in entries) if isinstance(entries, list) else (data,)
    except (JsonRefused, RecursionError):
        return (data,)  # whoever reads it as a receipt says what is wrong with it
    if not found:
        fail(EXIT_REFUSED, "receipt: found an answer without a receipt, expected at least one")
    return found


class Prover:
    """Runs receipts again, each on the brain at its own precision; a brain is opened once."""

    def __init__(self, brain_dir: Path, threads: int) -> None:
        self._brain_dir = brain_dir
        self._threads = threads
        self._brains: dict[tuple[JsonValue, ...], Brain] = {}

    def __call__(self, data: bytes, label: str) -> int:
        """Say of one receipt whether its turn wrote the same; the exit code of it alone."""
        from tokenling.runtime import ReceiptRefused, verify
        from tokenling.runtime.receipts import parse_owner_receipt

        try:
            fields = parse_owner_receipt(data).fields
            key = (fields["precision"], fields["brainId"])
            if key not in self._brains:
                self._brains[key] = open_for(fields, self._brain_dir, self._threads)
            verdict = verify(data, self._brains[key])
        except ReceiptRefused as refusal:
            refused_line(label + str(refusal))
            return EXIT_REFUSED
        click.echo(label + sentence(verdict))
        return EXITS[verdict.kind]


def open_for(fields: "JsonObject", brain_dir: Path, threads: int) -> "Brain":
    """The brain at the receipt's own precision."""
    from tokenling.runtime import BrainRefused
    from tokenling.runtime.brain import GRAPH_FILES

    precision = next((name for name in GRAPH_FILES if name == fields["precision"]), None)
    foreign = not (brain_dir / "brain.json").exists()
    choice = BrainChoice(
        brain_dir,
        precision=precision,
        threads=threads,
        brain_id=str(fields["brainId"]) if foreign else None,
        features=() if foreign else None,
    )
    try:
        return open_chosen(choice)
    except BrainRefused as refusal:
        fail(EXIT_BRAIN, str(refusal))


def fail(code: int, message: str) -> NoReturn:
    """End with one line on standard error."""
    refused_line(message)
    sys.exit(code)


def refused_line(message: str) -> None:
    """A line on standard error, as every command's refusals look."""
    click.echo(f"tokenling: error: {message}", err=True)


def sentence(verdict: "Verdict") -> str:
    """The verdict in words, and where."""
    where = f": {verdict.subject}" if verdict.subject else ""
    at = f" at token {verdict.step}" if verdict.step is not None else ""
    return WORDS[verdict.kind] + where + at
