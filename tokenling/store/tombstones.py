"""The tombstone file: the hashes of deleted pets, beside the database, so that a restored backup forgets them too.

One line of 64 hex digits a pet. Lines have one length, so a line torn by a crash is known by the file's size and cut
off; its pet's hash stands in the database, from which the file is completed at the next start.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path

from tokenling.store.errors import OpenCode, StoreRefused
from tokenling.store.files import PRIVATE_FILE, sync_directory

LINE_BYTES = 65
_LINE = re.compile(rb"[0-9a-f]{64}")


def read_tombstones(path: Path) -> frozenset[str]:
    """The digests in the file, none without a file. A torn last line is left out; `StoreRefused` for any other."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return frozenset()
    lines = [data[start : start + LINE_BYTES] for start in range(0, len(data) - LINE_BYTES + 1, LINE_BYTES)]
    for number, line in enumerate(lines, start=1):
        if not _LINE.fullmatch(line[:-1]) or line[-1:] != b"\n":
            raise StoreRefused(OpenCode.CORRUPT, path, f"line {number} is no hash", "64 hex digits a line")
    return frozenset(line[:-1].decode() for line in lines)


def append_tombstones(path: Path, digests: Collection[str]) -> None:
    """The digests are in the file, on disk. Raises `OSError`; what was written of them then counts for nothing."""
    if not digests:
        return
    new = not path.exists()
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        os.fchmod(handle, PRIVATE_FILE)
        size = os.fstat(handle).st_size
        if torn := size % LINE_BYTES:
            os.ftruncate(handle, size - torn)
        _write_all(handle, b"".join(digest.encode() + b"\n" for digest in sorted(digests)))
        os.fsync(handle)
    finally:
        os.close(handle)
    if new:
        sync_directory(path.parent)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
