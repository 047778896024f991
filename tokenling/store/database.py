"""The synchronous half of the store: one open database, and one transaction for a group of calls.

Used by one thread at a time. Opening goes: directory, lock, file (0600 before its first byte), identity, integrity,
schema, tombstones; each step refuses before anything is changed. A group goes: BEGIN IMMEDIATE, a savepoint per call,
COMMIT, then the traces of what was deleted are erased.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

import apsw

from tokenling.store import census, schema, survey
from tokenling.store.errors import FailureCode, OpenCode, StoreFailed, StoreRefused, failure_of
from tokenling.store.files import (
    FileLock,
    beside,
    create_private,
    identity_of,
    lock_database,
    make_private,
    prepare_directory,
    prepare_file,
    sync_file,
)
from tokenling.store.rows import Unit
from tokenling.store.tombstones import append_tombstones, read_tombstones

BUSY_WAIT_MS = 2000
"""How long a write or a checkpoint waits for a backup that reads at the same time (a guess)."""
CACHE_KIB = 16_384
"""SQLite's page cache: the live pages of some hundred pets (a guess)."""

T = TypeVar("T")
Work = Callable[[Unit], T]


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a call gave back; for a write, behind its commit."""

    value: T


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a call has no effect."""

    error: Exception


class Database:
    """An open database; `open_database` makes one.

    `failing` is the code of the last write or read that failed below SQLite, None again after the next commit.
    """

    def __init__(self, path: Path, connection: apsw.Connection, lock: FileLock) -> None:
        self.path: Final = path
        self.failing: FailureCode | None = None
        self._connection = connection
        self._lock = lock
        self._unwritten_tombstones: set[str] = set()
        self._uncut_wal = False
        self._opened = {file: identity_of(file) for file in (path, beside(path, "-wal"))}

    @property
    def in_place(self) -> bool:
        """Whether the names still stand for the open files: one that was removed, renamed or replaced takes writes as
        before, and loses them when it is closed."""
        return all(identity_of(file) == opened for file, opened in self._opened.items())

    def write_group(self, works: Sequence[Work[object]]) -> list[Done[object] | Failed]:
        """One outcome per work, in order. All that are done are on disk; one that failed left nothing behind.

        When the transaction itself fails, or its files are gone before or after it, all fail alike with `StoreFailed`.
        """
        if not self.in_place:
            return [Failed(self._note(StoreFailed(FailureCode.MOVED))) for _ in works]
        changes = self._connection.total_changes()
        try:
            outcomes, units = self._transact(works)
        except apsw.Error as error:
            return [Failed(self._fail(error)) for _ in works]
        if not self.in_place:
            return [Failed(self._note(StoreFailed(FailureCode.MOVED))) for _ in works]
        if self._connection.total_changes() != changes or any(unit.probed for unit in units):
            self.failing = None  # a commit without a change never reached the disk and proves nothing
        return self._erase_traces(outcomes, units)

    def _transact(self, works: Sequence[Work[object]]) -> tuple[list[Done[object] | Failed], list[Unit]]:
        connection = self._connection
        units = [Unit(connection) for _ in works]
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._attempt(work, unit) for work, unit in zip(works, units, strict=True)]
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return outcomes, units

    def _attempt(self, work: Work[object], unit: Unit) -> Done[object] | Failed:
        """One work under its savepoint. Raises `apsw.Error` only when SQLite gave up the whole transaction."""
        connection = self._connection
        connection.execute("SAVEPOINT one_call")
        try:
            outcome: Done[object] | Failed = Done(work(unit))
        except Exception as error:
            if not connection.in_transaction:
                raise  # SQLite itself rolled back (a full disk, a failing one): the neighbours are undone, too
            connection.execute("ROLLBACK TO one_call")
            outcome = Failed(failure_of(error) if isinstance(error, apsw.Error) else error)
            unit.buried.clear()
            unit.removed = False
        connection.execute("RELEASE one_call")
        return outcome

    def _erase_traces(
        self, outcomes: list[Done[object] | Failed], units: Sequence[Unit]
    ) -> list[Done[object] | Failed]:
        """Deleted pets are in the tombstone file and out of the WAL, or their calls fail and it is tried again."""
        self._unwritten_tombstones.update(digest for unit in units for digest in unit.buried)
        self._uncut_wal |= any(unit.removed for unit in units)
        try:
            self._finish_erasing()
        except (apsw.Error, OSError) as error:
            self._fail(error)
            return [
                Failed(self._fail(error)) if unit.buried and isinstance(outcome, Done) else outcome
                for outcome, unit in zip(outcomes, units, strict=True)
            ]
        return outcomes

    def _finish_erasing(self) -> None:
        append_tombstones(beside(self.path, ".tombstones"), self._unwritten_tombstones)
        self._unwritten_tombstones.clear()
        if self._uncut_wal:
            # with a reader in the way (a backup) this stays to be done by a later group
            ((busy, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._uncut_wal = bool(busy)

    @staticmethod
    def probe(unit: Unit) -> None:
        """Write a page as it is: enough to find out whether the disk takes a commit again."""
        unit.connection.pragma("user_version", len(schema.MIGRATIONS))
        unit.probed = True

    def read(self, work: Work[T]) -> Done[T] | Failed:
        """The outcome of a work that only reads."""
        try:
            return Done(work(Unit(self._connection)))
        except apsw.Error as error:
            return Failed(self._fail(error))
        except Exception as error:
            return Failed(error)

    def _fail(self, error: apsw.Error | OSError) -> StoreFailed:
        return self._note(failure_of(error))

    def _note(self, failure: StoreFailed) -> StoreFailed:
        self.failing = failure.code
        return failure

    def back_up(self, out: Path) -> None:
        """`out` is a new file (0600) that holds this database as it stands, whole and checked.

        Raises `FileExistsError` for one that is there, and `apsw.Error`; what was begun of it is removed then.
        """
        create_private(out, exclusive=True)
        try:
            copy = apsw.Connection(str(out), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                with copy.backup("main", self._connection, "main") as backup:
                    backup.step(-1)
                copy.pragma("journal_mode", "delete")  # one file, no side files
                check_integrity(copy, out)
            finally:
                copy.close()
        except BaseException:
            out.unlink(missing_ok=True)
            raise
        sync_file(out)

    def close(self) -> None:
        """The WAL is in the database file, the files are closed, the lock is free. Never raises for a failing disk:
        what was acknowledged is in the WAL and will be found there."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except apsw.Error as error:
            self._fail(error)
        try:
            self._connection.close()
        except apsw.Error as error:
            self._fail(error)  # closed all the same: only its last sync failed
        finally:
            self._lock.release()


def open_database(path: Path, now_ms: int, vfs: str | None = None) -> Database:
    """The database at `path`, made when there is none, its schema the newest. Raises `StoreRefused`.

    `vfs` names an apsw VFS to run on: the place for fault tests.
    """
    path = path.absolute()
    prepare_directory(path)
    lock = lock_database(path)
    try:
        prepare_file(path)
        connection = _connect(path, now_ms, vfs)
        database = Database(path, connection, lock)
        try:
            _agree_on_tombstones(database)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        lock.release()
        raise
    return database


def _connect(path: Path, now_ms: int, vfs: str | None) -> apsw.Connection:
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
        connection.set_busy_timeout(BUSY_WAIT_MS)
        version = schema.check_identity(connection, path)
        check_integrity(connection, path)
        make_private(path)
        _configure(connection)
        schema.migrate(connection, version, now_ms)
        census.take(connection)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, apsw.Error):
            raise _refusal_of(error, path) from None
        raise
    return connection


def _refusal_of(error: apsw.Error, path: Path) -> StoreRefused:
    failure = failure_of(error)
    known = {FailureCode.CORRUPT: OpenCode.CORRUPT, FailureCode.LOCKED: OpenCode.LOCKED}
    code = known.get(failure.code, OpenCode.UNREADABLE)
    return StoreRefused(code, path, f"{failure.code} (SQLite {failure.number})", "a whole database of this program")


def check_integrity(connection: apsw.Connection, path: Path) -> None:
    """The file's pages and tables are whole, else `StoreRefused`. Reads the whole file: at most some 100 MB."""
    verdict = connection.execute("PRAGMA quick_check(1)").get
    if verdict != "ok":
        raise StoreRefused(OpenCode.CORRUPT, path, "damaged pages", "a whole database of this program")


def _configure(connection: apsw.Connection) -> None:
    mode = connection.pragma("journal_mode", "wal")
    assert mode == "wal", "a file database takes WAL"
    for name, value in {
        "synchronous": "full",  # acknowledged means on disk
        "secure_delete": "on",  # what is deleted is overwritten
        "foreign_keys": "on",
        "trusted_schema": "off",
        "cell_size_check": "on",
        "temp_store": "memory",  # no word of a pet in a temporary file
        "cache_size": -CACHE_KIB,
    }.items():
        connection.pragma(name, value)


def _agree_on_tombstones(database: Database) -> None:
    """Database and tombstone file hold the same hashes, and no pet that one of them has buried."""
    path = beside(database.path, ".tombstones")
    in_file = read_tombstones(path)

    def apply(unit: Unit) -> None:
        survey.apply_tombstones(unit, in_file)

    (outcome,) = database.write_group([apply])
    if isinstance(outcome, Failed):
        raise _not_agreed(path, outcome.error) from outcome.error
    try:
        append_tombstones(path, survey.stored_tombstones(database._connection) - in_file)
    except OSError as error:
        raise _not_agreed(path, error) from error


def _not_agreed(path: Path, error: Exception) -> StoreRefused:
    return StoreRefused(
        OpenCode.UNREADABLE, path, type(error).__name__, "a tombstone file that can be read and written"
    )
