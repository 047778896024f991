"""A restore whose calls to the disk fail, or that is killed at one of them, is whole or has not happened."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
import trio
from crash_home import ROOT

from tokenling.store import OpenCode, StoreRefused, back_up_beside, open_store, restore
from tokenling.store.files import beside

NOW_MS = 1_800_000_000_000


def test_whichever_call_of_a_restore_fails_the_database_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("restore_trials.py")), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    calls = {kind: sum(counted.values()) for kind, counted in ends.items()}
    assert len(set(calls.values())) == 1, ("each call met each kind", ends)
    assert calls["kill"] > 100
    assert ends["EIO"]["in its place, unsure"] == 2, "the last sync alone, or opening for it, leaves a doubt"
    assert ends["kill"]["killed"] == calls["kill"]


def start(path: Path) -> None:
    async def run() -> None:
        async with open_store(path, now_ms=NOW_MS):
            pass

    trio.run(run)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    start(tmp_path / "other.sqlite")
    back_up_beside(tmp_path / "other.sqlite", tmp_path / "backup")
    return tmp_path / "backup"


def test_a_wal_that_has_lost_its_database_never_meets_the_restored_one(backup: Path, tmp_path: Path) -> None:
    folder = tmp_path / "host"
    folder.mkdir()
    path, stray = folder / "pets.sqlite", folder / "pets.sqlite-wal"
    stray.write_bytes(b"frames of a database that somebody moved away")
    done = restore(backup, path, now_ms=NOW_MS)
    assert not stray.exists()
    assert done.old is not None
    assert b"frames" in beside(done.old, "-wal").read_bytes(), "it is kept beside the others"
    start(path)


def test_a_damaged_database_and_its_wal_are_kept_under_the_other_name(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "pets.sqlite"
    path.write_bytes(b"broken" * 5000)
    beside(path, "-wal").write_bytes(b"frames")
    done = restore(backup, path, now_ms=NOW_MS)
    assert done.old is not None
    assert (b"broken" * 5000, b"frames") == (done.old.read_bytes(), beside(done.old, "-wal").read_bytes())
    start(path)


def test_a_damaged_database_is_in_its_place_again_when_the_exchange_fails(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pets.sqlite"
    path.write_bytes(b"broken" * 5000)
    beside(path, "-wal").write_bytes(b"frames")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "on order")

    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", fail)
        with pytest.raises(OSError, match="on order"):
            restore(backup, path, now_ms=NOW_MS)
    assert (b"broken" * 5000, b"frames") == (path.read_bytes(), beside(path, "-wal").read_bytes())
    assert [file for file in tmp_path.iterdir() if "restor" in file.name] == []


def test_a_database_that_another_process_reads_is_not_replaced(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "pets.sqlite"
    start(path)
    reader = apsw.Connection(str(path))
    try:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM pets").get == 0
        before = path.read_bytes()
        with pytest.raises(StoreRefused) as refused:
            restore(backup, path, now_ms=NOW_MS)
        assert (OpenCode.LOCKED, before) == (refused.value.code, path.read_bytes())
    finally:
        reader.close()


def test_only_what_a_restore_left_is_cleared(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "pets.sqlite"
    left = [
        beside(path, f".restoring-1{suffix}") for suffix in ("", "-wal", "-shm", "-journal", ".lock", ".tombstones")
    ]
    kept = [
        beside(path, ".restoring-notes"),
        beside(path, ".restoring-1.by.hand.txt"),
        tmp_path / "xpets.sqlite.restoring-1",
    ]
    for file in (*left, *kept):
        file.write_bytes(b"")
    restore(backup, path, now_ms=NOW_MS)
    assert [True] * len(kept) == [file.exists() for file in kept]
    assert [False] * len(left) == [file.exists() for file in left]
