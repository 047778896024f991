"""How commands speak: remarks and refusals, a line each, on standard error."""

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click

LEVELS = ("debug", "info", "warning", "error")

NOT_WRITTEN = 4
"""The exit code of every command whose output cannot be written, as of one whose file cannot."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})

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


def open_streams() -> None:
    """A standard stream that was closed is the null device: no file that is opened later takes its number."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            found = os.open(os.devnull, os.O_RDWR)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))


@contextmanager
def output_kept() -> Iterator[None]:
    """A line instead of a traceback where standard output takes no more: a full disk, a limit on files."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise  # of a file, and the command's own to tell; a reader that went away is click's
        refuse(NOT_WRITTEN, [f"standard output: {os.strerror(error.errno).lower()}"])
