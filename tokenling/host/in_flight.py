"""Requests under way: how many there may be, in all and of one client. Parked long-polls have bounds of their own."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tokenling.host.errors import ApiError
from tokenling.host.waits import Waits

IN_FLIGHT_MAX = 256
"""In all: with 2 ms of CPU each, half a second of work; who waits longer than that asks again anyway."""
IN_FLIGHT_PER_CLIENT_MAX = 64
"""Of one client that no pet knows: slow senders from one address never fill the whole."""
RETRY_S = 1


class InFlight:
    """The requests of one host that are being answered."""

    def __init__(
        self,
        waits: Waits,
        *,
        in_flight_max: int = IN_FLIGHT_MAX,
        per_client_max: int = IN_FLIGHT_PER_CLIENT_MAX,
    ) -> None:
        self._waits = waits
        self._in_flight_max = in_flight_max
        self._per_client_max = per_client_max
        self._begun = 0
        self._by_client: Counter[str] = Counter()

    @property
    def now(self) -> int:
        """Requests under way, without those that are parked."""
        return self._begun - self._waits.parked

    @contextmanager
    def hold(self, client: str | None) -> Iterator[None]:
        """Counts a request while the body runs. Raises `ApiError` 503 `overloaded`."""
        if self.now >= self._in_flight_max or self._by_client[client or ""] >= self._per_client_max:
            raise ApiError(503, "overloaded", "Too many requests are under way; ask again soon.", retry_after_s=RETRY_S)
        self._begun += 1
        if client is not None:
            self._by_client[client] += 1
        try:
            yield
        finally:
            self._begun -= 1
            if client is not None:
                self._by_client[client] -= 1
                if self._by_client[client] == 0:
                    del self._by_client[client]
