"""Requests under way: how many there may be, in all and of one owner or client. Long-polls have bounds of their own.

An owner never waits behind others: some requests of each pet that is known have places apart from those that strangers,
slow readers and unfinished uploads may take all of.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from tokenling.host.errors import ApiError

IN_FLIGHT_MAX = 256
"""In all, owners' own places apart. More wait for a place: with 1 ms of CPU each, a quarter of a second."""
PLACE_S = 5.0
"""How long: behind senders this slow the host is not of use now."""
IN_FLIGHT_PER_CLIENT_MAX = 64
"""Of one pet that is known, or of one client that no pet knows: who is slow alone never fills the whole."""
OWN_PLACES = 4
"""Of each known pet: what a page has under way at once (a poll, a command, another device), and one that is slow."""
OWN_PLACES_MAX = 256
"""Of all known pets; beyond that their requests wait like any other."""
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
        self._own_places = trio.CapacityLimiter(OWN_PLACES_MAX)
        self._per_client_max = per_client_max
        self._place_s = place_s
        self._by_sender: Counter[tuple[str, str]] = Counter()

    @property
    def now(self) -> int:
        """Requests under way."""
        return self._places.borrowed_tokens + self._own_places.borrowed_tokens

    @asynccontextmanager
    async def hold(self, who: object, *, pet: str | None, client: str | None) -> AsyncIterator[None]:
        """Counts the request `who` while the body runs. Raises `ApiError` 503 `overloaded`.

        `pet` is the one that is known to be the sender's, None for a stranger's; `client` is the stranger's address,
        None where clients cannot be told apart.
        """
        sender = ("pet", pet) if pet is not None else ("client", client) if client is not None else None
        held = 0 if sender is None else self._by_sender[sender]
        if held >= self._per_client_max:
            raise overloaded()
        pool = await self._place_for(who, own=pet is not None and held < OWN_PLACES)
        try:
            self._enter(sender, 1)
            yield
        finally:
            self._enter(sender, -1)
            pool.release_on_behalf_of(who)

    async def _place_for(self, who: object, *, own: bool) -> trio.CapacityLimiter:
        if own and self._own_places.available_tokens > 0:
            self._own_places.acquire_on_behalf_of_nowait(who)
            return self._own_places
        with trio.move_on_after(self._place_s) as waiting:
            await self._places.acquire_on_behalf_of(who)
        if waiting.cancelled_caught:
            raise overloaded()
        return self._places

    def _enter(self, sender: tuple[str, str] | None, step: int) -> None:
        if sender is not None:
            self._by_sender[sender] += step
            if self._by_sender[sender] == 0:
                del self._by_sender[sender]


def overloaded() -> ApiError:
    return ApiError(503, "overloaded", "Too many requests are under way; ask again soon.", retry_after_s=RETRY_S)
