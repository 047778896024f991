"""`python restore_trials.py FOLDER`: restores a backup again and again, each time with another call failing.

Every call that a restore makes to the disk, SQLite's and its own, fails with EIO once, with ENOSPC from then on, or is
where the process is killed. After each trial the database is the whole old one or the whole new one, what was told is
so, and the next restore succeeds. One JSON line at the end: how many trials of each kind, and how each ended.
"""

import errno
import json
import os
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import trio
from crash_disk import CrashVFS, die

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_cases import NOW_MS, adopt, command, delete, pet_id

from tokenling.protocol import Record, Status, Tombstone
from tokenling.store import StoreRefused, back_up_beside, check_file, open_store, restore

RESTORED, REFUSED, UNSURE, KILLED = "restored", "refused", "in its place, unsure", "killed"
CALLS = ("open", "rename", "link", "unlink", "fsync", "fchmod", "chmod", "write", "ftruncate", "sendfile")
CALLS_MAX = 400
PETS = (1, 2, 3)
GONE = 2


class Trouble:
    """Counts this process's calls to the disk; the `at`-th (from 1) meets `kind`."""

    def __init__(self, folder: Path, kind: str, at: int) -> None:
        self.kind, self.at, self.calls = kind, at, 0
        self._folder = str(folder)
        vfs = self.vfs = CrashVFS(default=True)
        vfs.before = self._sqlite
        for name in CALLS:
            setattr(os, name, self._failing(getattr(os, name)))

    def _strikes(self) -> bool:
        self.calls += 1
        hit = self.calls >= self.at if self.kind == "ENOSPC" else self.calls == self.at
        if hit and self.kind == "kill":
            die()
        return hit

    def _sqlite(self, _call: str, _file: str) -> bool:
        if self._strikes():
            raise apsw.FullError("on order") if self.kind == "ENOSPC" else apsw.IOError("on order")
        return False

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            by_name = isinstance(arguments[0], str | os.PathLike)
            if (not by_name or os.fspath(arguments[0]).startswith(self._folder)) and self._strikes():
                raise OSError(errno.ENOSPC if self.kind == "ENOSPC" else errno.EIO, "on order")
            return real(*arguments, **more)

        return call


def in_child(work: Callable[[], int]) -> int:
    """What `work` gives back in a process of its own; negative for the signal that killed it."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(work())
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def build(home: Path) -> None:
    """A backup of three pets; a database in which they lived on, one is deleted, and the WAL was never folded in."""
    path, vfs = home / "host" / "pets.sqlite", CrashVFS()

    async def young() -> None:
        async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
            for number in PETS:
                await adopt(store, number)

    async def old() -> None:
        async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
            await delete(store, GONE)
            for number in set(PETS) - {GONE}:
                await command(store, f"later-{number}", b'{"later":1}', number)
            (path.parent / "pets.sqlite.tombstones").unlink()  # killed before it was written: only the table knows
            os._exit(0)

    trio.run(young)
    back_up_beside(path, home / "backup")
    assert in_child(lambda: trio.run(old)) == 0
    assert (path.parent / "pets.sqlite-wal").stat().st_size > 0


def what_is_there(folder: Path) -> dict[int, Any]:
    """The pets that a host would find, read from a copy of its files."""
    copy, vfs = folder.with_name("copy"), CrashVFS()
    shutil.copytree(folder, copy)

    async def read() -> dict[int, Any]:
        async with open_store(copy / "pets.sqlite", now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
            return {number: await store.load(pet_id(number)) for number in PETS}

    try:
        return trio.run(read)
    finally:
        shutil.rmtree(copy)


def is_restored(found: dict[int, Any]) -> bool:
    """Whether these are the backup's pets, parked beyond all; the deleted one is gone."""
    kept = [record for number, record in found.items() if number != GONE]
    return isinstance(found[GONE], Tombstone) and all(
        isinstance(record, Record)
        and record.status is Status.PARKED
        and min(record.epoch, record.revision) > 2**20
        and b"later" not in record.save
        for record in kept
    )


def attempt(home: Path, folder: Path, kind: str, at: int, *, now_ms: int = NOW_MS + 1000) -> str:
    """How one restore ended; one of kind "none" is left in peace."""

    def work() -> int:
        trouble = Trouble(folder, kind, at)
        try:
            restore(home / "backup", folder / "pets.sqlite", now_ms=now_ms)
        except StoreRefused as refused:
            return 4 if refused.found.startswith("the backup in its place") else 3
        except (OSError, SystemError):  # apsw's own, where a backup's file system in Python fails a second time
            return 3
        return 0 if trouble.calls >= at else 5

    ended = {0: RESTORED, 3: REFUSED, 4: UNSURE, 5: "untroubled", -9: KILLED}
    return ended[in_child(work)]


def check_names(folder: Path) -> None:
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert ".restoring-" not in file.name, file


def trial(home: Path, before: dict[int, Any], kind: str, at: int) -> str:
    folder = home / "trial" / "host"
    shutil.copytree(home / "host", folder)
    ended = attempt(home, folder, kind, at)
    found = what_is_there(folder)
    new = is_restored(found)
    assert new or found == before, (kind, at, ended, found)
    assert new == (ended in (RESTORED, UNSURE, "untroubled")) or ended == KILLED, (kind, at, ended, new)
    if kind == "EIO":
        kept = [file.name for file in folder.iterdir() if "before-restore" in file.name]
        assert bool(kept) == new, (at, ended, kept)
    assert attempt(home, folder, "none", 0, now_ms=NOW_MS + 2000) == RESTORED
    assert is_restored(again := what_is_there(folder))
    highest = max(record.epoch for record in found.values() if isinstance(record, Record))
    assert all(record.epoch > highest for record in again.values() if isinstance(record, Record))
    assert check_file(folder / "pets.sqlite").faults == ()
    check_names(folder)
    shutil.rmtree(home / "trial")
    return ended


def main() -> None:
    home = Path(sys.argv[1])
    os.fsync = lambda _handle: None  # no test here cuts the machine's power, and `CrashVFS` does not sync either
    build(home)
    before = what_is_there(home / "host")
    assert not is_restored(before)
    ends: dict[str, Counter[str]] = {}
    for kind in ("EIO", "ENOSPC", "kill"):
        ends[kind] = Counter()
        for at in range(1, CALLS_MAX):
            ended = trial(home, before, kind, at)
            if ended == "untroubled":
                break
            ends[kind][ended] += 1
        else:
            raise AssertionError("a restore that never ends")
    sys.stdout.write(json.dumps(ends) + "\n")


if __name__ == "__main__":
    main()
