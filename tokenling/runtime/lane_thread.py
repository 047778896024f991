"""A thread of a lane's own, for all of its turns.

The C library has a heap for each thread and keeps there what a prompt's step frees, 7 MiB of the shipped brain's, for
the next one (`ort.keep_freed_memory`). On threads that everybody shares, as Trio's are, turns leave as much in the heap
of one thread after the other, for good: a host of two lanes held 30 MiB more for it (docs/capacity.md).
"""

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import outcome as outcomes

T = TypeVar("T")

NAME = "tokenling lane"


class LaneThread:
    """Runs one call after the other. The thread waits from the beginning, so that who has the lane can run it, and ends
    when nobody holds this any more."""

    def __init__(self) -> None:
        """Raises `RuntimeError` when no thread is to be had."""
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(self._calls,), name=NAME, daemon=True).start()
        weakref.finalize(self, self._calls.put, None)

    def start_soon(self, call: Callable[[], T], deliver: "Callable[[outcomes.Outcome[T]], None]") -> None:
        """`call` runs behind what was given before; what it gave or raised goes to `deliver`, in the thread, which must
        not raise. As `trio.lowlevel.start_thread_soon`."""
        import outcome as outcomes

        self._calls.put(lambda: deliver(outcomes.capture(call)))


def _serve(calls: "SimpleQueue[Callable[[], None] | None]") -> None:
    while _run_next(calls):
        pass


def _run_next(calls: "SimpleQueue[Callable[[], None] | None]") -> bool:
    """In a frame of its own: one that waits for the next call must not hold the last, and with it the lane."""
    call = calls.get()
    if call is not None:
        call()
    return call is not None
