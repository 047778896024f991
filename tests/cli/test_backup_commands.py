"""`backup`, `restore`, `check`: beside a running host, against damage, and with nobody's pet living twice."""

import stat
import threading
import time
from pathlib import Path

import httpx
import pytest
import trio
from click.testing import CliRunner

from tokenling import engine
from tokenling.cli import main
from tokenling.protocol import BuryRecord, CheckRoom, Record, Status, WriteRecord, pet_digest
from tokenling.store import open_store
from tools.bench.quiet_host import Keeper, QuietHost, quiet_save

NOW_MS = 1_790_000_000_000
WORDS = "what the otter said"


def pet_id(number):
    return f"00000000-0000-4000-8000-{number:012}"


def save():
    state = engine.new_pet(
        pet_seed="otter", name=WORDS, time_zone="Etc/UTC", brain_id="sprout-0", weather_seed="w", now_ms=NOW_MS
    )
    return engine.dump_save(state)


def record(number, status=Status.ACTIVE, data=None):
    return Record(
        pet_id=pet_id(number),
        key_hash=bytes([number]) * 32,
        status=status,
        epoch=3,
        revision=9,
        brain_id="sprout-0",
        save=data or save(),
        device_id=None,
        error=None,
        prepared_at_ms=NOW_MS,
        changed_at_ms=NOW_MS,
    )


def change(path, *changes):
    async def run():
        async with open_store(path, now_ms=NOW_MS) as store:
            for number, effects in changes:
                await store.carry_out(pet_id(number), effects)

    trio.run(run)


def loaded(path, *numbers):
    async def run():
        async with open_store(path, now_ms=NOW_MS) as store:
            return [await store.load(pet_id(number)) for number in numbers]

    return trio.run(run)


def new(number, status=Status.ACTIVE, data=None):
    return number, (WriteRecord(record(number, status, data), None, None), CheckRoom(64, 64))


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def names(directory):
    return sorted(path.name for path in Path(directory).iterdir())


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "host" / "pets.sqlite"
    change(path, new(1), new(2, Status.PARKED))
    return path


@pytest.fixture
def backup(database, tmp_path):
    out = tmp_path / "backup.sqlite"
    assert call("backup", out, "--db", database).exit_code == 0
    return out


def test_a_backup_is_one_private_file_that_holds_the_pets_and_never_overwrites(backup, database):
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert names(backup.parent) == ["backup.sqlite", "host"]
    before = backup.read_bytes()
    again = call("backup", backup, "--db", database)
    assert (2, before) == (again.exit_code, backup.read_bytes())
    assert loaded(backup, 1, 2) == [record(1), record(2, Status.PARKED)]


def test_a_backup_of_a_damaged_database_is_refused_and_leaves_no_file(database, tmp_path):
    data = bytearray(database.read_bytes())
    data[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    database.write_bytes(data)
    done = call("backup", tmp_path / "out.sqlite", "--db", database)
    assert done.exit_code == 4
    assert "damaged pages" in done.output or "corrupt" in done.output
    assert names(tmp_path) == ["host"]


def test_a_backup_to_a_place_that_is_not_there_is_refused(database, tmp_path):
    done = call("backup", tmp_path / "none" / "out.sqlite", "--db", database)
    assert (4, True) == (done.exit_code, "expected a place that can be written" in done.output)


def test_backups_beside_a_busy_host_are_sound_each_of_one_moment_and_hold_what_was_acknowledged(tmp_path):
    with (
        QuietHost(tmp_path / "state") as host,
        httpx.Client(base_url=host.address, timeout=60, trust_env=False) as client,
    ):
        keeper = Keeper(client)
        keeper.adopt(quiet_save(4096))
        done = threading.Event()
        strokes = []

        def stroke():
            while not done.is_set():
                keeper.stroke()
                strokes.append(1)

        worker = threading.Thread(target=stroke)
        worker.start()
        try:
            database = next((tmp_path / "state").glob("*.sqlite"))
            for number in range(5):
                until = time.monotonic() + 20
                known = len(strokes) + 2
                while len(strokes) < known and time.monotonic() < until:
                    time.sleep(0.005)
                acknowledged = len(strokes)
                out = tmp_path / f"backup-{number}.sqlite"
                assert call("backup", out, "--db", database).exit_code == 0
                checked = call("check", "--db", out)
                assert checked.exit_code == 0, checked.output
                operations = int(checked.output.partition("operations")[2].split()[0])
                assert acknowledged + 1 <= operations <= len(strokes) + 2  # the activation is one; one is under way
            running = call("check", "--db", database)
            assert (0, True) == (running.exit_code, running.output.startswith("sound\n"))
        finally:
            done.set()
            worker.join()
        assert call("restore", out, "--db", database).exit_code == 4  # the host holds it
        assert client.get(keeper.path, headers=keeper.headers).status_code == 200


def test_a_backup_after_a_kill_holds_what_was_acknowledged(tmp_path):
    with (
        QuietHost(tmp_path / "state") as host,
        httpx.Client(base_url=host.address, timeout=60, trust_env=False) as client,
    ):
        keeper = Keeper(client)
        keeper.adopt(quiet_save(4096))
        keeper.stroke()
        host.process.kill()
        host.process.wait()
    out = tmp_path / "backup.sqlite"
    assert call("backup", out, "--db", next((tmp_path / "state").glob("*.sqlite"))).exit_code == 0
    assert "operations  2\n" in call("check", "--db", out).output


def test_restoring_one_pet_tells_of_one(tmp_path):
    path, out = tmp_path / "pets.sqlite", tmp_path / "backup.sqlite"
    change(path, new(1))
    assert call("backup", out, "--db", path).exit_code == 0
    assert "\n1 pet parked; " in call("restore", out, "--db", path).output


def test_restoring_parks_every_pet_beyond_every_epoch_and_keeps_the_database_from_before(backup, database):
    change(database, new(3), (1, (WriteRecord(record(1), 3, 9),)))
    before = loaded(database, 1, 2, 3)
    done = call("restore", backup, "--db", database)
    assert done.exit_code == 0, done.output
    assert "2 pets parked" in done.output
    one, two, three = loaded(database, 1, 2, 3)
    for found in (one, two):
        assert (Status.PARKED, None) == (found.status, found.device_id)
        assert min(found.epoch, found.revision) >= 3 + 2**20
    assert three is None
    (old,) = [path for path in database.parent.iterdir() if "before-restore" in path.name and path.suffix != ".lock"]
    assert before == loaded(old, 1, 2, 3)
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in database.parent.iterdir()}


