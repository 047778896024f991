"""A disk that is full or broken: an error, nothing half done, nothing acknowledged lost, and recovery."""

import itertools
import sys
from pathlib import Path

import pytest
import trio
from faulty_vfs import Fault, FaultyVFS, disk_broken, disk_full
from short_life import check_told, workload
from store_cases import NOW_MS, adopt, command, delete, held, pet_id, prepare, query, receipt_of, save_of

from tokenling.protocol import Tombstone, decide
from tokenling.store import Store, StoreFailed, StoreRefused, database, open_store, task, tombstones
from tokenling.store.files import beside

ROOT = Path(__file__).parents[2]


@pytest.fixture
def vfs() -> FaultyVFS:
    return FaultyVFS()


@pytest.mark.parametrize(("error", "code"), [(disk_full, "full"), (disk_broken, "io")])
async def test_a_failing_disk_is_told_changes_nothing_and_heals(
    error: object, code: str, path: Path, vfs: FaultyVFS
) -> None:
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        before = await adopt(store, save=save_of("before", 50_000))
        vfs.break_from_now(error)
        for number in range(3):
            with pytest.raises(StoreFailed) as caught:
                await command(store, f"lost-{number}", save_of("after", 50_000))
            assert caught.value.code == code == store.failing
        assert await held(store) == before, "reading goes on"
        assert await receipt_of(store, "lost-0") is None
        vfs.fault = None
        await command(store, "kept", b"healed")
        assert store.failing is None
        assert store.statistics().failed_commits == 3
    async with open_store(path, now_ms=NOW_MS) as store:
        assert (await held(store)).save == b"healed"


WITHOUT_THREADS = """
import pathlib, resource, sys, threading
sys.path[:0] = sys.argv[2:]
import trio
from store_cases import NOW_MS, adopt, command, held
from tokenling.store import open_store

async def main():
    threading.stack_size(256 * 2**20)
    status = pathlib.Path("/proc/self/status").read_text()
    size = int(status.partition("VmSize:")[2].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size + 64 * 2**20, resource.RLIM_INFINITY))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        print("no thread is to be had")
    async with open_store(pathlib.Path(sys.argv[1]), now_ms=NOW_MS) as store:
        await adopt(store)
        await command(store, "kept", b"without a thread")
        print((await held(store)).save.decode())

trio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's here")
async def test_without_a_thread_to_be_had_everything_is_stored_all_the_same(path: Path) -> None:
    """In a process whose memory has no room for another thread's stack."""
    command = [sys.executable, "-c", WITHOUT_THREADS, str(path), str(Path(__file__).parent), str(ROOT)]
    done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
    assert ["no thread is to be had", "without a thread"] == done.stdout.decode().splitlines(), done.stderr.decode()
    async with open_store(path, now_ms=NOW_MS) as store:
        assert (await held(store)).save == b"without a thread"


async def test_an_error_of_the_work_itself_is_no_lack_of_threads() -> None:
    done: list[str] = []

    def work() -> None:
        done.append("once")
        raise RuntimeError("of the work")

    with pytest.raises(RuntimeError, match="of the work"):
        await task.in_thread(work)
    assert ["once"] == done


async def test_a_group_that_meets_a_full_disk_fails_as_one(path: Path, vfs: FaultyVFS) -> None:
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        for number in range(8):
            await adopt(store, number)
        vfs.break_from_now(disk_full)
        failed: list[int] = []

        async def send(number: int) -> None:
            with pytest.raises(StoreFailed):
                await command(store, "lost", save_of("after"), number)
            failed.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(send, number)
        vfs.fault = None
        assert sorted(failed) == list(range(8))
        assert {(await held(store, number)).revision for number in range(8)} == {2}


async def test_a_disk_that_fills_up_within_a_group_undoes_the_neighbours_too_and_says_so(
    path: Path, vfs: FaultyVFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CACHE_KIB", 64)  # so small that pages go to disk before the commit
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        vfs.fault = Fault(vfs.calls + 60, disk_full, lasting=True)
        codes: list[str] = []

        async def send(number: int) -> None:
            try:
                effects = decide(None, prepare(number, save_of("word", 100_000)), now_ms=NOW_MS).effects
                await store.carry_out(pet_id(number), effects)
            except StoreFailed as failure:
                codes.append(failure.code)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(send, number)
        vfs.fault = None
        assert set(codes) == {"full"}
        assert (await store.counts()).pets == 20 - len(codes)
        await adopt(store, 50)


async def test_a_store_that_nobody_calls_notices_that_its_disk_healed(
    path: Path, vfs: FaultyVFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "PROBE_AFTER_S", 0.01)
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        await adopt(store)
        vfs.break_from_now(disk_full)
        with pytest.raises(StoreFailed):
            await command(store, "lost", b"{}")
        failed = store.statistics().failed_commits
        with trio.fail_after(10):
            while store.statistics().failed_commits < failed + 2:
                await trio.lowlevel.checkpoint()
            assert store.failing == "full", "a probe on a full disk fails too"
            vfs.fault = None
            while store.failing:
                await trio.lowlevel.checkpoint()


async def test_an_error_names_no_value_that_was_to_be_stored(path: Path, vfs: FaultyVFS) -> None:
    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        await adopt(store)
        vfs.break_from_now(disk_full)
        with pytest.raises(StoreFailed) as caught:
            await command(store, "operation-id", save_of("dear-diary"), answer=b"dear-diary")
    error: BaseException | None = caught.value
    assert error is not None
    assert (error.__cause__, error.__context__) == (None, None)
    assert not [word for word in ("dear-diary", "operation-id", pet_id(1)) if word in str(error) + repr(error)]


# A tombstone file that cannot be written


async def test_a_deletion_whose_tombstone_could_not_be_filed_is_not_confirmed_and_filed_later(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await adopt(store, 1)
    await adopt(store, 2)

    def broken(handle: int, data: bytes) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(tombstones, "_write_all", broken)
        with pytest.raises(StoreFailed, match="full"):
            await delete(store, 1)
        assert store.failing == "full"
    assert isinstance(await store.load(pet_id(1)), Tombstone)
    await command(store, "anything", b"{}", 2)
    assert store.failing is None
    assert beside(path, ".tombstones").stat().st_size == tombstones.LINE_BYTES


# Every call of one workload failed, once and for good


async def count_calls(tmp_path: Path) -> int:
    vfs = FaultyVFS(really=False)
    async with open_store(tmp_path / "count" / "pets.sqlite", now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        told: list[str] = []
        await workload(store, told)
        assert len(told) == 6
    return vfs.calls


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("kind", ["full", "broken", "short"])
async def test_whichever_call_fails_nothing_told_is_lost_and_the_file_stays_whole(
    kind: str, lasting: bool, tmp_path: Path
) -> None:
    error = disk_full if kind == "full" else disk_broken
    calls = await count_calls(tmp_path)
    assert calls > 30
    for at in itertools.chain(range(0, calls, 3), range(calls - 3, calls)):
        vfs, healthy = FaultyVFS(really=False), FaultyVFS(really=False)
        vfs.fault = Fault(at, error, lasting, short=kind == "short")
        path = tmp_path / f"{at}" / "pets.sqlite"
        told: list[str] = []
        try:
            async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
                await workload(store, told)
                vfs.fault = None
                await check_told(store, told)
        except (StoreRefused, StoreFailed):
            assert told == [], "only opening may be refused"
        async with open_store(path, now_ms=NOW_MS, vfs=healthy.vfs_name) as store:
            await check_told(store, told)
            if await store.load(pet_id(9)) is None:
                await adopt(store, 9)
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
