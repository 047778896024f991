"""What the store raises. Foreign errors (SQLite's, the file system's) are mapped here, once.

No message carries a bound value, a row or a pet's id: a code, a path, a number.
"""

import errno
from enum import StrEnum
from pathlib import Path

import apsw


class StoreError(Exception):
    """Root of what the store raises."""


class OpenCode(StrEnum):
    """Why a database was not opened."""

    LOCKED = "locked"
    CORRUPT = "corrupt"
    NEWER_SCHEMA = "newer_schema"
    FOREIGN = "foreign"
    UNREADABLE = "unreadable"


class StoreRefused(StoreError):  # noqa: N818 - the contract of docs/architecture.md names it so
    """The database was not opened and is as it was. A retry helps only for `locked`, once the other process ended."""

    def __init__(self, code: OpenCode, path: Path, found: str, expected: str) -> None:
        super().__init__(f"{path}: found {found}, expected {expected}")
        self.code = code
        self.path = path
        self.found = found
        self.expected = expected


class StaleWrite(StoreError):  # noqa: N818 - the contract of docs/architecture.md names it so
    """Somebody else wrote first, or took the last room: nothing of this call was written. Read, decide, try again."""

    def __init__(self) -> None:
        super().__init__("the stored record is not the one that was decided on")


class FailureCode(StrEnum):
    """What went wrong below the store."""

    FULL = "full"
    IO = "io"
    LOCKED = "locked"
    READ_ONLY = "read_only"
    CORRUPT = "corrupt"
    MEMORY = "memory"
    TOO_BIG = "too_big"
    MOVED = "moved"
    """The database's name, or its WAL's, is no longer that of the open file: what is written would be found nowhere."""
    CLOSED = "closed"
    SQLITE = "sqlite"


class StoreFailed(StoreError):  # noqa: N818 - like its neighbours
    """The call did not succeed below the store, and nothing of it may be taken as done.

    Repeating it (with the same operation id) is safe: after a failing disk a commit may turn out to have been kept.
    `number` is SQLite's extended result code, or an errno.
    """

    def __init__(self, code: FailureCode, number: int = 0) -> None:
        super().__init__(f"the store failed: {code} ({number})" if number else f"the store failed: {code}")
        self.code = code
        self.number = number


class PrefixUnknown(StoreError):  # noqa: N818 - like its neighbours
    """A prefix of a pet's digest fits no pet, or more than one, or is too short. Nothing was done."""

    def __init__(self, matches: int) -> None:
        super().__init__(f"the digest prefix fits {matches} pets, expected exactly one")
        self.matches = matches


_BY_CLASS: tuple[tuple[type[apsw.Error], FailureCode], ...] = (
    (apsw.FullError, FailureCode.FULL),
    (apsw.IOError, FailureCode.IO),
    (apsw.CantOpenError, FailureCode.IO),
    (apsw.BusyError, FailureCode.LOCKED),
    (apsw.LockedError, FailureCode.LOCKED),
    (apsw.ReadOnlyError, FailureCode.READ_ONLY),
    (apsw.PermissionsError, FailureCode.READ_ONLY),
    (apsw.CorruptError, FailureCode.CORRUPT),
    (apsw.NotADBError, FailureCode.CORRUPT),
    (apsw.NoMemError, FailureCode.MEMORY),
    (apsw.TooBigError, FailureCode.TOO_BIG),
)


def failure_of(error: apsw.Error | OSError) -> StoreFailed:
    """The store's word for SQLite's or the system's error, without its text."""
    if isinstance(error, OSError):
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        return StoreFailed(FailureCode.FULL if full else FailureCode.IO, error.errno or 0)
    number = getattr(error, "extendedresult", 0)
    for kind, code in _BY_CLASS:
        if isinstance(error, kind):
            return StoreFailed(code, number)
    return StoreFailed(FailureCode.SQLITE, number)
