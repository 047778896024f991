"""The protocol as data: for each event and each state, the rule that holds or the refusal.

`decide` reads this table, the simulator walks it, docs/protocol.md is drawn from it. A rule's guards are asked in
order, then `change` makes the record that follows (None: it goes), then each effect is built. All of it is pure.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from tokenling.protocol import effects as fx
from tokenling.protocol import events as ev
from tokenling.protocol.bounds import OPERATIONS_MAX, PREPARED_KEPT_MS, RESTORE_EPOCH_STEP
from tokenling.protocol.errors import RefusalCode, Refused
from tokenling.protocol.record import ERROR_CODE_POINTS_MAX, Held, Record, Status, StoredOperation, Tombstone


class State(StrEnum):
    """A pet's status, or the two ways of having none."""

    ABSENT = "absent"
    PREPARED = "prepared"
    ACTIVE = "active"
    PARKED = "parked"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


def state_of(held: Held) -> State:
    """The table's row for what the store holds."""
    match held:
        case None:
            return State.ABSENT
        case Tombstone():
            return State.DELETED
        case Record(status=status):
            return State(status.value)


Guard = Callable[[Record | None, ev.Event, int], None]
Change = Callable[[Record | None, ev.Event, int], Record | None]
Build = Callable[[Record | None, Record | None, ev.Event, int], tuple[fx.Effect, ...]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What an event does in one state: `to` is the state behind it, `created` is told to whoever prepared."""

    to: State
    change: Change
    effects: tuple[Build, ...] = ()
    guards: tuple[Guard, ...] = ()
    created: bool = False


E = TypeVar("E", bound=ev.Event)


def _as(event: ev.Event, kind: type[E]) -> E:
    assert isinstance(event, kind), "the table calls each rule with its own event"
    return event


def _there(record: Record | None) -> Record:
    assert record is not None, "the table calls this rule only where there is a record"
    return record


# Guards: their first lines are the words of docs/protocol.md.


def same_key(record: Record | None, event: ev.Event, now_ms: int) -> None:
    """the key is the pet's own, else `id_taken`"""
    if not hmac.compare_digest(_there(record).key_hash, _as(event, ev.Prepare).key_hash):
        raise Refused(RefusalCode.ID_TAKEN)  # says nothing of another owner's pet


def room_left(record: Record | None, event: ev.Event, now_ms: int) -> None:
    """the host has room for a pet and for a prepared one, else `host_full`"""
    room = _as(event, ev.Prepare).occupancy
    if room.pets >= room.pets_max or room.prepared >= room.prepared_max:
        raise Refused(RefusalCode.HOST_FULL)


def epoch_has_room(record: Record | None, event: ev.Event, now_ms: int) -> None:
    """the epoch keeps fewer than its most operation ids, else `epoch_full`"""
    if _there(record).operations >= OPERATIONS_MAX:
        raise Refused(RefusalCode.EPOCH_FULL, record)


def right_device(record: Record | None, event: ev.Event, now_ms: int) -> None:
    """the device is the destination, or there is none, or it takes over, else `other_device`"""
    wanted = _there(record).device_id
    assert isinstance(event, ev.Activate | ev.Park), "only a transfer names a device"
    takeover = isinstance(event, ev.Activate) and event.takeover
    if wanted is not None and wanted != event.device_id and not takeover:
        raise Refused(RefusalCode.OTHER_DEVICE, record)


def waited_long(record: Record | None, event: ev.Event, now_ms: int) -> None:
    """it was prepared at least 24 h ago, else `not_due`"""
    if now_ms - _there(record).prepared_at_ms < PREPARED_KEPT_MS:
        raise Refused(RefusalCode.NOT_DUE, record)


# Changes: the record that follows. Each written one has the next revision, so that every write is fenced.


def _next(record: Record | None, now_ms: int) -> Record:
    held = _there(record)
    return replace(held, revision=held.revision + 1, changed_at_ms=max(now_ms, held.changed_at_ms))


def nothing(record: Record | None, event: ev.Event, now_ms: int) -> Record | None:
    """the record stays as it is"""
    return record


def gone(record: Record | None, event: ev.Event, now_ms: int) -> None:
    """the record goes"""


def prepared(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """epoch 1, revision 1, the save as sent"""
    new = _as(event, ev.Prepare)
    return Record(
        pet_id=new.pet_id,
        key_hash=new.key_hash,
        status=Status.PREPARED,
        epoch=1,
        revision=1,
        brain_id=new.brain_id,
        save=new.save,
        device_id=None,
        error=None,
        prepared_at_ms=now_ms,
        changed_at_ms=now_ms,
    )


def activated(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the same epoch, the uploaded save"""
    wish = _as(event, ev.Activate)
    after = replace(_next(record, now_ms), status=Status.ACTIVE, save=wish.save, brain_id=wish.brain_id, device_id=None)
    return replace(after, operations=after.operations + 1)


def parked(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the next epoch, the latest save, the destination device"""
    wish, after = _as(event, ev.Park), _next(record, now_ms)
    save = after.save if wish.save is None else wish.save
    return replace(
        after,
        status=Status.PARKED,
        epoch=after.epoch + 1,
        save=save,
        device_id=wish.device_id,
        error=None,
        operations=0,
    )


def applied(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the command's save"""
    after = _next(record, now_ms)
    return replace(after, save=_as(event, ev.Apply).save, operations=after.operations + 1)


def lived(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the executor's save"""
    return replace(_next(record, now_ms), save=_as(event, ev.Live).save)


def quarantined(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the save as it was before the failure, the error"""
    error = _as(event, ev.Quarantine).error[:ERROR_CODE_POINTS_MAX]
    return replace(_next(record, now_ms), status=Status.QUARANTINED, error=error)


def rekeyed(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the new key's hash; the old key is dead"""
    after = _next(record, now_ms)
    return replace(after, key_hash=_as(event, ev.ChangeKey).new_key_hash, operations=after.operations + 1)


def restored(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """epoch and revision far beyond any that was lost, no destination device"""
    held, beyond = _there(record), max(now_ms // 1000, _as(event, ev.Restore).floor + 1)
    return replace(
        _next(record, now_ms),
        status=Status.PARKED,
        epoch=max(held.epoch + RESTORE_EPOCH_STEP, beyond),
        revision=max(held.revision + RESTORE_EPOCH_STEP, beyond),
        device_id=None,
        error=None,
        operations=0,
    )


def rebrained(record: Record | None, event: ev.Event, now_ms: int) -> Record:
    """the new brain, the save rewritten for it"""
    wish = _as(event, ev.Rebrain)
    return replace(_next(record, now_ms), brain_id=wish.brain_id, save=wish.save)


# Effects.


def write(before: Record | None, after: Record | None, event: ev.Event, now_ms: int) -> tuple[fx.Effect, ...]:
    """write"""
    expected = (None, None) if before is None else (before.epoch, before.revision)
    return (fx.WriteRecord(_there(after), *expected),)


def check_room(before: Record | None, after: Record | None, event: ev.Event, now_ms: int) -> tuple[fx.Effect, ...]:
    """check the room again"""
    room = _as(event, ev.Prepare).occupancy
    return (fx.CheckRoom(room.pets_max, room.prepared_max),)


def keep_operation(before: Record | None, after: Record | None, event: ev.Event, now_ms: int) -> tuple[fx.Effect, ...]:
    """keep the operation receipt"""
    assert isinstance(event, ev.OwnerOperation), "only an owner's wish has an operation id"
    sent, result = event.operation, _there(after)
    stored = StoredOperation(sent.operation_id, sent.epoch, sent.digest, None, result.epoch, result.revision)
    return (fx.KeepOperation(stored),)


def forget_operations(
    before: Record | None, after: Record | None, event: ev.Event, now_ms: int
) -> tuple[fx.Effect, ...]:
    """forget receipts older than the previous epoch"""
    return (fx.ForgetOperations(_there(after).epoch - 1),)


def keep_replaced(before: Record | None, after: Record | None, event: ev.Event, now_ms: int) -> tuple[fx.Effect, ...]:
    """keep the replaced save 7 days, unless the destination device itself came"""
    held = _there(before)
    if held.device_id == _as(event, ev.Activate).device_id:
        return ()
    return (fx.KeepReplaced(held.save, held.epoch, held.revision, now_ms),)


def keep_turn_receipt(
    before: Record | None, after: Record | None, event: ev.Event, now_ms: int
) -> tuple[fx.Effect, ...]:
    """keep the turn receipt, if there is one"""
    receipt = _as(event, ev.Live).turn_receipt
    return () if receipt is None else (fx.KeepTurnReceipt(receipt, now_ms),)


def bury(before: Record | None, after: Record | None, event: ev.Event, now_ms: int) -> tuple[fx.Effect, ...]:
    """remove everything, leave a tombstone"""
    return (fx.BuryRecord(),)


def drop(before: Record | None, after: Record | None, event: ev.Event, now_ms: int) -> tuple[fx.Effect, ...]:
    """remove everything, leave nothing"""
    held = _there(before)
    return (fx.DropRecord(held.epoch, held.revision),)


# The table. Rows are events, columns states.

_HERE_ALREADY = Rule(State.PREPARED, nothing, guards=(same_key,))
_PARK = Rule(State.PARKED, parked, (write, forget_operations, keep_operation))
_DELETE = Rule(State.DELETED, gone, (bury,))
_RESTORE = Rule(State.PARKED, restored, (write, forget_operations))


def _rekey(state: State) -> Rule:
    return Rule(state, rekeyed, (write, keep_operation), (epoch_has_room,))


_NOT_FOUND = {State.ABSENT: RefusalCode.NOT_FOUND, State.DELETED: RefusalCode.NOT_FOUND}
_ONLY_ACTIVE = _NOT_FOUND | dict.fromkeys((State.PREPARED, State.PARKED, State.QUARANTINED), RefusalCode.NOT_ACTIVE)
_ONLY_PREPARED = _NOT_FOUND | dict.fromkeys((State.ACTIVE, State.PARKED, State.QUARANTINED), RefusalCode.NOT_PREPARED)

TABLE: Mapping[type[ev.Event], Mapping[State, Rule | RefusalCode]] = {
    ev.Prepare: {
        State.ABSENT: Rule(State.PREPARED, prepared, (write, check_room), (room_left,), created=True),
        State.PREPARED: _HERE_ALREADY,
        State.ACTIVE: replace(_HERE_ALREADY, to=State.ACTIVE),
        State.PARKED: replace(_HERE_ALREADY, to=State.PARKED),
        State.QUARANTINED: replace(_HERE_ALREADY, to=State.QUARANTINED),
        State.DELETED: RefusalCode.PET_DELETED,
    },
    ev.Activate: _NOT_FOUND
    | {
        State.PREPARED: Rule(State.ACTIVE, activated, (write, keep_operation), (epoch_has_room,)),
        State.ACTIVE: RefusalCode.ALREADY_ACTIVE,
        State.PARKED: Rule(
            State.ACTIVE, activated, (write, keep_replaced, keep_operation), (right_device, epoch_has_room)
        ),
        State.QUARANTINED: RefusalCode.QUARANTINED,
    },
    # An epoch that is full still parks: that is the way out of it.
    ev.Park: _NOT_FOUND
    | {
        State.PREPARED: _PARK,
        State.ACTIVE: _PARK,
        State.PARKED: replace(_PARK, guards=(right_device,)),
        State.QUARANTINED: _PARK,
    },
    ev.Ask: _ONLY_ACTIVE | {State.ACTIVE: Rule(State.ACTIVE, nothing, guards=(epoch_has_room,))},
    ev.Apply: _ONLY_ACTIVE | {State.ACTIVE: Rule(State.ACTIVE, applied, (write, keep_operation), (epoch_has_room,))},
    ev.Live: _ONLY_ACTIVE | {State.ACTIVE: Rule(State.ACTIVE, lived, (write, keep_turn_receipt))},
    ev.Quarantine: _ONLY_ACTIVE | {State.ACTIVE: Rule(State.QUARANTINED, quarantined, (write,))},
    ev.ChangeKey: _NOT_FOUND
    | {state: _rekey(state) for state in (State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED)},
    ev.Delete: _NOT_FOUND | dict.fromkeys((State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED), _DELETE),
    ev.Expire: _ONLY_PREPARED | {State.PREPARED: Rule(State.ABSENT, gone, (drop,), (waited_long,))},
    ev.Restore: _NOT_FOUND | dict.fromkeys((State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED), _RESTORE),
    ev.Rebrain: _NOT_FOUND
    | {
        State.PREPARED: Rule(State.PREPARED, rebrained, (write,)),
        State.ACTIVE: Rule(State.ACTIVE, rebrained, (write,)),
        State.PARKED: RefusalCode.NOT_ACTIVE,
        State.QUARANTINED: RefusalCode.QUARANTINED,
    },
}
