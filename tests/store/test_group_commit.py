"""Many callers, few commits; answers only behind them; cancellation and shutdown tear nothing apart."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing
from faulty_vfs import FaultyVFS
from store_cases import NOW_MS, adopt, held, operation, pet_id, prepare, query, save_of

from tokenling.protocol import Apply, Decision, Live, Record, decide
from tokenling.store import StaleWrite, Store, StoreFailed, open_store, task
from tokenling.store.task import GROUP_MAX, QUEUE_MAX


async def write(store: Store, number: int, word: str = "first") -> None:
    """A pet's first record: one fenced write."""
    await store.carry_out(pet_id(number), decide(None, prepare(number, save_of(word)), now_ms=NOW_MS).effects)


async def test_callers_that_come_together_share_few_commits(store: Store) -> None:
    before = store.statistics()
    async with trio.open_nursery() as nursery:
        for number in range(200):
            nursery.start_soon(write, store, number)
    after = store.statistics()
    assert after.writes - before.writes == 200
    assert after.commits - before.commits <= 8
    assert after.largest_group == GROUP_MAX == 64
    assert (await store.counts()).pets == 200


async def test_a_caller_alone_does_not_wait_for_company(store: Store) -> None:
    before = store.statistics().commits
    for number in range(10):
        await write(store, number)
    assert store.statistics().commits - before == 10


async def test_more_callers_than_the_queue_holds_wait_and_all_are_served(store: Store) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(QUEUE_MAX + 200):
            nursery.start_soon(write, store, number)
        await trio.lowlevel.checkpoint()
        assert store.statistics().queued <= QUEUE_MAX
    assert (await store.counts()).pets == QUEUE_MAX + 200


async def test_one_stale_write_does_not_undo_its_neighbours(store: Store) -> None:
    record = await adopt(store, 1)
    stale: list[int] = []

    async def live(word: int) -> None:
        event = Live(record.epoch, record.revision, str(word).encode(), str(word).encode())
        try:
            await store.carry_out(pet_id(1), decide(record, event, now_ms=NOW_MS).effects)
        except StaleWrite:
            stale.append(word)

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(write, store, 100 + number)
            nursery.start_soon(live, number)
    (winner,) = set(range(30)) - set(stale)
    assert (await held(store, 1)).save == str(winner).encode()
    assert await store.turn_receipts(pet_id(1)) == (str(winner).encode(),)
    assert (await store.counts()).pets == 31


async def test_fifty_times_the_same_operation_is_applied_once(store: Store) -> None:
    record = await adopt(store)
    wish = Apply(operation(record, "feed"), b'{"fed":1}')
    decision = decide(record, wish, now_ms=NOW_MS)
    assert isinstance(decision, Decision)
    outcomes: list[str] = []

    async def send() -> None:
        try:
            await store.carry_out(pet_id(1), decision.answered(b"answer"))
            outcomes.append("applied")
        except StaleWrite:
            found = await store.find_operation(pet_id(1), "feed")
            assert found is not None
            outcomes.append(str(found.answer))

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(send)
    assert sorted(outcomes) == ["applied"] + [str(b"answer")] * 49
    assert (await held(store)).revision == record.revision + 1


# With a disk that stalls


@pytest.fixture
def vfs() -> FaultyVFS:
    return FaultyVFS()


async def until_stopped(vfs: FaultyVFS) -> None:
    assert await trio.to_thread.run_sync(vfs.stopped.wait, 30), "the commit never reached its sync"


async def test_no_caller_is_answered_before_the_sync_of_its_commit(path: Path, vfs: FaultyVFS) -> None:
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        vfs.gate.clear()
        answered = trio.Event()

        async def caller() -> None:
            await write(store, 1)
            answered.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(caller)
            await until_stopped(vfs)
            await trio.testing.wait_all_tasks_blocked()
            assert not answered.is_set()
            vfs.gate.set()
        assert answered.is_set()
        assert query(path, "SELECT pet_id FROM pets") == [(pet_id(1),)]


async def test_every_commit_is_synced(path: Path, vfs: FaultyVFS) -> None:
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        commits, syncs = store.statistics().commits, vfs.syncs
        for number in range(20):
            await write(store, number)
        assert vfs.syncs - syncs >= store.statistics().commits - commits == 20


async def test_a_cancelled_caller_is_committed_whole_once_begun_and_not_at_all_before(
    path: Path, vfs: FaultyVFS
) -> None:
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        vfs.gate.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write, store, 1)
            await until_stopped(vfs)
            nursery.start_soon(write, store, 2)
            await trio.testing.wait_all_tasks_blocked()
            assert store.statistics().queued == 1
            nursery.cancel_scope.cancel()
        vfs.gate.set()
        assert isinstance(await store.load(pet_id(1)), Record)
        assert await store.load(pet_id(2)) is None
        await write(store, 2)


async def test_shutdown_commits_what_is_queued(path: Path, vfs: FaultyVFS) -> None:
    done: list[int] = []

    async def caller(store: Store, number: int) -> None:
        await write(store, number)
        done.append(number)

    async with trio.open_nursery() as nursery:
        async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
            vfs.gate.clear()
            nursery.start_soon(caller, store, 1)
            await until_stopped(vfs)
            for number in (2, 3, 4):
                nursery.start_soon(caller, store, number)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(open_when_all_wait, vfs)
        assert query(path, "SELECT count(*) FROM pets") == [(4,)]
    assert sorted(done) == [1, 2, 3, 4]


async def test_a_store_whose_block_is_cancelled_still_commits_and_answers_what_is_queued(
    path: Path, vfs: FaultyVFS
) -> None:
    done: list[int] = []

    async def caller(store: Store, number: int) -> None:
        await write(store, number)
        done.append(number)

    with trio.fail_after(30):
        await cancel_the_block(path, vfs, caller)
    assert sorted(done) == [1, 2, 3]
    assert query(path, "SELECT count(*) FROM pets") == [(3,)]


async def cancel_the_block(path: Path, vfs: FaultyVFS, caller: Callable[[Store, int], Awaitable[None]]) -> None:
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
                vfs.gate.clear()
                nursery.start_soon(caller, store, 1)
                await until_stopped(vfs)
                for number in (2, 3):
                    nursery.start_soon(caller, store, number)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
                nursery.start_soon(open_when_all_wait, vfs)
                await trio.sleep_forever()
    assert scope.cancelled_caught


async def open_when_all_wait(vfs: FaultyVFS) -> None:
    await trio.testing.wait_all_tasks_blocked()
    vfs.gate.set()


async def test_a_fault_of_the_store_task_ends_the_block_and_leaves_no_caller_hanging(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []

    async def caller(store: Store, number: int) -> None:
        with pytest.raises(StoreFailed, match="closed"):
            await write(store, number)
        refused.append(number)

    def faulty(*_: object) -> None:
        raise ZeroDivisionError

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012 - the block is what is tested
                async with open_store(path, now_ms=NOW_MS) as store:
                    monkeypatch.setattr(task, "run_group", faulty)
                    for number in range(100):
                        nursery.start_soon(caller, store, number)
                    await trio.sleep_forever()
    assert caught.group_contains(ZeroDivisionError)
    assert sorted(refused) == list(range(100))
    monkeypatch.undo()
    async with open_store(path, now_ms=NOW_MS):
        pass
