"""The line of pets that are due by themselves: first come, first served, so many at once.

Slots stand on whole minutes and a night's weather changes on the hour, so a host of many pets has thousands due at the
same moment, and after a day of being down all of them. Each of those lived at once would be a task, a save and a job in
the queue, and an owner's word would wait behind all of it. So they wait here, as ids. What an owner does never does.
"""

PLACES_MIN = 24
PLACES_PER_LANE = 4
"""A pet in its place is read, thought about or committed in turn; so many keep a lane busy while the others are on
their way to or from the disk. With fewer than 16 over two lanes the lanes had gaps (measured)."""


class DueLine:
    """Who waits, and who is being lived. Synchronous; the executor starts and ends the living."""

    def __init__(self, places: int) -> None:
        assert places >= 1, "somebody can be lived"
        self._places = places
        self._waiting: dict[str, None] = {}
        self._lived: set[str] = set()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def join(self, pet_id: str) -> None:
        """The pet waits; one that waits already keeps its place."""
        self._waiting.setdefault(pet_id)

    def leave(self, pet_id: str) -> None:
        """The pet waits no more and takes up no place: it is over, or somebody drives it who does not wait."""
        self._waiting.pop(pet_id, None)
        self._lived.discard(pet_id)

    def ended(self, pet_id: str) -> None:
        """The pet's place is free. It may wait anew already."""
        self._lived.discard(pet_id)

    def must_yield(self, pet_id: str) -> bool:
        """Whether a pet that had its turn goes to the line's end: it has a place here, and others wait for one."""
        return pet_id in self._lived and bool(self._waiting)

    def next(self) -> str | None:
        """The pet to live next, in its place from now on; None while all places are taken or nobody waits."""
        if not self._waiting or len(self._lived) >= self._places:
            return None
        pet_id = next(iter(self._waiting))
        del self._waiting[pet_id]
        self._lived.add(pet_id)
        return pet_id


def places_for(lanes: int) -> int:
    """How many pets are lived at once for so many lanes."""
    return max(PLACES_MIN, PLACES_PER_LANE * lanes)
