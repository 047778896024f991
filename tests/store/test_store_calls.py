"""Each call of `Store`, on a real file: fences, bounds, what is kept and for how long."""

from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from store_cases import (
    DAY_MS,
    DEVICE,
    NOW_MS,
    OTHER_DEVICE,
    ROOMY,
    adopt,
    command,
    delete,
    happen,
    held,
    modes,
    operation,
    park,
    pet_id,
    prepare,
    query,
    receipt_of,
    save_of,
)

from tokenling.protocol import (
    FULL_ANSWERS_MAX,
    REPLACED_KEPT_MS,
    REPLACED_MAX,
    TURN_RECEIPTS_MAX,
    Activate,
    Apply,
    ChangeKey,
    Decision,
    Delete,
    DropRecord,
    Live,
    Quarantine,
    Refused,
    Replay,
    Status,
    Tombstone,
    decide,
    pet_digest,
)
from tokenling.store import PrefixUnknown, StaleWrite, Store, open_store


def decided(outcome: Decision | Replay) -> Decision:
    assert isinstance(outcome, Decision)
    return outcome


# Records and fences


async def test_what_is_stored_comes_back_equal(store: Store) -> None:
    await happen(store, 1, prepare())
    record = await held(store)
    await happen(store, 1, Activate(operation(record, "adopt"), DEVICE, "sprout-0", save_of("word")))
    await happen(store, 1, ChangeKey(operation(await held(store), "key"), b"n" * 32))
    decision = await happen(store, 1, Quarantine(1, 3, "RuleError at body.py:12"))
    assert decision.record == await held(store)
    await park(store)
    assert (
        (await held(store)).status,
        (await held(store)).epoch,
        (await held(store)).revision,
        (await held(store)).device_id,
        (await held(store)).error,
    ) == (Status.PARKED, 2, 5, DEVICE, None)


async def test_an_unknown_pet_is_none_and_a_deleted_one_a_tombstone(store: Store) -> None:
    assert await store.load(pet_id(1)) is None
    await adopt(store)
    await delete(store)
    assert Tombstone(pet_digest(pet_id(1))) == await store.load(pet_id(1))
    assert await store.find_operation(pet_id(1), "adopt") is None
    assert await store.turn_receipts(pet_id(1)) == ()


async def test_of_two_writes_decided_on_the_same_record_the_second_is_stale_and_leaves_nothing(store: Store) -> None:
    record = await adopt(store)
    first = decided(decide(record, Apply(operation(record, "a"), b'{"a":1}'), now_ms=NOW_MS))
    second = decided(decide(record, Apply(operation(record, "b"), b'{"b":1}'), now_ms=NOW_MS))
    await store.carry_out(pet_id(1), first.answered(b"a"))
    with pytest.raises(StaleWrite):
        await store.carry_out(pet_id(1), second.answered(b"b"))
    assert first.record == await held(store)
    assert await receipt_of(store, "b") is None


async def test_a_late_reply_does_not_reach_a_pet_that_was_parked_or_deleted_meanwhile(store: Store) -> None:
    record = await adopt(store)
    late = decided(decide(record, Live(record.epoch, record.revision, b'{"late":1}', b"receipt"), now_ms=NOW_MS))
    await park(store)
    parked = await held(store)
    with pytest.raises(StaleWrite):
        await store.carry_out(pet_id(1), late.effects)
    assert parked == await held(store)
    await delete(store)
    with pytest.raises(StaleWrite):
        await store.carry_out(pet_id(1), late.effects)
    assert isinstance(await store.load(pet_id(1)), Tombstone)


async def test_no_late_prepare_brings_a_deleted_pet_back(store: Store) -> None:
    late = decided(decide(None, prepare(), now_ms=NOW_MS))
    await adopt(store)
    await delete(store)
    with pytest.raises(StaleWrite):
        await store.carry_out(pet_id(1), late.effects)
    with pytest.raises(Refused, match="pet_deleted"):
        await happen(store, 1, prepare())


