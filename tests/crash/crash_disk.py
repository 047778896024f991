"""Disks for crash tests, as an apsw VFS: one that fails on order, one that kills on order, one that loses what was not
synced. Everything else is the real file system, whose own syncs are left out: no test here cuts the machine's power.
"""

import itertools
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

_numbers = itertools.count()
REAL = apsw.vfs_names()[0]
"""The system's own VFS."""
Hook = Callable[[str, str], bool]
"""Asked before each call with its kind (open, delete, write, sync, truncate) and its file (database, wal, journal).

It may raise, and the call fails; True from it makes a write a short one that then fails.
"""


def no_hook(_kind: str, _file: str) -> bool:
    return False


class CrashVFS(apsw.VFS):
    """`before` is asked before every call that changes the disk, `after_sync` once a sync is done.

    `dice`, where given, decide which writes reach the disk before their sync: the others are lost with the process.
    `default`: whoever names no VFS in this process is on this one.
    """

    def __init__(self, dice: random.Random | None = None, *, default: bool = False) -> None:
        self.vfs_name = f"crash-{next(_numbers)}"
        self.before: Hook = no_hook
        self.after_sync: Callable[[str], None] = lambda file: None
        self.dice = dice
        self.held: dict[str, HeldContent] = {}
        super().__init__(self.vfs_name, REAL, makedefault=default)

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self.before("open", file_of(path))
        content = self.held.setdefault(path, HeldContent(path)) if self.dice is not None else None
        return CrashFile(self, path, name, flags, content)

    def xDelete(self, name: str, sync_directory: bool) -> None:  # noqa: N802
        self.before("delete", file_of(name))
        super().xDelete(name, sync_directory)
        self.held.pop(name, None)

    def excepthook(self, *_: object) -> None:
        """The error reaches SQLite as its code; nothing is to be printed."""


def file_of(path: str) -> str:
    return {"-wal": "wal", "-journal": "journal"}.get(path[path.rfind("-") :], "database")


class CrashFile(apsw.VFSFile):
    """One open file on such a disk."""

    def __init__(self, vfs: CrashVFS, path: str, name: object, flags: list[int], held: "HeldContent | None") -> None:
        self._vfs = vfs
        self._file = file_of(path)
        self._held = held
        super().__init__(REAL, name, flags)
        if held is not None:
            held.read_in()

    def excepthook(self, *_: object) -> None:
        """The error reaches SQLite as its code; nothing is to be printed."""

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        if self._held is None:
            return super().xRead(amount, offset)
        return bytes(self._held.seen[offset : offset + amount])

    def xFileSize(self) -> int:  # noqa: N802
        return super().xFileSize() if self._held is None else len(self._held.seen)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._vfs.before("write", self._file):
            self._put(data[: len(data) // 2], offset)
            raise apsw.IOError("short write")
        self._put(data, offset)

    def _put(self, data: bytes, offset: int) -> None:
        if self._held is None:
            super().xWrite(data, offset)
        else:
            assert self._vfs.dice is not None
            self._held.write(bytes(data), offset, self._vfs.dice)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._vfs.before("truncate", self._file)
        if self._held is None:
            super().xTruncate(size)
        else:
            self._held.truncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.before("sync", self._file)
        if self._held is not None:
            self._held.sync()
        self._vfs.after_sync(self._file)


@dataclass
class HeldContent:
    """One file: `seen` is what the process reads; `unsynced` are the ranges that the disk may not have."""

    path: str
    seen: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, int]] = field(default_factory=list)

    def read_in(self) -> None:
        if not self.unsynced:
            self.seen = bytearray(Path(self.path).read_bytes())

    def write(self, data: bytes, offset: int, dice: random.Random) -> None:
        self.seen.extend(bytes(max(0, offset - len(self.seen))))
        self.seen[offset : offset + len(data)] = data
        luck = dice.random()
        self.unsynced.append((offset, len(data)))
        if luck < 0.4:  # a disk writes when it likes: all of it, or a half
            self._to_disk(offset, len(data) if luck < 0.3 else len(data) // 2)

    def truncate(self, size: int) -> None:
        del self.seen[size:]
        self.unsynced.append((size, 0))

    def sync(self) -> None:
        for offset, length in self.unsynced:
            self._to_disk(offset, length)
        self.unsynced.clear()
        os.truncate(self.path, len(self.seen))

    def _to_disk(self, offset: int, length: int) -> None:
        handle = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(handle, self.seen[offset : offset + length], offset)
        finally:
            os.close(handle)


def die() -> None:
    """What `kill -9` does, at this very line."""
    os.kill(os.getpid(), signal.SIGKILL)


def killer(kinds: set[tuple[str, str]], nth: int) -> Hook:
    """Dies before the `nth` call (from 1) of one of `kinds`."""
    counts = Counter[str]()

    def hook(kind: str, file: str) -> bool:
        if (kind, file) in kinds or (kind, "any") in kinds:
            counts["all"] += 1
            if counts["all"] == nth:
                die()
        return False

    return hook
