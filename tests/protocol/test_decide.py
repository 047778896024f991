"""`decide`: what each event does, in which order it is checked, and what is refused."""

from dataclasses import fields, replace

import pytest
from protocol_cases import (
    DAY_MS,
    DEVICE,
    EVENTS,
    KEY,
    NOW_MS,
    OTHER_DEVICE,
    OTHER_KEY,
    PET_ID,
    RECORD,
    ROOMY,
    decided,
    held_in,
    operation,
    stored,
)

from tokenling.protocol import (
    ERROR_CODE_POINTS_MAX,
    OPERATIONS_MAX,
    PREPARED_KEPT_MS,
    RESTORE_EPOCH_STEP,
    TABLE,
    Activate,
    Apply,
    Ask,
    BuryRecord,
    ChangeKey,
    CheckRoom,
    Delete,
    DropRecord,
    Expire,
    ForgetOperations,
    KeepOperation,
    KeepReplaced,
    KeepTurnReceipt,
    Live,
    Park,
    Prepare,
    Quarantine,
    Record,
    Refused,
    Replay,
    Restore,
    State,
    Status,
    StoredOperation,
    WriteRecord,
    decide,
    pet_digest,
)

# What must follow, written down apart from the table: a new state, or the refusal's code.
VERDICTS = {
    #             absent       prepared        active            parked        quarantined    deleted
    "Prepare": "prepared     prepared        active            parked        quarantined    !pet_deleted",
    "Activate": "!not_found  active          !already_active   active        !quarantined   !not_found",
    "Park": "!not_found      parked          parked            parked        parked         !not_found",
    "Ask": "!not_found       !not_active     active            !not_active   !not_active    !not_found",
    "Apply": "!not_found     !not_active     active            !not_active   !not_active    !not_found",
    "Live": "!not_found      !not_active     active            !not_active   !not_active    !not_found",
    "Quarantine": "!not_found !not_active    quarantined       !not_active   !not_active    !not_found",
    "ChangeKey": "!not_found prepared        active            parked        quarantined    !not_found",
    "Delete": "!not_found    gone            gone              gone          gone           !not_found",
    "Expire": "!not_found    gone            !not_prepared     !not_prepared !not_prepared  !not_found",
    "Restore": "!not_found   parked          parked            parked        parked         !not_found",
    "Rebrain": "!not_found   prepared        active            !not_active   !quarantined   !not_found",
}


@pytest.mark.parametrize("name", VERDICTS)
def test_every_event_in_every_state_has_the_verdict_written_here(name: str) -> None:
    found = []
    for state in State:
        try:
            record = decided(held_in(state), EVENTS[name]).record
        except Refused as refusal:
            found.append(f"!{refusal.code}")
        else:
            found.append(record.status.value if record else "gone")
    assert VERDICTS[name].split() == found


def test_every_event_is_in_the_verdicts_and_the_table_knows_every_state() -> None:
    assert set(VERDICTS) == set(EVENTS) == {kind.__name__ for kind in TABLE}
    assert all(set(State) == set(row) for row in TABLE.values())


@pytest.mark.parametrize("name", EVENTS)
def test_what_a_rule_promises_is_the_state_that_it_reaches(name: str) -> None:
    for state, rule in TABLE[type(EVENTS[name])].items():
        if hasattr(rule, "to"):
            record = decided(held_in(state), EVENTS[name]).record
            gone = {State.DELETED, State.ABSENT}
            assert rule.to in gone if record is None else rule.to.value == record.status.value


# Prepare


def test_preparing_makes_an_inactive_record_and_checks_the_room_in_the_same_transaction() -> None:
    decision = decided(None, EVENTS["Prepare"])
    expected = Record(PET_ID, KEY, Status.PREPARED, 1, 1, "sprout-0", b'{"new":1}', None, None, NOW_MS, NOW_MS)
    assert expected == decision.record
    assert (WriteRecord(expected, None, None), CheckRoom(64, 16)) == decision.effects
    assert decision.created


@pytest.mark.parametrize("state", [State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED])
def test_preparing_again_tells_the_actual_status_and_changes_nothing(state: State) -> None:
    decision = decided(held_in(state), EVENTS["Prepare"])
    assert (held_in(state), (), False) == (decision.record, decision.effects, decision.created)


