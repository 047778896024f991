"""`tokenling verify`: run a turn again from its receipt."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import click

if TYPE_CHECKING:
    from tokenling.runtime import Brain, Precision, Verdict

EXIT_REFUSED, EXIT_BRAIN = 2, 3
EXITS = {"identical": 0, "near_tie": 0, "different": 1, "not_provable_here": 2}
WORDS = {
    "identical": "identical",
    "near_tie": "near tie",
    "different": "different",
    "not_provable_here": "not provable here",
}


@click.command("verify")
@click.argument("receipt", type=click.File("rb"))
@click.option("--brain", "brain_dir", required=True, type=click.Path(path_type=Path), help="Brain directory.")
@click.option("--threads", default=1, type=click.IntRange(1, 256), show_default=True)
def command(receipt: BinaryIO, brain_dir: Path, threads: int) -> None:
    """Run the turn of RECEIPT (the owner's copy, `-` for standard input) again and say whether it wrote the same.

    Exit codes: 0 identical or near tie, 1 different, 2 not provable here or no receipt, 3 the brain does not open.
    """
    from tokenling.runtime import ReceiptRefused, verify
    from tokenling.runtime.receipts import RECEIPT_BYTES_MAX

    data = receipt.read(RECEIPT_BYTES_MAX + 1)
    try:
        verdict = verify(data, open_for(data, brain_dir, threads))
    except ReceiptRefused as refusal:
        fail(EXIT_REFUSED, str(refusal))
    click.echo(sentence(verdict))
    sys.exit(EXITS[verdict.kind])


def open_for(data: bytes, brain_dir: Path, threads: int) -> "Brain":
    """The brain at the receipt's own precision."""
    from tokenling.runtime import BrainRefused, open_brain
    from tokenling.runtime.brain import GRAPH_FILES
    from tokenling.runtime.receipts import parse_owner_receipt

    fields = parse_owner_receipt(data).fields
    precision: Precision = next((name for name in GRAPH_FILES if name == fields["precision"]), "q4")
    foreign = not (brain_dir / "brain.json").exists()
    try:
        return open_brain(
            brain_dir,
            precision=precision,
            threads=threads,
            brain_id=str(fields["brainId"]) if foreign else None,
            features=() if foreign else None,
        )
    except BrainRefused as refusal:
        fail(EXIT_BRAIN, str(refusal))


def fail(code: int, message: str) -> NoReturn:
    """End with one line on standard error."""
    click.echo(message, err=True)
    sys.exit(code)


def sentence(verdict: "Verdict") -> str:
    """The verdict in words, and where."""
    where = f": {verdict.subject}" if verdict.subject else ""
    at = f" at token {verdict.step}" if verdict.step is not None else ""
    return WORDS[verdict.kind] + where + at
