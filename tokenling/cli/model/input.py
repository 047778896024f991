"""Texts that come in: an argument, a file or standard input, one of them, in UTF-8 and bounded."""

import sys
from pathlib import Path

from tokenling.cli.console import refuse
from tokenling.cli.model.exits import ModelExit, refuse_option
from tokenling.cli.waiting import read_all

TEXT_BYTES_MAX = 2**24
"""More than the longest context takes in any language; what is longer is refused before it is held in memory twice."""


def read_text(argument: str | None, path: Path | None, name: str) -> str:
    """The one text that was given; `name` is what the command calls its argument."""
    if argument is not None and path is not None:
        refuse_option("--file", f"a {name} too", "one of both")
    if argument is not None:
        return _checked(argument, name)
    if path is not None:
        return _decoded(_read_file(path), f"--file {path}")
    if sys.stdin.isatty():
        refuse_option(name, "none", f"{name} as an argument, --file FILE, or text on standard input")
    return _decoded(read_all(sys.stdin.buffer, TEXT_BYTES_MAX + 1), "standard input")


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(TEXT_BYTES_MAX + 1)
    except OSError as error:
        refuse(ModelExit.OPTIONS, [f"--file {path}: {(error.strerror or 'cannot be read').lower()}"])


def _checked(text: str, name: str) -> str:
    """An argument that is no UTF-8 comes with surrogates in it."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        refuse_option(name, "bytes that are not UTF-8", "text in UTF-8")
    return text


def _decoded(data: bytes, name: str) -> str:
    if len(data) > TEXT_BYTES_MAX:
        refuse_option(name, f"more than {TEXT_BYTES_MAX} bytes", "at most these")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        refuse_option(name, f"byte {error.start} that is not UTF-8", "text in UTF-8")
