"""The files around the database: created private, locked by one process, synced with their directory."""

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from tokenling.store.errors import OpenCode, StoreRefused

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
SIDE_FILES = ("-wal", "-shm")


def beside(path: Path, suffix: str) -> Path:
    """The file that belongs to the database at `path`: the same name and `suffix`."""
    return path.with_name(path.name + suffix)


def sync_directory(directory: Path) -> None:
    """Names made or removed in `directory` are on disk."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """What was written to the file is on disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create_private(path: Path, *, exclusive: bool = False) -> None:
    """The file is there, 0600, before a byte is written to it; `exclusive` raises `FileExistsError` for an old one."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0)
    handle = os.open(path, flags, PRIVATE_FILE)
    try:
        os.fchmod(handle, PRIVATE_FILE)
    finally:
        os.close(handle)
    sync_directory(path.parent)


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file the name stands for now; None for no file, or one that this process may not see."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def prepare_directory(path: Path) -> None:
    """The directory of the database at `path` is there; one that had to be made is private. Raises `StoreRefused`."""
    try:
        path.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    except OSError as error:
        raise _unreadable(path, error) from error


def prepare_file(path: Path) -> None:
    """The database file is there; one that had to be made is private and empty. Raises `StoreRefused`."""
    try:
        if not path.exists():
            create_private(path)
        elif not stat.S_ISREG(path.stat().st_mode):
            raise StoreRefused(OpenCode.UNREADABLE, path, "something that is not a file", "a file, or nothing yet")
    except OSError as error:
        raise _unreadable(path, error) from error


def make_private(path: Path) -> None:
    """Database and side files of an older run are 0600. Only for a file that is known to be ours."""
    try:
        for file in (path, *(beside(path, suffix) for suffix in SIDE_FILES)):
            with contextlib.suppress(FileNotFoundError):
                file.chmod(PRIVATE_FILE)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StoreRefused:
    found = error.strerror or type(error).__name__
    return StoreRefused(OpenCode.UNREADABLE, path, found.lower(), "a file that this process may create, read and write")


class FileLock:
    """Held by one process per database, through `flock` on a sidecar file; the system lets go when a process dies.

    The sidecar stays: removing it would let two processes lock two files of one name.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        os.fchmod(self._handle, PRIVATE_FILE)

    def acquire(self) -> bool:
        """True when this process holds the lock now."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """The lock is free and its file closed."""
        os.close(self._handle)


def lock_database(path: Path) -> FileLock:
    """The lock of the database at `path`, held. Raises `StoreRefused` when another process holds it."""
    try:
        lock = FileLock(beside(path, ".lock"))
    except OSError as error:
        raise _unreadable(path, error) from error
    if not lock.acquire():
        lock.release()
        raise StoreRefused(OpenCode.LOCKED, path, "another process using it", "one host process per database")
    return lock
