"""Where the rules run: in the event loop when little time has to pass, else in a thread, so that nobody waits for it.

Measured: a simulated day costs about a millisecond, so a pet that is 400 days late half a second, and a house of 64
such pets made the loop deaf for 29 s.
"""

from collections.abc import Callable
from typing import TypeVar

import trio

from tokenling.engine import State
from tokenling.host import dispatch_rules as rules

IN_LOOP_GAP_MS_MAX = 6 * 3600 * 1000
"""A pet that is further behind catches up in a thread; a quarter of a day takes less than a millisecond, 64 times."""
IN_LOOP_SAVE_BYTES_MAX = 100_000
"""A larger save is gone through in a thread: 0.9 MB of text takes 13 ms, many small values several times that."""

T = TypeVar("T")


class CatchUp:
    """One thread for all pets: the rules hold the interpreter, so that two would only take it from each other."""

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(1)

    async def run(self, state: State, save: bytes, now_ms: int, work: Callable[[], T]) -> T:
        """What `work` gives back, which lets the rules live `state` (its stored form is `save`) up to `now_ms`.

        `work` is pure: cancelled, it is left to end by itself and nothing follows from it. The caller holds the pet's
        lock. Time is passed whole and not in slices, since which late slots are due depends on the real now.
        """
        if len(save) <= IN_LOOP_SAVE_BYTES_MAX and rules.gap_ms(state, now_ms) <= IN_LOOP_GAP_MS_MAX:
            return work()
        return await trio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)
