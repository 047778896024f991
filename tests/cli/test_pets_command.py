import json
import subprocess
import sys

import pytest
import trio
from click.testing import CliRunner

from tokenling.cli import main
from tokenling.protocol import CheckRoom, Record, Status, WriteRecord, pet_digest
from tokenling.store import open_store

NOW_MS = 1_790_000_000_000
SAVE = b'{"private":"what the otter said"}'


def record(number, status=Status.ACTIVE, brain_id="sprout-0"):
    return Record(
        pet_id=f"00000000-0000-4000-8000-{number:012}",
        key_hash=bytes([number]) * 32,
        status=status,
        epoch=1,
        revision=1,
        brain_id=brain_id,
        save=SAVE,
        device_id=None,
        error=None,
        prepared_at_ms=NOW_MS,
        changed_at_ms=NOW_MS,
    )


def fill(path, records):
    async def run():
        async with open_store(path, now_ms=NOW_MS) as store:
            for each in records:
                await store.carry_out(each.pet_id, (WriteRecord(each, None, None), CheckRoom(64, 64)))

    trio.run(run)


def loaded(path, pet_id):
    async def run():
        async with open_store(path, now_ms=NOW_MS) as store:
            return await store.load(pet_id)

    return trio.run(run)


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "pets.sqlite"
    fill(path, [record(1), record(2, Status.PARKED)])
    return path


def call(*arguments):
    return CliRunner().invoke(main, ["pets", *map(str, arguments)])


def test_the_list_shows_digest_status_ages_and_size_and_nothing_of_the_owners(database):
    done = call("list", "--db", database)
    lines = done.output.splitlines()
    assert (0, 3) == (done.exit_code, len(lines))
    digest = pet_digest(record(1).pet_id)
    assert lines[1].split()[:2] == [digest[:16], "active"]
    assert lines[1].split()[-1] == str(len(SAVE))
    assert "otter" not in done.output
    assert record(1).pet_id not in done.output


def test_forgetting_deletes_the_one_pet_and_leaves_the_other(database):
    done = call("forget", pet_digest(record(1).pet_id)[:12], "--yes", "--db", database)
    assert done.exit_code == 0, done.output
    assert type(loaded(database, record(1).pet_id)).__name__ == "Tombstone"
    assert record(2).save == loaded(database, record(2).pet_id).save


def test_forgetting_asks_first_and_a_no_changes_nothing(database):
    done = CliRunner().invoke(main, ["pets", "forget", "x" * 12, "--db", str(database)], input="n\n")
    assert done.exit_code == 1
    assert isinstance(loaded(database, record(1).pet_id), Record)


@pytest.mark.parametrize("prefix", ["", "abc", "f" * 64, pet_digest(record(1).pet_id)[:7]])
def test_a_prefix_that_names_no_pet_or_is_too_short_deletes_nothing(database, prefix):
    done = call("forget", prefix, "--yes", "--db", database)
    assert done.exit_code == 2
    assert "expected exactly one" in done.output
    assert isinstance(loaded(database, record(1).pet_id), Record)


def test_a_database_that_a_host_holds_is_refused(database):
    async def run():
        async with open_store(database, now_ms=NOW_MS):
            return await trio.to_thread.run_sync(
                lambda: subprocess.run(
                    [sys.executable, "-m", "tokenling", "pets", "list", "--db", str(database)],
                    capture_output=True,
                    text=True,
                    check=False,
                )
            )

    done = trio.run(run)
    assert done.returncode == 4
    assert "one host process per database" in done.stderr


def test_a_database_that_is_not_there_is_refused_and_not_made(tmp_path):
    done = call("list", "--db", tmp_path / "none.sqlite")
    assert done.exit_code == 4
    assert "found no database" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_bytes(b"not a database at all, but notes" * 64)
    before = path.read_bytes()
    done = call("list", "--db", path)
    assert done.exit_code == 4
    assert before == path.read_bytes()


@pytest.fixture
def brain_dir(tmp_path):
    """A directory with the only file that the succession is read from."""
    directory = tmp_path / "brain"
    directory.mkdir()
    (directory / "brain.json").write_text(json.dumps({"id": "sprout-1", "succeeds": ["sprout-0"]}))
    return directory


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("sprout-0", "sprout-2", "found brain sprout-1, expected sprout-2"),
        ("acorn-3", "sprout-1", "succeeds sprout-0: found --from acorn-3"),
    ],
)
def test_pets_do_not_move_to_a_brain_that_does_not_succeed_theirs(database, brain_dir, old, new, told):
    done = call("rebrain", "--from", old, "--to", new, "--model-dir", brain_dir, "--db", database)
    assert done.exit_code == 3
    assert told in done.output
    assert loaded(database, record(1).pet_id).brain_id == "sprout-0"


def test_a_save_that_the_rules_refuse_keeps_every_pet_where_it_is_and_is_not_quoted(database, brain_dir):
    done = call("rebrain", "--from", "sprout-0", "--to", "sprout-1", "--model-dir", brain_dir, "--db", database)
    assert done.exit_code == 4
    assert "its rules fail with SaveRefused; no pet was moved" in done.output
    assert "otter" not in done.output
    assert loaded(database, record(1).pet_id) == record(1)


@pytest.mark.parametrize("manifest", [None, b"{", b"[]", b"{}", b'{"id": 3}', b"[" * 100_000])
def test_a_brain_without_a_readable_manifest_is_refused(database, brain_dir, manifest):
    path = brain_dir / "brain.json"
    path.unlink()
    if manifest is not None:
        path.write_bytes(manifest)
    done = call("rebrain", "--from", "sprout-0", "--to", "sprout-1", "--model-dir", brain_dir, "--db", database)
    assert done.exit_code == 3
