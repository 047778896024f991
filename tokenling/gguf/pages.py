"""Pages of a mapped file that a load leaves behind, given back to the system.

Linux alone; elsewhere nothing happens, and nothing depends on it.
"""

import contextlib
import ctypes
import sys
from pathlib import Path

MADV_PAGEOUT = 21
"""Since Linux 5.4. Unlike MADV_DONTNEED it never loses a byte, whatever was done to the page."""


def give_back(file: Path) -> None:
    """Pages of this process's maps of `file` (deleted or not) leave memory until somebody reads them."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None, use_errno=True)
        for start, end in _maps_of(file):
            library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_PAGEOUT)


def _maps_of(file: Path) -> list[tuple[int, int]]:
    """Where `file` is mapped, by /proc/self/maps: `START-END PERMISSIONS OFFSET DEVICE INODE PATH`."""
    found: list[tuple[int, int]] = []
    for line in Path("/proc/self/maps").read_text("utf-8", errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].removesuffix(" (deleted)") == str(file):
            start, _, end = fields[0].partition("-")
            found.append((int(start, 16), int(end, 16)))
    return found
