"""The clock task: wakes each pet when its engine says that it is due.

Wall time is what pets live by and it may be set back or forth, so the task never sleeps on it for longer than
`REREAD_S`. The clock is a parameter: a test injects `now_ms`, moves it, and calls `nudge`.
"""

import heapq
from collections.abc import Callable

import trio

REREAD_S = 30.0
"""The wall clock is read again at least this often (design section 2)."""
SET_BACK_MS = 60_000
"""A wall clock that went back by more than a tick wakes every pet, so that its engine re-bases its body clock."""
SLACK_ENTRIES = 64
"""Outdated heap entries allowed beside twice the live ones before the heap is built again (a guess)."""


class Clock:
    """The due times of the active pets. `wake` is called with a pet's id and must not block."""

    def __init__(self, now_ms: Callable[[], int], wake: Callable[[str], None]) -> None:
        self._now_ms = now_ms
        self._wake = wake
        self._due: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self._sooner = trio.Event()
        self._last_ms = now_ms()

    def schedule(self, pet_id: str, due_ms: int) -> None:
        """Wake the pet at `due_ms`, in place of any earlier arrangement."""
        self._due[pet_id] = due_ms
        heapq.heappush(self._heap, (due_ms, pet_id))
        if len(self._heap) > 2 * len(self._due) + SLACK_ENTRIES:
            self._heap = [(due, pet) for pet, due in self._due.items()]
            heapq.heapify(self._heap)
        if self._heap[0] == (due_ms, pet_id):
            self.nudge()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, pet_id: str) -> bool:
        """Whether the pet has a due time."""
        return pet_id in self._due

    def forget(self, pet_id: str) -> None:
        """Wake the pet no more."""
        self._due.pop(pet_id, None)

    def nudge(self) -> None:
        """Make the task read the wall clock now."""
        self._sooner.set()

    def run_due(self) -> float:
        """Wake every pet that is due now; returns the seconds until the next look."""
        now = self._now_ms()
        if now < self._last_ms - SET_BACK_MS:
            for pet_id in list(self._due):
                self.schedule(pet_id, now)
        self._last_ms = now
        while self._heap:
            due, pet_id = self._heap[0]
            current = self._due.get(pet_id) == due
            if current and due > now:
                break
            heapq.heappop(self._heap)
            if current:
                del self._due[pet_id]
                self._wake(pet_id)
        return min(REREAD_S, (self._heap[0][0] - now) / 1000) if self._heap else REREAD_S

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            self._sooner = trio.Event()
            wait_s = self.run_due()
            with trio.move_on_after(wait_s):
                await self._sooner.wait()
