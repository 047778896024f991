"""Laws that hold along every sequence of events, whatever their order."""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st
from protocol_cases import DEVICE, EVENTS, NOW_MS, OTHER_DEVICE, OTHER_KEY, PET_ID

from tokenling.protocol import (
    Activate,
    Apply,
    BuryRecord,
    Decision,
    DropRecord,
    Event,
    ForgetOperations,
    Held,
    KeepOperation,
    Live,
    Operation,
    Park,
    Quarantine,
    Record,
    Refused,
    Replay,
    Restore,
    Status,
    StoredOperation,
    Tombstone,
    WriteRecord,
    decide,
    pet_digest,
)


@dataclass
class Shelf:
    """A store of one pet, in memory: what `carry_out` must do, in a dozen lines."""

    held: Held = None
    operations: dict[str, StoredOperation] = field(default_factory=dict)

    def carry_out(self, decision: Decision, answer: bytes) -> None:
        for effect in decision.answered(answer):
            match effect:
                case WriteRecord(record, epoch, revision):
                    held = self.held if isinstance(self.held, Record) else None
                    assert (epoch, revision) == ((held.epoch, held.revision) if held else (None, None))
                    self.held = record
                case KeepOperation(operation):
                    assert operation.operation_id not in self.operations
                    self.operations[operation.operation_id] = operation
                case ForgetOperations(before):
                    self.operations = {k: v for k, v in self.operations.items() if v.epoch >= before}
                case BuryRecord():
                    self.held, self.operations = Tombstone(pet_digest(PET_ID)), {}
                case DropRecord():
                    self.held, self.operations = None, {}


def wishes(shelf: Shelf, name: str, back: int, op: int, device: str) -> Event:
    """The event `name`, by an owner or executor that is `back` epochs or revisions behind."""
    record = shelf.held if isinstance(shelf.held, Record) else None
    epoch, revision = (record.epoch, record.revision) if record else (1, 1)
    event = EVENTS[name]
    match event:
        case Activate() | Park():
            sent = Operation(f"op-{op}", epoch - back, name.encode().ljust(32))
            return replace(event, operation=sent, device_id=device)
        case Live() | Quarantine():
            return replace(event, epoch=epoch, revision=revision - back)
    if hasattr(event, "operation"):
        return replace(event, operation=Operation(f"op-{op}", epoch - back, name.encode().ljust(32)))
    return event


STEP = st.tuples(
    st.sampled_from(sorted(set(EVENTS) - {"Delete"}) * 2 + ["Delete"]),
    st.sampled_from([0, 0, 0, 1, 2]),
    st.integers(0, 5),
    st.sampled_from([DEVICE, OTHER_DEVICE]),
)


@given(st.lists(STEP, max_size=40))
def test_epochs_and_revisions_never_go_back_and_one_operation_applies_once(
    steps: list[tuple[str, int, int, str]],
) -> None:
    shelf, deleted, applied = Shelf(), False, set()
    for number, (name, back, op, device) in enumerate(steps):
        event = wishes(shelf, name, back, op, device)
        before, known = shelf.held, dict(shelf.operations)
        sent = getattr(event, "operation", None)
        found = known.get(sent.operation_id) if sent else None
        try:
            decision = decide(before, event, found=found, now_ms=NOW_MS + number)
        except Refused:
            continue
        if isinstance(decision, Replay):
            assert found == decision.stored
            continue
        shelf.carry_out(decision, str(number).encode())
        after = shelf.held
        deleted |= isinstance(after, Tombstone)
        assert deleted == isinstance(after, Tombstone), "deletion is final"
        if isinstance(before, Record) and isinstance(after, Record):
            wrote = before is not after
            assert after.revision - before.revision == wrote or isinstance(event, Restore)
            assert after.epoch >= before.epoch
            assert after.epoch == before.epoch or after.status is Status.PARKED, "only a parked pet begins an epoch"
        if isinstance(event, Apply | Live):
            assert isinstance(before, Record)
            assert before.status is Status.ACTIVE, "one executor"
        if sent and decision.effects:
            assert (sent.operation_id, sent.epoch) not in applied, "an operation applies once"
            applied.add((sent.operation_id, sent.epoch))
        if after is None:
            applied.clear()
        if isinstance(after, Record):
            current = [one for one in shelf.operations.values() if one.epoch == after.epoch]
            assert len(current) == after.operations, "the record counts its epoch's operations"
            assert all(one.epoch >= after.epoch - 1 for one in shelf.operations.values())


def test_the_old_key_is_dead_in_the_record_that_follows_a_key_change() -> None:
    shelf = Shelf()
    for name in ("Prepare", "ChangeKey"):
        decision = decide(shelf.held, wishes(shelf, name, 0, 0, DEVICE), now_ms=NOW_MS)
        assert isinstance(decision, Decision)
        shelf.carry_out(decision, b"")
    assert isinstance(shelf.held, Record)
    assert shelf.held.key_hash == OTHER_KEY
