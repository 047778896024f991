"""Opening: what is made, what is refused, and that a refusal changes nothing."""
# ruff: noqa: ASYNC220, ASYNC240 - a test's own small files and processes make nobody wait

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
import trio
from store_cases import NOW_MS, adopt, delete, held, modes, park, pet_id, query, raw_files

from tokenling.protocol import BuryRecord, Tombstone, pet_digest
from tokenling.store import Store, StoreFailed, StoreRefused, open_store, schema
from tokenling.store.files import beside


async def refusal(path: Path) -> StoreRefused:
    with pytest.raises(StoreRefused) as caught:
        async with open_store(path, now_ms=NOW_MS):
            raise AssertionError("this must not open")
    return caught.value


async def close_and(path: Path, wanted: int = 1) -> None:
    """A closed database with an active pet or more."""
    async with open_store(path, now_ms=NOW_MS) as store:
        for number in range(1, wanted + 1):
            await adopt(store, number)


# Files


async def test_every_file_is_private_from_its_first_byte_while_the_store_is_open(store: Store, path: Path) -> None:
    await adopt(store)
    await adopt(store, 2)
    await delete(store, 2)
    await adopt(store, 3)
    names = {f"pets.sqlite{suffix}" for suffix in ("", "-wal", "-shm", ".lock", ".tombstones")}
    assert dict.fromkeys(names, "0o600") == modes(path.parent.iterdir())
    assert modes([path.parent]) == {"home": "0o700"}


async def test_files_that_an_older_run_left_open_to_others_are_closed_to_them(path: Path) -> None:
    await close_and(path)
    path.chmod(0o644)
    async with open_store(path, now_ms=NOW_MS):
        assert modes([path]) == {"pets.sqlite": "0o600"}


async def test_a_umask_that_allows_everything_changes_nothing(path: Path) -> None:
    old = os.umask(0)
    try:
        async with open_store(path, now_ms=NOW_MS) as store:
            await adopt(store)
            await adopt(store, 2)
            await delete(store, 2)
            found = modes(path.parent.iterdir())
    finally:
        os.umask(old)
    assert {"0o600"} == set(found.values())


