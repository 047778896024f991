"""A file that is sent: opened once, and its bytes given on only while it is the file that was looked at before."""

import os
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import trio

from tokenling.host.exchange import PIECE_BYTES

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Not blocking: a pipe in the place of a file must not hold a thread."""


class Stamp(NamedTuple):
    """What tells that a file is still the same. The change time, too: a copy may set the modification time back."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def stamp_at(path: Path) -> Stamp | None:
    """Of the file at a path; None where there is none."""
    try:
        return _stamp_of(path.stat())
    except OSError:
        return None


def _stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class OpenFile:
    """A file open for reading: it outlives its name. Closed with the object, for an answer may never be begun."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, _FLAGS)
        self.close = weakref.finalize(self, os.close, self._descriptor)
        self.stamp = _stamp_of(os.fstat(self._descriptor))

    def read_some(self, bytes_max: int) -> bytes:
        return os.read(self._descriptor, bytes_max)

    def read(self, left: int) -> bytes | None:
        """The next piece of the `left` bytes that are still to come; None when the file has changed meanwhile."""
        size = min(PIECE_BYTES, left)
        piece = self.read_some(size)
        unchanged = len(piece) == size and _stamp_of(os.fstat(self._descriptor)) == self.stamp
        return piece if unchanged else None


class Content:
    """The bytes of an answer. The first piece is here before the answer begins, so that a small file is whole."""

    def __init__(self, first: bytes, size: int, rest: OpenFile | None) -> None:
        self._first = first
        self._left = size - len(first)
        self._rest = rest

    async def pieces(self) -> AsyncIterator[bytes]:
        """All of it. A file that is overwritten in its place while it is sent ends short, which the client notices."""
        yield self._first
        while self._left > 0 and self._rest is not None:
            piece = await trio.to_thread.run_sync(self._rest.read, self._left)
            if piece is None:
                break
            self._left -= len(piece)
            yield piece
        self.close()

    def close(self) -> None:
        if self._rest is not None:
            self._rest.close()
