"""Putting a backup in the place of a stopped host's database, so that no pet lives twice and nothing can be half done.

Under the host's lock a fenced copy of the backup is made beside the database; the one step that counts is a rename of
the copy over it. Before that step the old database is made to be one file (its WAL folded in, as the next start of a
host would do) and gets a second name; so whatever fails, or kills the process, the database is the whole old one or
the whole new one. What a killed restore leaves beside it is cleared by the next.
"""

import contextlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw

from tokenling.store import schema, survey
from tokenling.store.backups import WRITABLE, check_file, copy_into, reading, refuse_faults
from tokenling.store.database import BUSY_WAIT_MS, Done, open_database
from tokenling.store.errors import FailureCode, OpenCode, StoreRefused, failure_of
from tokenling.store.files import (
    SIDE_FILES,
    beside,
    create_private,
    identity_of,
    lock_database,
    sync_directory,
    sync_file,
)
from tokenling.store.tombstones import append_tombstones, read_tombstones

_DAMAGED = (FailureCode.CORRUPT, FailureCode.SQLITE)
"""No database, broken pages, or tables that are not ours."""
_MAGIC = b"SQLite format 3\0"
RESTORING, BEFORE = ".restoring-", ".before-restore-"


@dataclass(frozen=True, slots=True)
class Restored:
    """How many pets were fenced, and where the database from before lies (None: there was none)."""

    pets: int
    old: Path | None


@dataclass(frozen=True, slots=True)
class _Old:
    """What the restored database has to go beyond: the highest epoch or revision, and who was deleted."""

    highest: int = 0
    tombstones: frozenset[str] = frozenset()


def restore(backup: Path, path: Path, *, now_ms: int) -> Restored:
    """The database at `path` is `backup` with every pet parked beyond any epoch that was lost; deleted pets stay so.

    What was there before keeps its content under another name. Raises `StoreRefused` when a host holds the database,
    or the backup is not sound, and `OSError` or `StoreRefused` when the disk fails; the database is as it was then.
    """
    path = path.absolute()
    refuse_faults(check_file(backup), backup)
    lock = lock_database(path)
    fenced = beside(path, f"{RESTORING}{now_ms}")
    try:
        _clear_unfinished(path)
        old = _fold(path)
        append_tombstones(beside(path, ".tombstones"), old.tombstones - read_tombstones(beside(path, ".tombstones")))
        pets = _fence(backup, fenced, beside(path, ".tombstones"), now_ms, old.highest)
        kept = _exchange(fenced, path, beside(path, f"{BEFORE}{now_ms}"))
    except apsw.Error as error:  # out of closing a file
        found = f"{failure_of(error).code} (SQLite {failure_of(error).number})"
        raise StoreRefused(OpenCode.UNREADABLE, fenced, found, WRITABLE) from None
    finally:
        with contextlib.suppress(OSError):  # the next restore clears them
            _clear_unfinished(path)
        lock.release()
    return Restored(pets, kept)


def _clear_unfinished(path: Path) -> None:
    """No copy of a restore that was not finished is left beside the database. For the holder of its lock."""
    ours = re.compile(re.escape(path.name + RESTORING) + r"\d+([-.][a-z]+)?")
    for left in path.parent.iterdir():
        if ours.fullmatch(left.name):
            left.unlink(missing_ok=True)


def _fold(path: Path) -> _Old:
    """The database that goes is one file without side files, and what is known of it.

    One that is damaged, or not of this program, is left as it is and nothing is known of it. Raises `StoreRefused` when
    another process reads it, or the disk fails: what must not come back could not be known then.
    """
    if not path.exists() or not _starts_as_a_database(path):  # SQLite would drop the WAL beside what is none
        return _Old()
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(BUSY_WAIT_MS)
        connection.pragma("trusted_schema", "off")
        if connection.pragma("application_id") != schema.APPLICATION_ID:
            return _Old()
        old = _Old(survey.highest(connection), survey.stored_tombstones(connection))
        connection.pragma("journal_mode", "delete")
    except apsw.Error as error:
        failure = failure_of(error)
        if failure.code in _DAMAGED:
            return _Old()
        code = OpenCode.LOCKED if failure.code is FailureCode.LOCKED else OpenCode.UNREADABLE
        found = f"{failure.code} (SQLite {failure.number})"
        raise StoreRefused(code, path, found, "a database that can be read, by nobody else; or none") from None
    finally:
        if connection is not None:
            connection.close()
    return old


def _starts_as_a_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) in (_MAGIC, b"")


def _fence(backup: Path, fenced: Path, tombstones: Path, now_ms: int, floor: int) -> int:
    """A copy of the backup at `fenced`, parked and without the pets that were deleted since; how many it holds."""
    create_private(fenced, exclusive=True)
    with reading(backup) as source:
        copy_into(source, fenced)
    if tombstones.exists():
        copy = beside(fenced, ".tombstones")
        create_private(copy)
        shutil.copyfile(tombstones, copy)
    database = open_database(fenced, now_ms)
    try:
        (outcome,) = database.write_group([lambda unit: survey.park_restored(unit, now_ms, floor)])
    finally:
        database.close()
    if not isinstance(outcome, Done):
        raise StoreRefused(OpenCode.UNREADABLE, fenced, str(outcome.error), WRITABLE) from None
    assert isinstance(outcome.value, int), "park_restored counts"
    sync_file(fenced)
    return outcome.value


def _exchange(fenced: Path, path: Path, old: Path) -> Path | None:
    """`fenced` has the name `path`, and what had it has the name `old`; or, raising, nothing has happened."""
    had = [suffix for suffix in ("", *SIDE_FILES) if beside(path, suffix).exists()]
    try:
        for suffix in had:
            os.link(beside(path, suffix), beside(old, suffix))
        sync_directory(path.parent)
        for suffix in SIDE_FILES:  # of a database that could not be folded: they must never meet the new file
            beside(path, suffix).unlink(missing_ok=True)
        fenced.rename(path)
    except OSError:
        _take_back(path, old, had)
        raise
    try:
        sync_directory(path.parent)
    except OSError as error:
        found = f"the backup in its place, but {(error.strerror or 'an error').lower()} while its name went to disk"
        raise StoreRefused(OpenCode.UNREADABLE, path, found, "a disk that keeps names: restore again") from None
    return old if had else None


def _take_back(path: Path, old: Path, had: list[str]) -> None:
    """The names are as they were before, as far as the disk lets them; no content loses its last name."""
    for suffix in had:
        with contextlib.suppress(OSError):
            if not beside(path, suffix).exists():
                os.link(beside(old, suffix), beside(path, suffix))
            if identity_of(beside(path, suffix)) == identity_of(beside(old, suffix)):
                beside(old, suffix).unlink()
