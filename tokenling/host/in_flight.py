"""Requests under way: how many there may be, in all and of one client. Long-polls have bounds of their own."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from tokenling.host.errors import ApiError

IN_FLIGHT_MAX = 256
"""In all. More wait for a place: with 1 ms of CPU each, a quarter of a second."""
PLACE_S = 5.0
"""How long: behind senders this slow the host is not of use now."""
IN_FLIGHT_PER_CLIENT_MAX = 64
"""Of one client that no pet knows: slow senders from one address never fill the whole."""
RETRY_S = 1


class InFlight:
    """The requests of one host that are being answered."""

    def __init__(
        self,
        *,
        in_flight_max: int = IN_FLIGHT_MAX,
        per_client_max: int = IN_FLIGHT_PER_CLIENT_MAX,
        place_s: float = PLACE_S,
    ) -> None:
        self._places = trio.CapacityLimiter(in_flight_max)
        self._per_client_max = per_client_max
        self._place_s = place_s
        self._by_client: Counter[str] = Counter()

    @property
    def now(self) -> int:
        """Requests under way."""
        return self._places.borrowed_tokens

    @asynccontextmanager
    async def hold(self, who: object, client: str | None) -> AsyncIterator[None]:
        """Counts the request `who` while the body runs. Raises `ApiError` 503 `overloaded`."""
        if client is not None and self._by_client[client] >= self._per_client_max:
            raise overloaded()
        with trio.move_on_after(self._place_s) as waiting:
            await self._places.acquire_on_behalf_of(who)
        if waiting.cancelled_caught:
            raise overloaded()
        try:
            self._enter(client, 1)
            yield
        finally:
            self._enter(client, -1)
            self._places.release_on_behalf_of(who)

    def _enter(self, client: str | None, step: int) -> None:
        if client is not None:
            self._by_client[client] += step
            if self._by_client[client] == 0:
                del self._by_client[client]


def overloaded() -> ApiError:
    return ApiError(503, "overloaded", "Too many requests are under way; ask again soon.", retry_after_s=RETRY_S)
