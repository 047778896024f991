"""What a host's parts hold on to: every container of theirs by its class and name, and how many it holds."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping

import trio

CONTAINERS = (dict, list, set, frozenset, tuple, deque)
OURS = ("tokenling.host", "tokenling.store")
WAITING_ROOMS = (trio.CapacityLimiter, trio.Lock, trio.lowlevel.ParkingLot)
"""Of Trio's own: where a task or a request could be left behind."""


def held_by(*roots: object) -> Counter[str]:
    """Entries by `Class.attribute`, of everything that is reached from the roots through objects of the host's rooms
    and through containers, nested ones counted to the attribute that they hang on."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    ahead: list[tuple[str, object]] = [("", root) for root in roots]
    while ahead:
        name, thing = ahead.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, CONTAINERS):
            found[name] += len(thing)
            ahead += [(name, inner) for inner in _inside(thing)]
        elif type(thing).__module__.startswith(OURS) or isinstance(thing, WAITING_ROOMS):
            ahead += [(f"{type(thing).__name__}.{attribute}", value) for attribute, value in _attributes(thing)]
    return found


def _inside(thing: Iterable[object]) -> Iterable[object]:
    return (*thing, *thing.values()) if isinstance(thing, Mapping) else thing


def _attributes(thing: object) -> Iterable[tuple[str, object]]:
    slots = {name for kind in type(thing).__mro__ for name in _slots_of(kind)}
    yield from getattr(thing, "__dict__", {}).items()
    yield from ((name, getattr(thing, name)) for name in slots if hasattr(thing, name))


def _slots_of(kind: type) -> Iterable[str]:
    slots = kind.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else slots
    # a private slot is kept under its class's name
    return [
        f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name
        for name in named
        if name != "__weakref__"
    ]
