"""Lines of standard input: a wait for one may end with time, and Ctrl-C always ends it."""

import os
from typing import BinaryIO

from tokenling.cli.waiting import READ_BYTES, descriptor_of, wait_readable


class Lines:
    """Lines of a stream of bytes that nobody else reads. A buffered stream would hide a second line from a wait."""

    def __init__(self, source: BinaryIO, bytes_max: int) -> None:
        self._source = source
        self._descriptor = descriptor_of(source)
        self._bytes_max = bytes_max
        self._held = b""
        self._lost = False  # the rest of a line that was cut is thrown away
        self._ended = False

    def next(self, wait_s: float | None = None) -> bytes | None:
        """The next line without its end, or None when `wait_s` passed without one. Raises `EOFError` at the end.

        A line of more than `bytes_max` bytes is cut one byte behind them.
        """
        while True:
            line, newline, rest = self._held.partition(b"\n")
            if newline or len(line) > self._bytes_max or (self._ended and line):
                self._held = rest if newline else b""
                lost, self._lost = self._lost, not newline
                if not lost:
                    return line[: self._bytes_max + 1].removesuffix(b"\r")
            elif self._ended:
                raise EOFError
            elif self._descriptor is not None and not wait_readable(self._descriptor, wait_s):
                return None
            else:
                data = self._read()
                self._ended = not data
                self._held += data

    def _read(self) -> bytes:
        if self._descriptor is None:
            return self._source.read(READ_BYTES)
        return os.read(self._descriptor, READ_BYTES)

    def forget(self) -> None:
        """What was typed of a line, and not sent, is gone, as a terminal forgets it at Ctrl-C."""
        self._held = b""