def test_another_key_for_a_known_id_learns_nothing_but_that_it_is_taken() -> None:
    with pytest.raises(Refused) as caught:
        decide(RECORD, Prepare(PET_ID, OTHER_KEY, "sprout-0", b"{}", ROOMY), now_ms=NOW_MS)
    assert (
        caught.value.code,
        caught.value.http_status,
        caught.value.epoch,
        caught.value.pet_status,
    ) == ("id_taken", 409, None, None)


@pytest.mark.parametrize(
    ("room", "allowed"),
    [
        (replace(ROOMY, pets=63), True),
        (replace(ROOMY, pets=64), False),
        (replace(ROOMY, prepared=15), True),
        (replace(ROOMY, prepared=16), False),
    ],
)
def test_preparing_stops_at_the_bound_of_pets_and_of_prepared_pets(room: object, allowed: bool) -> None:
    event = replace(EVENTS["Prepare"], occupancy=room)
    if allowed:
        assert decided(None, event).created
    else:
        with pytest.raises(Refused, match="host_full"):
            decide(None, event, now_ms=NOW_MS)
        assert not decided(RECORD, event).created, "a repeat needs no room"


def test_a_deleted_pet_is_gone_for_whoever_prepares_it() -> None:
    with pytest.raises(Refused) as caught:
        decide(held_in(State.DELETED), EVENTS["Prepare"], now_ms=NOW_MS)
    assert caught.value.http_status == 410


# Activate


def test_activating_a_prepared_pet_keeps_the_epoch_and_takes_the_uploaded_save() -> None:
    decision = decided(held_in(State.PREPARED), EVENTS["Activate"])
    expected = replace(
        RECORD, status=Status.ACTIVE, revision=21, save=b'{"uploaded":1}', changed_at_ms=NOW_MS, operations=6
    )
    assert expected == decision.record
    kept = StoredOperation("op-1", 3, b"d" * 32, None, 3, 21)
    assert (WriteRecord(expected, 3, 20), KeepOperation(kept)) == decision.effects


def test_the_destination_device_resumes_and_nothing_is_kept_of_what_it_brought_itself() -> None:
    effects = decided(held_in(State.PARKED), EVENTS["Activate"]).effects
    assert not any(isinstance(effect, KeepReplaced) for effect in effects)


def test_another_device_is_refused_unless_it_takes_over_and_then_the_replaced_save_is_kept() -> None:
    parked = held_in(State.PARKED)
    with pytest.raises(Refused, match="other_device"):
        decide(parked, replace(EVENTS["Activate"], device_id=OTHER_DEVICE), now_ms=NOW_MS)
    decision = decided(parked, replace(EVENTS["Activate"], device_id=OTHER_DEVICE, takeover=True))
    assert KeepReplaced(RECORD.save, 3, 20, NOW_MS) in decision.effects
    assert decision.record is not None
    assert decision.record.device_id is None


def test_any_device_activates_a_pet_without_destination_and_the_replaced_save_is_kept() -> None:
    restored = replace(held_in(State.PARKED), device_id=None)
    assert KeepReplaced(RECORD.save, 3, 20, NOW_MS) in decided(restored, EVENTS["Activate"]).effects


# Park


@pytest.mark.parametrize("state", [State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED])
def test_parking_begins_the_next_epoch_with_the_latest_save_and_the_destination(state: State) -> None:
    decision = decided(held_in(state), EVENTS["Park"])
    expected = replace(
        RECORD,
        status=Status.PARKED,
        epoch=4,
        revision=21,
        save=b'{"latest":1}',
        device_id=DEVICE,
        error=None,
        changed_at_ms=NOW_MS,
        operations=0,
    )
    assert expected == decision.record
    kept = StoredOperation("op-1", 3, b"d" * 32, None, 4, 21)
    assert (WriteRecord(expected, 3, 20), ForgetOperations(3), KeepOperation(kept)) == decision.effects


def test_parking_without_a_save_keeps_the_stored_one() -> None:
    record = decided(RECORD, Park(operation(), DEVICE)).record
    assert record is not None
    assert record.save == RECORD.save


def test_a_parked_pet_is_not_handed_on_to_another_device_behind_the_first_ones_back() -> None:
    with pytest.raises(Refused, match="other_device"):
        decide(held_in(State.PARKED), Park(operation(), OTHER_DEVICE), now_ms=NOW_MS)