async def test_deleting_twice_is_deleting_once(store: Store) -> None:
    record = await adopt(store)
    deletion = decided(decide(record, Delete(), now_ms=NOW_MS)).effects
    await store.carry_out(pet_id(1), deletion)
    await store.carry_out(pet_id(1), deletion)
    assert (await store.counts()).pets == 0


@pytest.mark.parametrize("room", [replace(ROOMY, pets_max=2), replace(ROOMY, prepared_max=2)])
async def test_two_prepares_decided_side_by_side_cannot_both_take_the_last_room(room: object, store: Store) -> None:
    await happen(store, 1, prepare(1))
    both = [decided(decide(None, prepare(number, room=room), now_ms=NOW_MS)) for number in (2, 3)]
    await store.carry_out(pet_id(2), both[0].effects)
    with pytest.raises(StaleWrite):
        await store.carry_out(pet_id(3), both[1].effects)
    assert await store.load(pet_id(3)) is None


# Operation receipts


async def test_an_operation_receipt_keeps_its_digest_answer_and_result(store: Store) -> None:
    await adopt(store)
    await command(store, "feed", b'{"fed":1}', answer=b'{"well":"fed"}')
    receipt = await receipt_of(store, "feed")
    assert receipt is not None
    assert (
        receipt.epoch,
        receipt.answer,
        receipt.result_epoch,
        receipt.result_revision,
    ) == (1, b'{"well":"fed"}', 1, 3)


async def test_the_last_answers_are_whole_and_older_operations_keep_only_their_result(store: Store) -> None:
    await adopt(store)
    for number in range(FULL_ANSWERS_MAX + 1):
        await command(store, f"op-{number}", b"{}", answer=b"answer")
    for name, answer in {"adopt": None, "op-0": None, "op-1": b"answer", f"op-{FULL_ANSWERS_MAX}": b"answer"}.items():
        receipt = await receipt_of(store, name)
        assert receipt is not None
        assert answer == receipt.answer, name
    oldest = await receipt_of(store, "op-0")
    assert oldest is not None
    assert (oldest.result_epoch, oldest.result_revision) == (1, 3)
    assert (await held(store)).operations == FULL_ANSWERS_MAX + 2


async def test_an_operation_whose_answer_is_gone_takes_little_room(store: Store) -> None:
    async def grown(commands: int, first: int) -> int:
        before = store.path.stat().st_size + store.path.with_name(store.path.name + "-wal").stat().st_size
        for number in range(first, first + commands):
            await command(store, f"00000000-0000-4000-8000-{number:012d}", b"{}", answer=b"answer " * 90)
        store._task.database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return store.path.stat().st_size - before

    await adopt(store)
    await grown(FULL_ANSWERS_MAX + 64, 0)
    assert await grown(256, 1000) < 256 * 300  # an answer has 630 bytes, what is kept 160


async def test_a_park_is_answered_again_after_the_next_activation_and_forgotten_after_the_next_park(
    store: Store,
) -> None:
    await adopt(store)
    await park(store, "park-1", answer=b"the parked record")
    await happen(store, 1, Activate(operation(await held(store), "back"), DEVICE, "sprout-0", b"{}"))
    receipt = await receipt_of(store, "park-1")
    assert receipt is not None
    assert (receipt.answer, receipt.result_epoch) == (b"the parked record", 2)
    await park(store, "park-2")
    assert await receipt_of(store, "park-1") is None
    assert await receipt_of(store, "adopt") is None
    assert await receipt_of(store, "back") is not None


async def test_one_owners_operation_ids_are_not_anothers(store: Store) -> None:
    await adopt(store, 1)
    await adopt(store, 2)
    await command(store, "mine", b"{}", 1)
    assert await receipt_of(store, "mine", 2) is None
    await command(store, "mine", b"{}", 2)


# Turn receipts, replaced saves


async def test_the_last_turn_receipts_stay(store: Store) -> None:
    await adopt(store)
    for number in range(TURN_RECEIPTS_MAX + 3):
        record = await held(store)
        await happen(store, 1, Live(record.epoch, record.revision, b"{}", str(number).encode()))
    expected = tuple(str(number).encode() for number in range(3, TURN_RECEIPTS_MAX + 3))
    assert expected == await store.turn_receipts(pet_id(1))


