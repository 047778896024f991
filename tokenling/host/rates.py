"""How much each may ask: a token bucket per known pet, otherwise per client, in tables that cannot grow.

A pet is *known* once its key has opened it here: from then on its requests count for it alone, wherever they come
from, and neighbours behind the same address do not use up each other's share. Everything else (a first request, a
wrong key, a new pet, the page) counts for the client's address.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import trio

from tokenling.host.errors import ApiError

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Rate:
    """A bucket holds `burst` requests and gets `per_s` of them back each second."""

    per_s: float
    burst: int


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What is allowed, and how many buckets there may be."""

    pet: Rate = Rate(30.0, 300)
    """An owner's page asks once a second, and a child strokes the pet as fast as it can tap, on several devices."""
    client: Rate = Rate(40.0, 400)
    """A page and its files are some dozen requests, a family or a school behind one address some dozen pages. At 2 ms
    of CPU each, one client takes a tenth of a core at most."""
    buckets_max: int = 4096
    """A bucket takes about 300 bytes: 1.2 MB. Clients beyond that share one bucket until others have refilled."""


LIMITS = RateLimits()


class Bucket:
    """What is left of a share, reckoned when it is asked for."""

    __slots__ = ("at", "left")

    def __init__(self, left: float, at: float) -> None:
        self.left = left
        self.at = at

    def refilled(self, rate: Rate, now: float) -> float:
        return min(rate.burst, self.left + (now - self.at) * rate.per_s)

    def take(self, rate: Rate, now: float) -> float:
        """0 when one request is let through, else the seconds until one would be."""
        left = self.refilled(rate, now)
        self.at = now
        self.left = left - 1 if left >= 1 else left
        return 0.0 if left >= 1 else (1 - left) / rate.per_s


class Buckets(Generic[K]):
    """The buckets of one kind, the one used longest ago first. One that is full again says nothing and may go.

    With the table full of buckets that are not, newcomers share one: forgetting a bucket would give its client a new
    share, and whoever owns many addresses could have that at will.
    """

    def __init__(self, rate: Rate, buckets_max: int) -> None:
        self._rate = rate
        self._buckets_max = buckets_max
        self._held: OrderedDict[K, Bucket] = OrderedDict()
        self._shared = Bucket(rate.burst, 0.0)

    def __len__(self) -> int:
        return len(self._held)

    def take(self, key: K, now: float) -> float:
        """As `Bucket.take`, of the bucket of `key`."""
        bucket = self._held.get(key)
        if bucket is None:
            if not self._has_room(now):
                return self._shared.take(self._rate, now)
            bucket = self._held[key] = Bucket(self._rate.burst, now)
        self._held.move_to_end(key)
        return bucket.take(self._rate, now)

    def _has_room(self, now: float) -> bool:
        if len(self._held) < self._buckets_max:
            return True
        oldest, bucket = next(iter(self._held.items()))
        if bucket.refilled(self._rate, now) < self._rate.burst:
            return False
        del self._held[oldest]
        return True


class Rates:
    """The limits of one host. `now` is a monotonic clock in seconds.

    None admits everything: in a preview, who reaches the host sits at the machine and may do worse to it.
    """

    def __init__(self, limits: RateLimits | None = LIMITS, *, now: Callable[[], float] = trio.current_time) -> None:
        self.limited = limits is not None
        limits = limits or LIMITS
        self._now = now
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._known_max = limits.buckets_max
        self._pets: Buckets[str] = Buckets(limits.pet, limits.buckets_max)
        self._clients: Buckets[str] = Buckets(limits.client, limits.buckets_max)

    def admit(self, pet_id: str | None, key_hash: bytes | None, client: str | None) -> bool:
        """Counts one request; whether it was a known pet's, which its address answers for no more.

        Raises `ApiError` 429 `too_many_requests` with the time to wait.
        """
        known = pet_id is not None and key_hash is not None and self._known.get(pet_id) == key_hash
        if not self.limited:
            return known
        now = self._now()
        if known and pet_id is not None:
            wait_s = self._pets.take(pet_id, now)
        else:
            wait_s = 0.0 if client is None else self._clients.take(client, now)
        if wait_s:
            detail = "This pet, or this address, has asked too often; wait and ask again."
            raise ApiError(429, "too_many_requests", detail, retry_after_s=math.ceil(wait_s))
        return known

    def learn(self, pet_id: str, key_hash: bytes, *, opened: bool) -> None:
        """Whether the key opened the pet just now."""
        if opened:
            self._known[pet_id] = key_hash
            self._known.move_to_end(pet_id)
            if len(self._known) > self._known_max:
                self._known.popitem(last=False)
        elif self._known.get(pet_id) == key_hash:
            del self._known[pet_id]
