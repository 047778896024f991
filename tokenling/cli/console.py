"""How commands speak: remarks and refusals, a line each, on standard error."""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

LEVELS = ("debug", "info", "warning", "error")

log_level_option = click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="How much to log to standard error. No level shows what an owner wrote.",
)


def tell(lines: Sequence[str]) -> None:
    """Remarks for the operator."""
    for line in lines:
        click.echo(f"tokenling: {line}", err=True)


def refuse(exit_code: int, lines: Sequence[str]) -> NoReturn:
    """End with one line for each thing that is wrong."""
    for line in lines:
        click.echo(f"tokenling: error: {line}", err=True)
    sys.exit(exit_code)