def test_an_old_activation_cannot_revive_a_prepared_pet_that_was_parked() -> None:
    parked = decided(held_in(State.PREPARED), EVENTS["Park"]).record
    with pytest.raises(Refused) as caught:
        decide(parked, EVENTS["Activate"], now_ms=NOW_MS)
    assert (caught.value.code, caught.value.epoch, caught.value.pet_status) == ("stale_epoch", 4, Status.PARKED)


# The order of checks


def test_a_park_whose_answer_was_lost_is_answered_again_although_its_epoch_is_over() -> None:
    parked = decided(RECORD, EVENTS["Park"]).record
    assert Replay(stored(3)) == decide(parked, EVENTS["Park"], found=stored(3), now_ms=NOW_MS)


def test_an_operation_receipt_comes_before_epoch_and_state() -> None:
    for state in (State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED):
        for name in ("Activate", "Park", "Ask", "Apply", "ChangeKey"):
            old = replace(EVENTS[name], operation=operation(epoch=2))
            assert Replay(stored(2)) == decide(held_in(state), old, found=stored(2), now_ms=NOW_MS), (state, name)


def test_a_receipt_of_an_epoch_before_the_previous_one_is_no_answer() -> None:
    with pytest.raises(Refused, match="stale_epoch"):
        decide(RECORD, Ask(operation(epoch=1)), found=stored(1), now_ms=NOW_MS)


def test_the_same_operation_id_with_another_body_is_refused_before_anything_else() -> None:
    with pytest.raises(Refused, match="operation_reused"):
        decide(RECORD, Ask(operation(epoch=1, digest=b"x" * 32)), found=stored(3), now_ms=NOW_MS)


def test_the_epoch_comes_before_the_state() -> None:
    for epoch in (2, 4):
        with pytest.raises(Refused) as caught:
            decide(held_in(State.PARKED), Apply(operation(epoch=epoch), b"{}"), now_ms=NOW_MS)
        assert (caught.value.code, caught.value.epoch) == ("stale_epoch", 3)


def test_the_state_comes_before_the_guards() -> None:
    full = replace(held_in(State.PARKED), operations=OPERATIONS_MAX)
    with pytest.raises(Refused, match="not_active"):
        decide(full, EVENTS["Apply"], now_ms=NOW_MS)


# Commands, time and replies


def test_a_command_writes_its_save_under_the_fence_it_was_decided_on() -> None:
    decision = decided(RECORD, EVENTS["Apply"])
    expected = replace(RECORD, revision=21, save=b'{"applied":1}', changed_at_ms=NOW_MS, operations=6)
    assert WriteRecord(expected, 3, 20) == decision.effects[0]
    answered = decision.answered(b'{"done":1}')
    assert KeepOperation(StoredOperation("op-1", 3, b"d" * 32, b'{"done":1}', 3, 21)) == answered[1]


def test_asking_checks_like_a_command_and_changes_nothing() -> None:
    decision = decided(RECORD, EVENTS["Ask"])
    assert (decision.record, decision.effects) == (RECORD, ())


@pytest.mark.parametrize("name", ["Activate", "Ask", "Apply", "ChangeKey"])
def test_a_full_epoch_takes_no_more_operations_but_still_parks(name: str) -> None:
    state = State.PREPARED if name == "Activate" else State.ACTIVE
    last = replace(held_in(state), operations=OPERATIONS_MAX - 1)
    assert decided(last, EVENTS[name])
    full = replace(last, operations=OPERATIONS_MAX)
    with pytest.raises(Refused, match="epoch_full"):
        decide(full, EVENTS[name], now_ms=NOW_MS)
    parked = decided(full, EVENTS["Park"]).record
    assert parked is not None
    assert parked.operations == 0


@pytest.mark.parametrize(
    ("epoch", "revision", "code"), [(2, 20, "stale_epoch"), (4, 20, "stale_epoch"), (3, 19, "stale_revision")]
)
def test_an_executor_that_read_another_record_is_refused(epoch: int, revision: int, code: str) -> None:
    for event in (Live(epoch, revision, b"{}"), Quarantine(epoch, revision, "RuleError")):
        with pytest.raises(Refused, match=code):
            decide(RECORD, event, now_ms=NOW_MS)


def test_living_keeps_a_turn_receipt_only_when_there_is_one() -> None:
    with_receipt = decided(RECORD, EVENTS["Live"])
    assert KeepTurnReceipt(b'{"receipt":1}', NOW_MS) == with_receipt.effects[1]
    assert len(decided(RECORD, Live(3, 20, b"{}")).effects) == 1


