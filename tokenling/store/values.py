"""What the store answers besides the protocol's own values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tokenling.protocol import Status

_HOSTED = (Status.PREPARED, Status.ACTIVE)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pets are held, by status and by brain. `by_status` names every status, `by_brain` those in use.

    `hosted_by_brain` counts active and prepared pets: the ones that keep a host from starting with another brain.
    """

    pets: int
    by_status: Mapping[Status, int]
    by_brain: Mapping[str, int]
    hosted_by_brain: Mapping[str, int]


def counts_of(rows: Iterable[tuple[object, ...]]) -> Counts:
    """The counts in rows of status, brain and number."""
    by_status = dict.fromkeys(Status, 0)
    by_brain: dict[str, int] = {}
    hosted: dict[str, int] = {}
    for name, brain, number in rows:
        assert isinstance(name, str)
        assert isinstance(brain, str)
        assert isinstance(number, int)
        by_status[Status(name)] += number
        by_brain[brain] = by_brain.get(brain, 0) + number
        if Status(name) in _HOSTED:
            hosted[brain] = hosted.get(brain, 0) + number
    return Counts(sum(by_status.values()), by_status, by_brain, hosted)


@dataclass(frozen=True, slots=True)
class PetSummary:
    """A pet as its host's operator may see it: no id, no words."""

    pet_digest: str
    status: Status
    prepared_at_ms: int
    changed_at_ms: int
    save_bytes: int


@dataclass(frozen=True, slots=True)
class LivePet:
    """An active pet and its save. `pet` is its place in the table: later ones come behind it."""

    pet: int
    pet_id: str
    save: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReplacedSave:
    """A save that a takeover replaced."""

    save: bytes = field(repr=False)
    epoch: int
    revision: int
    replaced_at_ms: int


@dataclass(frozen=True, slots=True)
class Rebrained:
    """How many pets got the new brain, and where the database from before lies."""

    pets: int
    backup: Path


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the store task did since it opened. A *group* is the calls that share one commit; `cpu_s` is the processor
    time that its thread took for them."""

    writes: int
    reads: int
    commits: int
    failed_commits: int
    largest_group: int
    queued: int
    cpu_s: float
