"""`decide`: one event on one pet, answered by the table. Pure: no I/O, no clock."""

import hmac
from typing import overload

from tokenling.protocol.effects import Decision, Replay
from tokenling.protocol.errors import RefusalCode, Refused
from tokenling.protocol.events import Event, Fenced, HostEvent, OwnerOperation
from tokenling.protocol.record import Held, Record, StoredOperation
from tokenling.protocol.table import TABLE, Rule, state_of


@overload
def decide(held: Held, event: HostEvent, *, found: None = None, now_ms: int) -> Decision: ...
@overload
def decide(held: Held, event: Event, *, found: StoredOperation | None = None, now_ms: int) -> Decision | Replay: ...
def decide(held: Held, event: Event, *, found: StoredOperation | None = None, now_ms: int) -> Decision | Replay:
    """What follows from `event` for the pet that is `held`, or `Refused`.

    `found` is what the store holds for an owner's operation id, and None for other events. The key is checked before
    this is called; then, in this order: operation receipt (of the current and the previous epoch), epoch, state,
    guards. So a park whose answer was lost is answered again although its epoch is over.
    """
    record = held if isinstance(held, Record) else None
    if record is not None:
        if isinstance(event, OwnerOperation):
            if (replay := _receipt(record, event, found)) is not None:
                return replay
            _check_epoch(record, event.operation.epoch)
        elif isinstance(event, Fenced):
            _check_epoch(record, event.epoch)
            _check_revision(record, event.revision)
    return _apply(held, record, event, now_ms)


def _receipt(record: Record, event: OwnerOperation, found: StoredOperation | None) -> Replay | None:
    if found is None or found.epoch not in (record.epoch, record.epoch - 1):
        return None
    assert found.operation_id == event.operation.operation_id, "the receipt is the one that was asked for"
    if not hmac.compare_digest(found.digest, event.operation.digest):
        raise Refused(RefusalCode.OPERATION_REUSED, record)
    return Replay(found)


def _check_epoch(record: Record, epoch: int) -> None:
    if epoch != record.epoch:
        raise Refused(RefusalCode.STALE_EPOCH, record)


def _check_revision(record: Record, revision: int) -> None:
    if revision != record.revision:
        raise Refused(RefusalCode.STALE_REVISION, record)


def _apply(held: Held, record: Record | None, event: Event, now_ms: int) -> Decision:
    rule = TABLE[type(event)][state_of(held)]
    if not isinstance(rule, Rule):
        raise Refused(rule, record)
    for guard in rule.guards:
        guard(record, event, now_ms)
    after = rule.change(record, event, now_ms)
    effects = tuple(effect for build in rule.effects for effect in build(record, after, event, now_ms))
    return Decision(after, effects, created=rule.created)
