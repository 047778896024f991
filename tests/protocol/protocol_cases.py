"""Pets, wishes and events for the protocol's tests."""

from dataclasses import replace

from tokenling.protocol import (
    Activate,
    Apply,
    Ask,
    ChangeKey,
    Decision,
    Delete,
    Event,
    Expire,
    Held,
    Live,
    Occupancy,
    Operation,
    Park,
    Prepare,
    Quarantine,
    Rebrain,
    Record,
    Restore,
    State,
    Status,
    StoredOperation,
    Tombstone,
    decide,
    pet_digest,
)

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
PET_ID = "6a0a6f4e-6ad3-4b0e-9a63-1f0b6a5d3c11"
DEVICE, OTHER_DEVICE = "device-a", "device-b"
KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ROOMY = Occupancy(pets=0, pets_max=64, prepared=0, prepared_max=16)

RECORD = Record(
    pet_id=PET_ID,
    key_hash=KEY,
    status=Status.ACTIVE,
    epoch=3,
    revision=20,
    brain_id="sprout-0",
    save=b'{"stored":1}',
    device_id=None,
    error=None,
    prepared_at_ms=NOW_MS - 2 * DAY_MS,
    changed_at_ms=NOW_MS - 1000,
    operations=5,
)


def held_in(state: State) -> Held:
    """A pet in each of the table's states."""
    match state:
        case State.ABSENT:
            return None
        case State.DELETED:
            return Tombstone(pet_digest(PET_ID))
        case State.PARKED:
            return replace(RECORD, status=Status.PARKED, device_id=DEVICE)
        case State.QUARANTINED:
            return replace(RECORD, status=Status.QUARANTINED, error="RuleError at body.py:12")
    return replace(RECORD, status=Status(state.value))


def operation(*, epoch: int = 3, name: str = "op-1", digest: bytes = b"d" * 32) -> Operation:
    return Operation(name, epoch, digest)


def stored(epoch: int, *, name: str = "op-1", digest: bytes = b"d" * 32) -> StoredOperation:
    return StoredOperation(name, epoch, digest, b'{"answer":1}', epoch, 19)


EVENTS: dict[str, Event] = {
    "Prepare": Prepare(PET_ID, KEY, "sprout-0", b'{"new":1}', ROOMY),
    "Activate": Activate(operation(), DEVICE, "sprout-0", b'{"uploaded":1}'),
    "Park": Park(operation(), DEVICE, b'{"latest":1}'),
    "Ask": Ask(operation()),
    "Apply": Apply(operation(), b'{"applied":1}'),
    "Live": Live(3, 20, b'{"lived":1}', b'{"receipt":1}'),
    "Quarantine": Quarantine(3, 20, "RuleError at body.py:12"),
    "ChangeKey": ChangeKey(operation(), OTHER_KEY),
    "Delete": Delete(),
    "Expire": Expire(),
    "Restore": Restore(),
    "Rebrain": Rebrain("sprout-1", b'{"rewritten":1}'),
}


def decided(held: Held, event: Event) -> Decision:
    """The decision of an event that is neither refused nor a replay."""
    decision = decide(held, event, now_ms=NOW_MS)
    assert isinstance(decision, Decision)
    return decision
