"""Arguments and options that several `tokenling model` commands share."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeAlias

import click

Command: TypeAlias = Callable[..., None]
THREADS_MAX = 256
"""As the runtime's."""
POSITIONS_MAX = 2**24
"""As the reader's: sixteen times the longest published context."""

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
    "--threads", default=0, type=click.IntRange(0, THREADS_MAX), help="Threads of a step.  [default: the cores, at most 4]"
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


class Thousandths(click.ParamType[int]):
    """A decimal number of at most three places, as thousandths: sampling computes in integers."""

    name = "decimal"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            found = Decimal(value) * 1000
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not found.is_finite() or found != found.to_integral_value() or not 0 <= found <= self._most:
            self.fail(f"{value} is not a number from 0 to {self._most / 1000:g} with at most three decimals", param, ctx)
        return int(found)


def sampling_options(command: Command) -> Command:
    """How the next token is drawn, and how many are."""
    for option in reversed(_SAMPLING):
        command = option(command)
    return command


_SAMPLING = (
    click.option("-n", "--max-tokens", type=click.IntRange(0, POSITIONS_MAX), help="Tokens to write at most."),
    click.option("--temperature", default=800, type=Thousandths(100_000), help="0 is greedy.  [default: 0.8]"),
    click.option("--top-k", default=40, type=click.IntRange(0, 2**20), show_default=True, help="0 keeps all."),
    click.option("--top-p", default=950, type=Thousandths(1000), help="1 keeps all.  [default: 0.95]"),
    click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The same seed writes the same.  [default: chance]"),
    click.option("--stop", "stops", multiple=True, help="A text that ends it and is left out; may be given often."),
)
numerics_option = click.option(
    "--numerics",
    type=click.Choice(("fast", "exact")),
    help="`fast` multiplies in the file's bits, `exact` in float32.  [default: fast; exact with --receipt]",
)
