"""Backups: made beside a running host, and checked. `restoring.py` puts them back.

A backup is one file, 0600, whole and checked before it gets its name. It is read through a connection of its own that
cannot write: SQLite's WAL lets it read one moment of the database while the host goes on.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from tokenling.protocol import Status
from tokenling.store import schema, survey
from tokenling.store.database import BUSY_WAIT_MS
from tokenling.store.errors import OpenCode, StoreRefused, failure_of
from tokenling.store.files import (
    PRIVATE_FILE,
    SIDE_FILES,
    beside,
    create_private,
    lock_database,
    sync_directory,
    sync_file,
)
from tokenling.store.tombstones import read_tombstones

OTHER_FILES = (".lock", ".tombstones")
WRITABLE = "a disk that takes a copy of the database"
SaveFits = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look through a whole database found; it holds no word and no id of a pet."""

    schema_version: int
    by_status: Mapping[Status, int]
    tombstones: int
    operations: int
    turn_receipts: int
    save_bytes: int
    unfit_saves: int
    faults: tuple[str, ...]
    """Empty for a sound database, else a line each."""

    @property
    def pets(self) -> int:
        return sum(self.by_status.values())


def back_up_beside(path: Path, out: Path) -> None:
    """`out` is a new, private, checked copy of the database at `path`, whether a host holds it or not.

    Raises `FileExistsError`, `StoreRefused`, and `OSError` for a place that cannot be written.
    """
    if os.path.lexists(out):
        raise FileExistsError(out)
    part = beside(out, ".part")
    part.unlink(missing_ok=True)
    create_private(part, exclusive=True)
    try:
        with reading(path) as source:
            schema.check_identity(source, path)
            copy_into(source, part)
        refuse_faults(check_file(part), part)
        sync_file(part)
        os.link(part, out)  # not a rename: a file that came meanwhile is not overwritten
        sync_directory(out.parent)
    finally:
        part.unlink(missing_ok=True)


def check_file(path: Path, save_fits: SaveFits | None = None) -> Checked:
    """Look through the database at `path`, whether a host holds it or not. Changes nothing.

    `save_fits` says whether a save can be read; None asks nobody. Raises `StoreRefused` for what is not a database of
    ours at all.
    """
    with reading(path) as connection:
        version = schema.check_identity(connection, path)
        faults = [*_damage(connection), *(_strange_schema(connection, version))]
        if faults:
            return Checked(version, {}, 0, 0, 0, 0, 0, tuple(faults))
        connection.execute("BEGIN")  # all numbers are of one moment
        counts = survey.counts(connection)
        unfit = sum(not save_fits(save) for (save,) in connection.execute("SELECT save FROM pets")) if save_fits else 0
        numbers = {
            table: int(connection.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608 # our own names
            for table in ("tombstones", "operations", "turn_receipts")
        }
        save_bytes = int(connection.execute("SELECT coalesce(sum(length(save)), 0) FROM pets").get)
        faults += _contradictions(connection, path)
        connection.execute("COMMIT")
    if unfit:
        faults.append(f"{unfit} saves that the rules cannot read")
    return Checked(
        version,
        counts.by_status,
        numbers["tombstones"],
        numbers["operations"],
        numbers["turn_receipts"],
        save_bytes,
        unfit,
        tuple(faults),
    )


def copy_to_try(path: Path, out: Path) -> None:
    """`out` is a private copy of a stopped host's files, for a start to be tried on; what is at `path` stays untouched.

    The files are copied without SQLite, which would make side files. Raises `StoreRefused` (locked by a host that runs,
    or unreadable).
    """
    lock = lock_database(path) if beside(path, ".lock").exists() else None  # without one no host has it
    try:
        for suffix in ("", "-wal", ".tombstones"):
            if suffix == "" or beside(path, suffix).exists():
                create_private(beside(out, suffix))
                shutil.copyfile(beside(path, suffix), beside(out, suffix))
    except OSError as error:
        found = (error.strerror or "an error").lower()
        raise StoreRefused(OpenCode.UNREADABLE, path, found, "a file to read, and room for a copy of it") from None
    finally:
        if lock is not None:
            lock.release()


@contextmanager
def reading(path: Path) -> Iterator[apsw.Connection]:
    """A connection that reads and cannot write. Raises `StoreRefused`."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoreRefused(OpenCode.UNREADABLE, path, "something that is not a file", "a database file")
    except OSError as error:
        raise StoreRefused(
            OpenCode.UNREADABLE, path, (error.strerror or "an error").lower(), "a database file"
        ) from None
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(BUSY_WAIT_MS)
        connection.pragma("trusted_schema", "off")
        yield connection
    except apsw.Error as error:
        failure = failure_of(error)
        found = f"{failure.code} (SQLite {failure.number})"
        raise StoreRefused(OpenCode.UNREADABLE, path, found, "a whole database of this program") from None
    finally:
        if connection is not None:
            connection.close()


def copy_into(source: apsw.Connection, out: Path) -> None:
    """`out`, an empty file, holds one moment of the database behind `source`. Raises `StoreRefused`."""
    copy: apsw.Connection | None = None
    try:
        copy = apsw.Connection(str(out), flags=apsw.SQLITE_OPEN_READWRITE)
        backup = copy.backup("main", source, "main")
        try:
            backup.step(-1)  # one read transaction: one moment of the database, and never begun anew
        finally:
            backup.close(True)  # a step that failed has raised already
        copy.pragma("journal_mode", "delete")  # one file, no side files
    except apsw.Error as error:
        failure = failure_of(error)
        raise StoreRefused(OpenCode.UNREADABLE, out, f"{failure.code} (SQLite {failure.number})", WRITABLE) from None
    finally:
        if copy is not None:
            copy.close()


def _damage(connection: apsw.Connection) -> list[str]:
    """What SQLite's own full checks say, without its text, which may quote a value."""
    try:
        whole = connection.execute("PRAGMA integrity_check(1)").get == "ok"
        orphans = len(connection.execute("PRAGMA foreign_key_check").fetchall())
    except apsw.Error as error:
        return [f"damaged pages ({failure_of(error).code})"]
    return [*([] if whole else ["damaged pages"]), *([f"{orphans} rows of no pet"] if orphans else [])]


def _strange_schema(connection: apsw.Connection, version: int) -> list[str]:
    """Whether the tables are the ones that this schema version has."""
    if version < len(schema.MIGRATIONS):
        return []  # an older release wrote it; the next start brings it up
    fresh = apsw.Connection(":memory:")
    for script in schema.MIGRATIONS[:version]:
        fresh.execute(script)
    query = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    return [] if connection.execute(query).fetchall() == fresh.execute(query).fetchall() else ["a changed schema"]


def _contradictions(connection: apsw.Connection, path: Path) -> list[str]:
    """What no host leaves behind: pets that are deleted too, files that others may read."""
    buried = survey.stored_tombstones(connection) | read_tombstones(beside(path, ".tombstones"))
    digests = {digest for (digest,) in connection.execute("SELECT pet_digest FROM pets")}
    faults = [f"{len(buried & digests)} pets that are deleted too"] if buried & digests else []
    for file in (path, *(beside(path, suffix) for suffix in (*SIDE_FILES, *OTHER_FILES))):
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & ~PRIVATE_FILE:
                faults.append(f"{file.name} has mode {mode:04o}, expected 0600")
    return faults


def refuse_faults(checked: Checked, path: Path) -> None:
    """Raises `StoreRefused` for a database that is not sound."""
    if checked.faults:
        raise StoreRefused(OpenCode.CORRUPT, path, "; ".join(checked.faults), "a sound database of this program")
