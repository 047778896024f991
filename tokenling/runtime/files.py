"""A brain's files: opened inside its directory only, regular ones only, bounded, and hashed as they are read."""

import hashlib
import os
import stat
from pathlib import Path

from tokenling.runtime.errors import BrainRefused

CHUNK_BYTES = 2**20
DOCUMENT_BYTES_MAX = 2**20
"""`config.json` and `brain.json`: a guess, a hundred times what they hold."""
TOKENIZER_BYTES_MAX = 2**26
"""Twice the largest published tokenizer (Gemma's, 33 MB)."""
GRAPH_BYTES_MAX = 2**31 - 1
"""Protobuf's own limit; larger weights lie in external data."""


def resolve_inside(root: Path, relative: str) -> Path:
    """The file that `relative` names, links followed, if it lies inside `root`. Raises `BrainRefused`."""
    parts = relative.split("/")
    if not relative or "\\" in relative or "\0" in relative or Path(relative).is_absolute() or ".." in parts:
        raise BrainRefused("path_malformed", "path", relative, "a relative path without '..'")
    home = root.resolve()
    try:
        target = (home / relative).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise BrainRefused("file_missing", relative, "no file", "a file in the brain's directory") from None
    if not target.is_relative_to(home):
        raise BrainRefused("path_outside", relative, "a link that leads out", "a file inside the brain's directory")
    return target


def open_inside(root: Path, relative: str) -> int:
    """A file descriptor of the regular file that `relative` names inside `root`; the caller closes it."""
    target = resolve_inside(root, relative)
    # O_NOFOLLOW: what was resolved is what is opened; O_NONBLOCK: a pipe must not hold the start up
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(target, flags)
    except OSError as error:
        raise BrainRefused("file_unreadable", relative, error.strerror or "an error", "a readable file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BrainRefused("file_irregular", relative, "no regular file", "a regular file")
    return descriptor


def read_inside(root: Path, relative: str, most: int) -> bytes:
    """The bytes of a file of at most `most` bytes."""
    with os.fdopen(open_inside(root, relative), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise BrainRefused("file_too_large", relative, f"{size} bytes", f"at most {most}")
        return file.read()


def size_inside(root: Path, relative: str) -> int:
    """The size in bytes of a file."""
    descriptor = open_inside(root, relative)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def sha256_inside(root: Path, relative: str) -> str:
    """The SHA-256 of a file of any size, in lower-case hex."""
    digest = hashlib.sha256()
    with os.fdopen(open_inside(root, relative), "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
