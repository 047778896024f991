"""What is known of a pet: a record, or the tombstone of a deleted one, or nothing."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

SAVE_BYTES_MAX = 1_048_576
"""A save's bound (design section 3)."""
ERROR_CODE_POINTS_MAX = 400
"""A quarantined pet's error: frames and an exception's name, never values; as long as a chat line may be."""
INTEGER_MAX = 2**53 - 1
"""Epochs and revisions cross JSON: the largest integer that JavaScript keeps exact."""
KEY_HASH_BYTES = 32
"""SHA-256."""


class Status(StrEnum):
    """What the host does with a pet that it holds. A deleted pet has no record and so no status."""

    PREPARED = "prepared"
    ACTIVE = "active"
    PARKED = "parked"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Record:
    """A pet as the store holds it.

    `device_id` is the destination of a parked pet, the only device that resumes it by itself; `error` belongs to a
    quarantined one; `operations` counts the operation ids kept in this epoch.
    """

    pet_id: str
    key_hash: bytes = field(repr=False)
    status: Status
    epoch: int
    revision: int
    brain_id: str
    save: bytes = field(repr=False)
    device_id: str | None
    error: str | None
    prepared_at_ms: int
    changed_at_ms: int
    operations: int = 0

    def __post_init__(self) -> None:
        assert len(self.key_hash) == KEY_HASH_BYTES, "a key hash is SHA-256"
        assert 1 <= self.epoch <= INTEGER_MAX, "an epoch is a positive JSON integer"
        assert 1 <= self.revision <= INTEGER_MAX, "a revision is a positive JSON integer"
        assert len(self.save) <= SAVE_BYTES_MAX, "a save is bounded before it comes here"
        assert (self.error is not None) == (self.status is Status.QUARANTINED), "only a quarantined pet has an error"
        assert self.device_id is None or self.status is Status.PARKED, "only a parked pet has a destination"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """All that is left of a deleted pet: the hash of its id."""

    pet_digest: str


Held = Record | Tombstone | None
"""What the store answers for an id."""


def pet_digest(pet_id: str) -> str:
    """The hash of a pet's id, 64 lower-case hex digits: what tombstones and the operator's lists show instead of it."""
    return hashlib.sha256(b"tokenling pet\0" + pet_id.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredOperation:
    """An operation receipt: what an owner's operation id stands for, and what it was answered.

    `epoch` is the one it was sent under; `result_epoch` and `result_revision` are the record's behind it. `answer` is
    None for one older than the last `FULL_ANSWERS_MAX` of its epoch.
    """

    operation_id: str
    epoch: int
    digest: bytes
    answer: bytes | None = field(repr=False)
    result_epoch: int
    result_revision: int