def test_a_pet_that_was_deleted_after_the_backup_stays_deleted(backup, database):
    change(database, (1, (BuryRecord(),)))
    assert call("restore", backup, "--db", database).exit_code == 0
    assert ["Tombstone", "Record"] == [type(found).__name__ for found in loaded(database, 1, 2)]
    assert call("check", "--db", database).exit_code == 0


def test_a_backup_is_restored_where_no_database_is_left(backup, tmp_path):
    path = tmp_path / "new" / "pets.sqlite"
    path.parent.mkdir()
    assert call("restore", backup, "--db", path).exit_code == 0
    assert names(path.parent) == ["pets.sqlite", "pets.sqlite.lock"]
    assert [Status.PARKED, Status.PARKED] == [found.status for found in loaded(path, 1, 2)]


def test_an_old_wal_never_meets_the_restored_database(backup, tmp_path):
    with (
        QuietHost(tmp_path / "state") as host,
        httpx.Client(base_url=host.address, timeout=60, trust_env=False) as client,
    ):
        Keeper(client).adopt(quiet_save(4096))
        host.process.kill()
        host.process.wait()
    path = next((tmp_path / "state").glob("*.sqlite"))
    assert (path.parent / f"{path.name}-wal").stat().st_size > 0
    assert call("restore", backup, "--db", path).exit_code == 0
    checked = call("check", "--db", path)
    assert (0, True) == (checked.exit_code, "pets        2 (2 parked)" in checked.output), checked.output
    (old,) = [one for one in path.parent.iterdir() if one.name.rpartition("-")[0].endswith("before-restore")]
    assert "pets        1 (1 active)" in call("check", "--db", old).output


def test_checking_a_backup_changes_nothing(backup, database):
    before = {path: path.read_bytes() for path in database.parent.iterdir()}
    done = call("restore", "--check", backup, "--db", database)
    assert (0, True) == (done.exit_code, "pets        2 (1 active, 1 parked)" in done.output), done.output
    assert before == {path: path.read_bytes() for path in database.parent.iterdir()}


def cut(path):
    path.write_bytes(path.read_bytes()[:-4096])


def foreign(path):
    path.write_bytes(b"notes, no database at all" * 400)


def missing(path):
    path.unlink()


def readable(path):
    path.chmod(0o644)


def strange(path):
    execute(path, "CREATE TABLE more (x)")


def orphan(path):
    execute(path, "INSERT INTO turn_receipts VALUES (99, 1, 1, x'00')")


def newer(path):
    execute(path, "PRAGMA user_version = 99")


def risen(path):
    execute(path, "INSERT INTO tombstones VALUES (?)", pet_digest(pet_id(1)))


def unfit(path):
    execute(path, "UPDATE pets SET save = ? WHERE pet_id = ?", f'{{"name":"{WORDS}"}}'.encode(), pet_id(1))


def execute(path, statement, *values):
    import apsw

    connection = apsw.Connection(str(path))
    connection.pragma("foreign_keys", "off")
    connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize("spoil", [cut, foreign, missing, readable, strange, orphan, newer, risen, unfit])
def test_a_spoiled_backup_is_named_refused_and_changes_nothing(backup, database, spoil):
    spoil(backup)
    before = {path: path.read_bytes() for path in database.parent.iterdir()}
    for command in (("restore", "--check", backup), ("restore", backup)):
        done = call(*command, "--db", database)
        assert done.exit_code == 4, (spoil.__name__, done.output)
        assert "error: " in done.output
        assert WORDS not in done.output
    assert call("check", "--db", backup).exit_code == 4
    assert before == {path: path.read_bytes() for path in database.parent.iterdir()}


def test_a_check_shows_nothing_of_an_owners(database):
    done = call("check", "--db", database)
    assert (0, 7) == (done.exit_code, len(done.output.splitlines()))
    for private in (WORDS, pet_id(1), pet_digest(pet_id(1))[:16], "Etc/UTC"):
        assert private not in done.output
