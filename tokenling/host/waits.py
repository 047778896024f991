"""Long-polls that are parked now: how many there may be, and how all of them end at once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from tokenling.host.errors import ApiError

WAITS_MAX = 1500
"""Parked requests in all: 33 KB each were measured, so 50 MB; a fleet's page count is far below."""
WAITS_PER_PET_MAX = 16
"""Parked requests of one pet: an owner's tabs and devices (a guess)."""
RETRY_S = 5


class Waits:
    """The parked requests of one host. `end` lets all of them go and parks no more."""

    def __init__(self, *, waits_max: int = WAITS_MAX, waits_per_pet_max: int = WAITS_PER_PET_MAX) -> None:
        self._waits_max = waits_max
        self._waits_per_pet_max = waits_per_pet_max
        self._scopes: set[trio.CancelScope] = set()
        self._by_pet: Counter[str] = Counter()
        self.ended = False

    @property
    def parked(self) -> int:
        return len(self._scopes)

    @contextmanager
    def hold(self, pet_id: str) -> Iterator[None]:
        """The body may park; `end` cuts it short and goes on behind it. Raises `ApiError` 429 `too_many_waits`."""
        if self.parked >= self._waits_max or self._by_pet[pet_id] >= self._waits_per_pet_max:
            raise ApiError(429, "too_many_waits", "Ask again without `wait`, or later.", retry_after_s=RETRY_S)
        scope = trio.CancelScope()
        self._scopes.add(scope)
        self._by_pet[pet_id] += 1
        try:
            with scope:
                yield
        finally:
            self._scopes.remove(scope)
            self._by_pet[pet_id] -= 1
            if self._by_pet[pet_id] == 0:
                del self._by_pet[pet_id]

    def end(self) -> None:
        self.ended = True
        for scope in self._scopes:
            scope.cancel()