async def test_what_was_written_is_there_after_reopening_and_the_wal_is_empty(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        before = await adopt(store)
        receipt = await store.find_operation(pet_id(1), "adopt")
    assert not beside(path, "-wal").exists()
    async with open_store(path, now_ms=NOW_MS) as store:
        assert (before, receipt) == (await held(store), await store.find_operation(pet_id(1), "adopt"))


async def test_a_directory_where_the_database_should_be_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    assert (await refusal(path)).code == "unreadable"


async def test_a_parent_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    assert (await refusal(tmp_path / "home" / "pets.sqlite")).code == "unreadable"


async def test_nothing_is_locked_behind_a_refusal(path: Path) -> None:
    await close_and(path)
    tombstones = beside(path, ".tombstones")
    tombstones.write_bytes(b"x" * 65)
    await refusal(path)
    tombstones.unlink()
    await close_and(path, wanted=0)


# One process


HOLDER = """
import sys, trio
from pathlib import Path
from tokenling.store import open_store
async def main():
    async with open_store(Path(sys.argv[1]), now_ms=1):
        print("held", flush=True)
        await trio.to_thread.run_sync(sys.stdin.read)
trio.run(main)
"""


async def test_a_database_that_another_process_holds_is_refused_until_that_process_dies(path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert (await refusal(path)).code == "locked"
        process.kill()
        process.wait()
    await close_and(path)


async def test_the_same_process_cannot_open_a_database_twice(store: Store, path: Path) -> None:
    assert (await refusal(path)).code == "locked"
    await adopt(store)


# Contents


def _newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", len(schema.MIGRATIONS) + 1)
    connection.close()


def _foreign(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (words)")
    connection.close()


def _text(path: Path) -> None:
    path.write_bytes(b"this is no database at all, but it is long enough to look like a file\n" * 100)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 6] = b"\xff" * (4096 * 5)
    path.write_bytes(data)


def _header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[:16] = b"SQLite format 4\0"
    path.write_bytes(data)


DAMAGE = {
    "newer": (_newer, "newer_schema"),
    "foreign": (_foreign, "foreign"),
    "text": (_text, "corrupt"),
    "cut": (_cut, "corrupt"),
    "overwritten": (_overwritten, "corrupt"),
    "header": (_header, "corrupt"),
}


@pytest.mark.parametrize("name", DAMAGE)
async def test_a_file_that_is_not_ours_or_not_whole_is_refused_and_left_as_it_is(name: str, path: Path) -> None:
    damage, code = DAMAGE[name]
    await close_and(path, wanted=3)
    damage(path)
    path.chmod(0o640)
    before = path.read_bytes()
    assert code == (await refusal(path)).code
    assert before == path.read_bytes()
    assert modes([path]) == {"pets.sqlite": "0o640"}


async def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    await close_and(path)
    assert query(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]


# Schema


async def test_an_older_schema_is_brought_up_in_one_step_and_its_pets_stay(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await close_and(path)
    second = "ALTER TABLE pets ADD COLUMN nickname TEXT; CREATE INDEX pets_by_nickname ON pets (nickname);"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, second))
    async with open_store(path, now_ms=NOW_MS + 1) as store:
        assert (await held(store)).status == "active"
    assert query(path, "SELECT version, migrated_at_ms FROM migrations") == [(1, NOW_MS), (2, NOW_MS + 1)]
    assert query(path, "PRAGMA user_version") == [(2,)]


async def test_a_migration_that_fails_leaves_the_older_schema_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await close_and(path)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE fine (x); CREATE TABLE pets (x);"))
    await refusal(path)
    monkeypatch.undo()
    assert query(path, "SELECT 1 FROM sqlite_schema WHERE name = 'fine'") == []
    async with open_store(path, now_ms=NOW_MS) as store:
        assert (await held(store)).status == "active"


# Tombstones beside the database


async def test_a_restored_backup_forgets_the_pets_that_were_deleted_since(path: Path) -> None:
    await close_and(path, wanted=2)
    backup = path.read_bytes()
    async with open_store(path, now_ms=NOW_MS) as store:
        await delete(store, 1)
    path.write_bytes(backup)
    async with open_store(path, now_ms=NOW_MS) as store:
        assert Tombstone(pet_digest(pet_id(1))) == await store.load(pet_id(1))
        assert (await held(store, 2)).revision == 2
    assert [name for name, data in raw_files(path).items() if pet_id(1).encode() in data] == []


async def test_a_lost_tombstone_file_is_completed_from_the_database(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        await adopt(store)
        await delete(store)
    beside(path, ".tombstones").unlink()
    async with open_store(path, now_ms=NOW_MS):
        assert f"{pet_digest(pet_id(1))}\n" == beside(path, ".tombstones").read_text()
    assert modes([beside(path, ".tombstones")]) == {"pets.sqlite.tombstones": "0o600"}


async def test_a_line_torn_by_a_crash_is_cut_off_and_written_again(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        for number in (1, 2):
            await adopt(store, number)
            await delete(store, number)
    tombstones = beside(path, ".tombstones")
    tombstones.write_bytes(tombstones.read_bytes()[:-30])
    async with open_store(path, now_ms=NOW_MS):
        expected = {pet_digest(pet_id(1)), pet_digest(pet_id(2))}
        assert expected == set(tombstones.read_text().split())


@pytest.mark.parametrize("data", [b"x" * 65, b"A" * 64 + b"\n", b"0" * 64 + b" ", b"\n" * 130])
async def test_a_tombstone_file_that_holds_something_else_is_refused(data: bytes, path: Path) -> None:
    await close_and(path)
    beside(path, ".tombstones").write_bytes(data)
    refused = await refusal(path)
    assert ("corrupt", beside(path, ".tombstones")) == (refused.code, refused.path)


# The end of the block


async def test_an_exception_of_the_block_leaves_it_as_it_is(path: Path) -> None:
    class OwnError(Exception):
        pass

    with pytest.raises(OwnError):  # noqa: PT012 - the block is what is tested
        async with open_store(path, now_ms=NOW_MS) as store:
            await adopt(store)
            raise OwnError
    await close_and(path, wanted=0)


async def test_a_cancelled_block_closes_the_store_and_frees_the_lock(path: Path) -> None:
    with trio.CancelScope() as scope:
        async with open_store(path, now_ms=NOW_MS) as store:
            await adopt(store)
            await park(store)
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    async with open_store(path, now_ms=NOW_MS) as store:
        assert (await held(store)).status == "parked"


async def test_a_call_to_a_closed_store_says_so(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        pass
    with pytest.raises(StoreFailed, match="closed"):
        await store.load(pet_id(1))
    with pytest.raises(StoreFailed, match="closed"):
        await store.carry_out(pet_id(1), (BuryRecord(),))
