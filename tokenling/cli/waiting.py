"""Waits of the main thread that a signal always ends.

A signal leaves a mark, and Python runs its handler between two instructions. A mark that is left behind the last
instruction and before the system call that waits is seen when that call ends: a Ctrl-C at a prompt would be lost until
a line comes. With a wakeup descriptor each signal also leaves a byte, and a wait for both misses none.
"""

import io
import os
import select
import signal
import threading
import time
import weakref
from collections.abc import Callable
from functools import cache
from typing import BinaryIO, Generic, TypeVar

T = TypeVar("T")

READ_BYTES = 65_536
"""What a pipe of Linux holds."""
_BELL_BYTES = 4096
"""Of the bytes that signals left, so many are taken at once: more than a person makes."""


@cache
def _bell() -> tuple[int, int]:
    """Where signals are heard, and where they ring. Never closed: a late one would write into another file."""
    heard, rung = os.pipe()
    os.set_blocking(rung, False)
    return heard, rung


def wait_readable(descriptor: int, wait_s: float | None = None) -> bool:
    """Whether there is something to read, after at most `wait_s`.

    In the main thread a signal's handler runs as soon as the signal comes, and what it raises is raised here; no other
    thread is told of signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return bool(select.select([descriptor], [], [], wait_s)[0])
    heard, rung = _bell()
    until_s = None if wait_s is None else time.monotonic() + wait_s
    before = -1  # should a handler raise when it is set and not yet known: as a rule there was none
    try:
        before = signal.set_wakeup_fd(rung, warn_on_full_buffer=False)
        while True:
            left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
            ready = select.select([descriptor, heard], [], [], left_s)[0]
            if descriptor in ready or not ready:
                return bool(ready)
            os.read(heard, _BELL_BYTES)  # its handler has run, and has raised nothing
            if left_s == 0:
                return False  # however often it rings
    finally:
        signal.set_wakeup_fd(before)


def descriptor_of(source: BinaryIO) -> int | None:
    """Of an open file; None for a stream in memory, which nobody has to wait for."""
    try:
        return source.fileno()
    except io.UnsupportedOperation:
        return None


def read_all(source: BinaryIO, bytes_max: int) -> bytes:
    """What comes until the end, at most so much. `source` must not have been read from before."""
    descriptor = descriptor_of(source)
    if descriptor is None:
        return source.read(bytes_max)
    pieces = bytearray()
    while len(pieces) < bytes_max:
        wait_readable(descriptor)
        piece = os.read(descriptor, min(READ_BYTES, bytes_max - len(pieces)))
        if not piece:
            break
        pieces += piece
    return bytes(pieces)


class Errand(Generic[T]):
    """Work in a thread of its own, for the main thread to wait for. An errand that nobody waits for ends with the
    process."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._outcome: list[T] = []
        self._failures: list[BaseException] = []
        self._ended, over = os.pipe()
        self._forget = weakref.finalize(self, os.close, self._ended)
        words = (work, self._outcome, self._failures, over)  # and not this object: whoever asks may be gone first
        threading.Thread(target=_run, args=words, daemon=True).start()

    def result(self) -> T:
        """What the work gave, once it is over; raises what it raised. A signal's handler runs meanwhile."""
        if self._forget.alive:
            wait_readable(self._ended)
            self._forget()
        if self._failures:
            raise self._failures[0]
        return self._outcome[0]


def _run(work: Callable[[], T], outcome: list[T], failures: list[BaseException], over: int) -> None:
    try:
        outcome.append(work())
    except BaseException as error:  # carried over the thread's end and raised again by whoever asks
        failures.append(error)
    finally:
        os.close(over)