def test_a_quarantined_pet_keeps_its_save_and_a_bounded_error() -> None:
    record = decided(RECORD, Quarantine(3, 20, "x" * 5000)).record
    assert record is not None
    assert (RECORD.save, "x" * ERROR_CODE_POINTS_MAX) == (record.save, record.error)


def test_a_clock_that_went_back_never_makes_a_record_younger() -> None:
    decision = decide(RECORD, EVENTS["Live"], now_ms=5)
    assert isinstance(decision.effects[0], WriteRecord)
    assert RECORD.changed_at_ms == decision.effects[0].record.changed_at_ms


# Key, deletion, expiry, restore


def test_a_changed_key_is_fenced_like_any_other_write() -> None:
    decision = decided(RECORD, ChangeKey(operation(), OTHER_KEY))
    assert decision.record is not None
    assert (decision.record.key_hash, decision.record.revision) == (OTHER_KEY, 21)
    with pytest.raises(Refused, match="stale_revision"):
        decide(decision.record, EVENTS["Live"], now_ms=NOW_MS)


def test_deletion_leaves_a_tombstone_and_no_record() -> None:
    assert (None, (BuryRecord(),)) == (decided(RECORD, Delete()).record, decided(RECORD, Delete()).effects)


def test_a_prepared_pet_expires_after_a_day_and_not_before() -> None:
    prepared = replace(held_in(State.PREPARED), prepared_at_ms=NOW_MS - PREPARED_KEPT_MS)
    assert (DropRecord(3, 20),) == decided(prepared, Expire()).effects
    with pytest.raises(Refused, match="not_due"):
        decide(replace(prepared, prepared_at_ms=NOW_MS - DAY_MS + 1), Expire(), now_ms=NOW_MS)


@pytest.mark.parametrize("state", [State.PREPARED, State.ACTIVE, State.PARKED, State.QUARANTINED])
def test_a_restore_parks_beyond_every_epoch_that_may_have_been_lost(state: State) -> None:
    record = decided(held_in(state), Restore()).record
    assert record is not None
    seconds = NOW_MS // 1000
    assert (Status.PARKED, seconds, seconds, None) == (
        record.status,
        record.epoch,
        record.revision,
        record.device_id,
    )
    again = decided(record, Restore()).record
    assert again is not None
    assert (seconds + RESTORE_EPOCH_STEP,) * 2 == (again.epoch, again.revision)
    older = decided(held_in(state), Restore(floor=again.epoch)).record
    assert older is not None
    assert (again.epoch + 1,) * 2 == (older.epoch, older.revision), "an older backup put in place of a younger one"


def test_the_digest_is_a_hash_of_the_id_and_not_the_id() -> None:
    assert len(pet_digest(PET_ID)) == 64
    assert pet_digest(PET_ID) != pet_digest(PET_ID[:-1] + "0")
    assert PET_ID not in pet_digest(PET_ID)


# Privacy


def test_no_event_record_effect_or_refusal_shows_a_save_a_key_or_an_answer() -> None:
    secret, key = b"dear diary", b"s" * 32
    record = replace(RECORD, save=secret, key_hash=key)
    shown = [repr(record), repr(StoredOperation("op", 1, b"d" * 32, secret, 1, 1)), repr(KeepReplaced(secret, 1, 1, 1))]
    for event in EVENTS.values():
        names = {field.name for field in fields(event)} & {"save", "turn_receipt", "key_hash", "new_key_hash"}
        hidden = replace(event, **{name: key if name.endswith("key_hash") else secret for name in names})
        shown.append(repr(hidden))
        for state in State:
            try:
                shown.append(repr(decide(held_in(state), hidden, now_ms=NOW_MS)))
            except Refused as refusal:
                shown.append(str(refusal) + repr(refusal))
    assert not [text for text in shown if "dear diary" in text or "ssss" in text]


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_hash": b"short"},
        {"epoch": 0},
        {"revision": 0},
        {"epoch": 2**53},
        {"save": b"x" * (1_048_576 + 1)},
        {"error": "an error of a pet that is active"},
        {"device_id": "a destination of a pet that is active"},
        {"status": Status.QUARANTINED},
    ],
)
def test_a_record_that_breaks_an_invariant_cannot_be_made(wrong: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        replace(RECORD, **wrong)


def test_takeover_is_only_for_activation() -> None:
    assert "takeover" in {field.name for field in fields(Activate)}
    assert "takeover" not in {field.name for field in fields(Park)}
