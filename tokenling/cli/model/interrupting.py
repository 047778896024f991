"""Ctrl-C while a model writes: the step that runs is stopped, and what was written until then stays."""

import threading
from collections.abc import Callable
from typing import TypeVar

from tokenling.runtime import Cancellation

T = TypeVar("T")


def interruptible(work: Callable[[], T], cancel: Cancellation) -> tuple[T, bool]:
    """What `work` gives, and whether it was interrupted. It runs in a thread of its own, so that a step of seconds can
    be stopped: a signal's handler waits for Python, which waits for the step.

    A second Ctrl-C does not wait for the thread any longer and raises `KeyboardInterrupt`.
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

    threading.Thread(target=run, daemon=True).start()
    was_interrupted = False
    while not is_over.is_set():
        try:
            is_over.wait()  # not `join`: interrupted once, it takes the thread for ended
        except KeyboardInterrupt:
            cancel.cancel()
            if was_interrupted:
                raise
            was_interrupted = True
    if failures:
        raise failures[0]
    return outcome[0], was_interrupted
