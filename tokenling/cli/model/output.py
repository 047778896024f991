"""What goes out: text as it is written, and private files that take no other's place."""

import os
import sys
from pathlib import Path
from secrets import token_hex

import click

from tokenling.cli.console import refuse
from tokenling.cli.model.exits import ModelExit

PRIVATE_FILE = 0o600
_KEPT = "\n\t"


def prepare_output() -> None:
    """Standard output takes any character, whatever its encoding."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


class Stream:
    """A model's text on standard output as it comes. A terminal gets no control characters: they could be commands."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._last = "\n"

    def put(self, piece: str) -> None:
        """A piece, at once."""
        shown = for_terminal(piece) if self._is_terminal else piece
        if shown:
            self._last = shown[-1]
            click.echo(shown, nl=False)

    def end(self) -> None:
        """The text is over: it ends with its line."""
        if self._last != "\n":
            click.echo("")


def for_terminal(text: str) -> str:
    """The text without control characters but line breaks and tabs."""
    return "".join(char for char in text if char in _KEPT or not (char < " " or "\x7f" <= char <= "\x9f"))


def check_new(option: str, path: Path) -> None:
    """Refuse a file that is there already, or whose folder is not, before anything runs."""
    if path.exists() or path.is_symlink():
        refuse(ModelExit.OUTPUT, [f"{option} {path}: found a file that is there, expected a new name"])
    if not path.parent.is_dir():
        refuse(ModelExit.OUTPUT, [f"{option} {path}: found no folder of this name, expected one that is there"])


def write_new(option: str, path: Path, data: bytes) -> None:
    """A new file, 0600, whole or not at all. Ends the command when it cannot be."""
    try:
        put_new(path, data)
    except FileExistsError:
        check_new(option, path)
    except OSError as error:
        refuse(ModelExit.OUTPUT, [f"{option} {path}: {(error.strerror or 'cannot be written').lower()}"])


def put_new(path: Path, data: bytes) -> None:
    """The same; raises `FileExistsError` for a name that is taken, `OSError`."""
    fresh = path.with_name(f".{path.name}.{token_hex(4)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        with os.fdopen(handle, "wb") as target:
            os.fchmod(target.fileno(), PRIVATE_FILE)
            target.write(data)
            target.flush()
            os.fsync(target.fileno())
        os.link(fresh, path)  # unlike a rename it takes no other's place
    finally:
        fresh.unlink(missing_ok=True)
