"""One pet in one file: held by one process, read whole, replaced whole.

The file is a save (docs/save-format.md), 0600. It is replaced by a new file that is on disk before it takes the name,
so a crash at any moment leaves the last step or the one before it, never half of one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenling.engine.bounds import SAVE_BYTES_MAX
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.store.files import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    FileLock,
    beside,
    sync_directory,
)


class PetFile:
    """A pet's file while this process holds its lock. Every fault is a `HostRefused` with the database's exit code."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> bytes | None:
        """The bytes of the save, at most one more than a save may have; None when there is no file yet."""
        try:
            if not self.path.exists():
                return None
            if not self.path.is_file():
                raise _refused(self.path, "something that is not a file", "a save, or nothing yet")
            with self.path.open("rb") as source:
                return source.read(SAVE_BYTES_MAX + 1)
        except OSError as error:
            raise _failed(self.path, error) from None

    def keep(self, data: bytes) -> None:
        """The file holds `data`, on disk. A failure leaves the file as it was."""
        fresh = beside(self.path, ".new")
        try:
            fresh.unlink(missing_ok=True)  # what a crash left: we hold the lock, so nobody writes it
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
            with os.fdopen(handle, "wb") as target:
                os.fchmod(target.fileno(), PRIVATE_FILE)
                target.write(data)
                target.flush()
                os.fsync(target.fileno())
            fresh.replace(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise _failed(self.path, error) from None


@contextmanager
def held(path: Path) -> Iterator[PetFile]:
    """The file of one pet, for this process alone. Raises `HostRefused` when another one has it."""
    path = path.expanduser().resolve()  # a link stays a link: what it points to is replaced
    try:
        path.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        lock = FileLock(beside(path, ".lock"))
    except OSError as error:
        raise _failed(path, error) from None
    try:
        if not lock.acquire():
            raise _refused(path, "another process that has this pet", "one at a time")
        yield PetFile(path)
    finally:
        lock.release()


def _failed(path: Path, error: OSError) -> HostRefused:
    return _refused(path, (error.strerror or type(error).__name__).lower(), "a file that may be read and replaced")


def _refused(path: Path, found: str, expected: str) -> HostRefused:
    return HostRefused(ExitCode.DATABASE, f"--state {path}: found {found}, expected {expected}")
