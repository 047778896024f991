"""A file system without syncs, for many simulated lives on a real database: nothing here cuts the power."""

from functools import cache

import apsw


class QuietVFS(apsw.VFS):
    """The system's file system, its syncs left out."""

    def __init__(self) -> None:
        super().__init__("quiet", "")

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        return QuietFile("", name, flags)


class QuietFile(apsw.VFSFile):
    """One file on it."""

    def xSync(self, flags: int) -> None:  # noqa: N802
        pass


@cache
def _registered() -> QuietVFS:
    return QuietVFS()  # SQLite keeps it by name as long as this object lives


def quiet_vfs() -> str:
    _registered()
    return "quiet"
