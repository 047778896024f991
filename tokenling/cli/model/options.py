"""Arguments and options that several `tokenling model` commands share."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import ParamSpec

import click

P = ParamSpec("P")
THREADS_MAX = 256
"""As the runtime's."""
POSITIONS_MAX = 2**24
"""As the reader's: sixteen times the longest published context."""

THOUSANDTH = Decimal("0.001")

file_argument = click.argument("file", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of text, for programs.")
context_option = click.option(
    "-c",
    "--context",
    default=0,
    type=click.IntRange(0, POSITIONS_MAX),
    help="The longest sequence in tokens.  [default: the model's, at most 4096]",
)
threads_option = click.option(
    "--threads",
    default=0,
    type=click.IntRange(0, THREADS_MAX),
    help="Threads of a step.  [default: the cores, at most 4]",
)
cache_option = click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the built graph here: the next start takes a third of the time.",
)
receipt_option = click.option(
    "--receipt",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the owner's receipt here, a new file: `tokenling model verify` runs it again.",
)
system_option = click.option("--system", help="What the chat template puts first, as the system's message.")


def thousandths(most: int) -> Callable[[str | int], int]:
    """Reads a decimal number of at most three places as thousandths: sampling computes in integers."""

    def decimal(value: str | int) -> int:
        expected = f"a number from 0 to {most / 1000:g} with at most three decimals"
        try:
            found = Decimal(value) if isinstance(value, str) else Decimal(value) / 1000
        except InvalidOperation:
            raise click.BadParameter(f"{value!r} is not {expected}") from None
        # compared before anything is computed: an exponent may be larger than arithmetic takes
        if not found.is_finite() or not 0 <= found <= Decimal(most) / 1000 or found != found.quantize(THOUSANDTH):
            raise click.BadParameter(f"{value!r} is not {expected}")
        return int(found * 1000)

    return decimal


def sampling_options(command: Callable[P, None]) -> Callable[P, None]:
    """How the next token is drawn, and how many are."""
    for option in reversed(_SAMPLING):
        command = option(command)
    return command


_SAMPLING = (
    click.option("-n", "--max-tokens", type=click.IntRange(0, POSITIONS_MAX), help="Tokens to write at most."),
    click.option("--temperature", default=800, type=thousandths(100_000), help="0 is greedy.  [default: 0.8]"),
    click.option("--top-k", default=40, type=click.IntRange(0, 2**20), show_default=True, help="0 keeps all."),
    click.option("--top-p", default=950, type=thousandths(1000), help="1 keeps all.  [default: 0.95]"),
    click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The same seed writes the same.  [default: chance]"),
    click.option("--stop", "stops", multiple=True, help="A text that ends it and is left out; may be given often."),
)
numerics_option = click.option(
    "--numerics",
    type=click.Choice(("fast", "exact")),
    help="`fast` multiplies in the file's bits, `exact` in float32.  [default: fast; exact with --receipt]",
)
