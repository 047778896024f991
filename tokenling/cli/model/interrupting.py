"""What Ctrl-C means from moment to moment: at a prompt it is an answer, while a model writes it stops the reply.

No moment is left out: one that comes between two of them counts for the next.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TypeVar

from tokenling.cli.waiting import Errand
from tokenling.runtime import Cancellation

T = TypeVar("T")


class Interrupts:
    """The meanings of SIGINT inside `with interrupts_taken()`."""

    def __init__(self) -> None:
        self._meaning: Callable[[], None] | None = None
        self._missed = False

    @property
    def missed(self) -> bool:
        """Whether one has come that no moment has taken yet."""
        return self._missed

    def come(self, _number: int, _frame: FrameType | None) -> None:
        """The signal's handler. Nothing between two moments takes long, so a second one there ends it all."""
        if self._meaning is not None:
            self._meaning()
        elif self._missed:
            raise KeyboardInterrupt
        else:
            self._missed = True

    @contextmanager
    def _mean(self, meaning: Callable[[], None]) -> Iterator[None]:
        self._meaning = meaning
        try:
            if self._missed:
                self._missed = False
                meaning()
            yield
        finally:
            self._meaning = None

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Inside the block Ctrl-C raises `KeyboardInterrupt`."""
        with self._mean(_raise):
            yield

    def run(self, work: Callable[[], T], cancel: Cancellation) -> tuple[T, bool]:
        """What `work` gives, and whether it was interrupted. To be called from the main thread.

        The work has a thread of its own, so that a step of seconds can be stopped: a signal is handled between two of
        Python's instructions, and the step is none of them. A second Ctrl-C waits no longer: `KeyboardInterrupt`.
        """

        def stop() -> None:
            if cancel.is_cancelled:
                raise KeyboardInterrupt
            cancel.cancel()

        with self._mean(stop):
            return Errand(work).result(), cancel.is_cancelled


def _raise() -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def interrupts_taken() -> Iterator[Interrupts]:
    """Inside the block SIGINT has the meaning of the moment; where it was ignored it still is.

    One that is left when the block ends is raised there, as `KeyboardInterrupt`.
    """
    taken = Interrupts()
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        yield taken
        return
    signal.signal(signal.SIGINT, taken.come)
    try:
        yield taken
    finally:
        signal.signal(signal.SIGINT, before)
    if taken.missed:
        raise KeyboardInterrupt


def interruptible(work: Callable[[], T], cancel: Cancellation) -> tuple[T, bool]:
    """As `Interrupts.run`, for a command that has this one moment."""
    with interrupts_taken() as interrupts:
        return interrupts.run(work, cancel)
