"""A file system that fails or stalls on order: what a full, broken or slow disk does to SQLite.

It sits under the database as an apsw VFS and hands everything to the real file system until its order comes.
"""

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass

import apsw

_numbers = itertools.count()


@dataclass(frozen=True)
class Fault:
    """The `at`-th write, sync or truncation (counted from 0) fails; `lasting`: every later one, too."""

    at: int
    error: Callable[[], Exception]
    lasting: bool
    short: bool = False


class FaultyVFS(apsw.VFS):
    """`fault` is the order; `calls` counts; `gate`, when closed, stops syncs until it opens.

    `really` False leaves the syncs out, where a test needs many runs and no power cut: the page cache survives.
    """

    def __init__(self, *, really: bool = True) -> None:
        self.really = really
        self.vfs_name = f"faulty-{next(_numbers)}"
        super().__init__(self.vfs_name, "")
        self.fault: Fault | None = None
        self.calls = 0
        self.syncs = 0
        self.gate = threading.Event()
        self.gate.set()
        self.stopped = threading.Event()

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        return FaultyFile(self, name, flags)

    def strike(self) -> Fault | None:
        """The fault when it is this call's turn."""
        number, self.calls = self.calls, self.calls + 1
        fault = self.fault
        hit = fault is not None and (number >= fault.at if fault.lasting else number == fault.at)
        return fault if hit else None

    def break_from_now(self, error: Callable[[], Exception], *, lasting: bool = True) -> None:
        self.fault = Fault(self.calls, error, lasting)


class FaultyFile(apsw.VFSFile):
    """One open file on the faulty file system."""

    def __init__(self, vfs: FaultyVFS, name: object, flags: list[int]) -> None:
        self.vfs = vfs
        super().__init__("", name, flags)

    def excepthook(self, *_: object) -> None:
        """The error reaches SQLite as its code; nothing is to be printed."""

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if fault := self.vfs.strike():
            if fault.short:
                super().xWrite(data[: len(data) // 2], offset)
            raise fault.error()
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        if fault := self.vfs.strike():
            raise fault.error()
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.vfs.syncs += 1
        if not self.vfs.gate.is_set():
            self.vfs.stopped.set()
            self.vfs.gate.wait(30)
        if fault := self.vfs.strike():
            raise fault.error()
        if self.vfs.really:
            super().xSync(flags)


def disk_full() -> Exception:
    return apsw.FullError("disk full")


def disk_broken() -> Exception:
    return apsw.IOError("I/O error")
