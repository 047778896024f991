"""Folders to build in: locked as long as their process lives, so what a killed one left can be told and removed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def building_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new private folder in `parent`, gone afterwards unless it was renamed; those of dead processes go first."""
    for abandoned in parent.glob(prefix + "*"):
        _remove_abandoned(abandoned)
    made, lock = _locked(parent, prefix)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _locked(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder and the lock on it. One that another process took for abandoned before it was locked is left."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):
            lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if made.exists():
                return made, lock
            os.close(lock)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of this user's that nobody holds; a link, another's or a living build's stays."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # it is being built in
    finally:
        os.close(lock)
