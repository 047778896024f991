"""Ctrl-C while a model writes: the step that runs is stopped, and what was written until then stays."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from tokenling.runtime import Cancellation

T = TypeVar("T")


def interruptible(work: Callable[[], T], cancel: Cancellation) -> tuple[T, bool]:
    """What `work` gives, and whether it was interrupted. To be called from the main thread.

    The work has a thread of its own, so that a step of seconds can be stopped: a signal is handled between two of
    Python's instructions, and the step is none of them. A second Ctrl-C waits no longer: `KeyboardInterrupt`.
    """
    outcome: list[T] = []
    failures: list[BaseException] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # carried over the thread's end and raised again below
            failures.append(error)
        finally:
            is_over.set()

    with _cancelling(cancel):
        threading.Thread(target=run, daemon=True).start()
        is_over.wait()
    if failures:
        raise failures[0]
    return outcome[0], cancel.is_cancelled


@contextmanager
def _cancelling(cancel: Cancellation) -> Iterator[None]:
    """Inside the block SIGINT cancels, once; where it was ignored it still is."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        if cancel.is_cancelled:
            raise KeyboardInterrupt
        cancel.cancel()

    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