async def take_over(store: Store, number: int, *, now_ms: int = NOW_MS) -> None:
    await park(store, f"park-{number}")
    wish = Activate(
        operation(await held(store), f"take-{number}"), OTHER_DEVICE, "sprout-0", f"{number}".encode(), takeover=True
    )
    await happen(store, 1, wish, now_ms=now_ms)


async def test_a_save_that_a_takeover_replaced_is_kept_for_its_week(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        await adopt(store, save=b"what the parked pet knew")
        await take_over(store, 1)
        (kept,) = await store.replaced_saves(pet_id(1))
        assert (kept.save, kept.replaced_at_ms) == (b"what the parked pet knew", NOW_MS)
        assert await store.purge_replaced(NOW_MS) == 0
    async with open_store(path, now_ms=NOW_MS + REPLACED_KEPT_MS) as store:
        assert (kept,) == await store.replaced_saves(pet_id(1))
    async with open_store(path, now_ms=NOW_MS + REPLACED_KEPT_MS + 1) as store:
        assert await store.replaced_saves(pet_id(1)) == ()


async def test_takeovers_without_end_keep_a_bounded_number_of_saves(store: Store) -> None:
    await adopt(store)
    for number in range(REPLACED_MAX + 3):
        await take_over(store, number)
    assert [one.save for one in await store.replaced_saves(pet_id(1))] == [b"2", b"3", b"4", b"5"]


# All pets


async def test_counts_name_every_status_and_the_brains_in_use(store: Store) -> None:
    await adopt(store, 1)
    await adopt(store, 2)
    await park(store, number=2)
    await happen(store, 3, prepare(3))
    await happen(store, 4, replace(prepare(4), brain_id="sprout-1"))
    await adopt(store, 5)
    await happen(store, 5, Quarantine(1, 2, "RuleError"))
    counts = await store.counts()
    assert counts.pets == 5
    assert counts.by_status == {"prepared": 2, "active": 1, "parked": 1, "quarantined": 1}
    assert counts.by_brain == {"sprout-0": 4, "sprout-1": 1}
    assert counts.hosted_by_brain == {"sprout-0": 2, "sprout-1": 1}


async def test_counting_reads_no_pet(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        await adopt(store, 1)
        read: set[str] = set()

        def note(action: int, table: str | None, *_rest: str | None) -> int:
            if action == apsw.SQLITE_READ and table is not None:
                read.add(table)
            return apsw.SQLITE_OK

        store._task.database._connection.authorizer = note
        assert 1 == (await store.counts()).pets
        assert {"census"} == read
        await store.load(pet_id(1))
        assert "pets" in read


async def test_live_pets_are_the_active_ones_some_at_a_time(store: Store) -> None:
    for number in range(1, 6):
        await adopt(store, number, f'{{"pet":{number}}}'.encode())
    await park(store, number=2)
    first = await store.live_pets("sprout-0", most=2)
    rest = await store.live_pets("sprout-0", after=first[-1].pet, most=9)
    assert [(pet_id(1), b'{"pet":1}'), (pet_id(3), b'{"pet":3}')] == [(pet.pet_id, pet.save) for pet in first]
    assert [pet_id(4), pet_id(5)] == [pet.pet_id for pet in rest]
    assert () == await store.live_pets("sprout-0", after=rest[-1].pet, most=9)


async def test_the_operators_list_shows_digests_ages_and_sizes_only(store: Store) -> None:
    await adopt(store, 1, b"12345", now_ms=NOW_MS)
    (one,) = await store.list_pets()
    assert (pet_digest(pet_id(1)), Status.ACTIVE, NOW_MS, 5) == (
        one.pet_digest,
        one.status,
        one.prepared_at_ms,
        one.save_bytes,
    )
    assert pet_id(1) not in repr(one)


async def test_prepared_pets_expire_without_a_tombstone_and_active_ones_never(store: Store) -> None:
    await adopt(store, 1, now_ms=NOW_MS - 2 * DAY_MS)
    await happen(store, 2, prepare(2), now_ms=NOW_MS - 2 * DAY_MS)
    await happen(store, 3, prepare(3), now_ms=NOW_MS)
    assert await store.expire_prepared(NOW_MS - DAY_MS) == 1
    assert await store.load(pet_id(2)) is None
    assert (await store.counts()).pets == 2
    await happen(store, 2, prepare(2))


async def test_dropping_a_prepared_pet_that_was_activated_meanwhile_is_stale(store: Store) -> None:
    await adopt(store)
    with pytest.raises(StaleWrite):
        await store.carry_out(pet_id(1), (DropRecord(1, 1),))


async def test_forgetting_needs_a_prefix_that_fits_one_pet(store: Store) -> None:
    for number in (1, 2):
        await adopt(store, number)
    digest = pet_digest(pet_id(1))
    for wrong in ("", digest[:7], "f" * 8, "%" * 8, digest + "0"):
        with pytest.raises(PrefixUnknown):
            await store.forget(wrong)
    assert digest == await store.forget(digest[:8].upper())
    assert isinstance(await store.load(pet_id(1)), Tombstone)
    assert (await store.counts()).pets == 1


async def test_after_a_restore_every_pet_is_parked_and_every_old_executor_fenced(store: Store) -> None:
    active = await adopt(store, 1)
    await happen(store, 2, prepare(2))
    assert await store.park_restored(NOW_MS) == 2
    for number in (1, 2):
        record = await held(store, number)
        assert (record.status, record.epoch, record.device_id) == (Status.PARKED, NOW_MS // 1000, None)
    with pytest.raises(Refused, match="stale_epoch"):
        await happen(store, 1, Live(active.epoch, active.revision, b"{}"))
    assert await receipt_of(store, "adopt") is None
    assert await store.highest() == NOW_MS // 1000
    assert await store.park_restored(NOW_MS, floor=10**12) == 2
    assert await store.highest() == 10**12 + 1


async def test_rebrain_rewrites_hosted_pets_in_one_step_and_keeps_a_private_backup(store: Store, path: Path) -> None:
    for number in (1, 2, 3):
        await adopt(store, number, b"old words")
    await park(store, number=3)
    done = await store.rebrain("sprout-0", "sprout-1", lambda save: save.replace(b"old", b"new"), now_ms=NOW_MS)
    assert done.pets == 2
    assert (
        (await held(store, 1)).save,
        (await held(store, 1)).brain_id,
        (await held(store, 1)).revision,
    ) == (b"new words", "sprout-1", 3)
    assert (await held(store, 3)).brain_id == "sprout-0"
    assert {done.backup.name: "0o600"} == modes([done.backup])
    assert query(done.backup, "SELECT DISTINCT save, brain_id FROM pets") == [(b"old words", "sprout-0")]


async def test_a_rewrite_that_fails_for_one_pet_changes_none(store: Store) -> None:
    await adopt(store, 1, b"good")
    await adopt(store, 2, b"bad")

    def rewrite(save: bytes) -> bytes:
        if save == b"bad":
            raise ValueError("cannot rewrite this one")
        return b"rewritten"

    with pytest.raises(ValueError, match="cannot rewrite"):
        await store.rebrain("sprout-0", "sprout-1", rewrite, now_ms=NOW_MS)
    assert (await held(store, 1)).save == b"good"
    assert (await store.counts()).by_brain == {"sprout-0": 2}


async def test_a_backup_never_overwrites_and_holds_what_was_committed(store: Store, path: Path) -> None:
    await adopt(store, 1, save_of("committed"))
    out = path.parent / "backup.sqlite"
    await store.back_up(out)
    assert modes([out]) == {"backup.sqlite": "0o600"}
    assert b"committed" in out.read_bytes()
    before = out.read_bytes()
    with pytest.raises(FileExistsError):
        await store.back_up(out)
    assert before == out.read_bytes()
    async with open_store(out, now_ms=NOW_MS) as copy:
        assert await held(store) == await held(copy)
