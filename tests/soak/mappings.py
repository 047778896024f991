"""Where a process's resident memory is, as the system tells it: what has grown is then known by its kind."""

import re
from dataclasses import dataclass
from pathlib import Path

THREAD_HEAP_BYTES = 64 * 2**20
"""glibc gives each thread's heap an address that is a multiple of this."""
_MAPPING = re.compile(r"(?P<start>[0-9a-f]+)-[0-9a-f]+ \S+ \S+ \S+ (?P<inode>\d+)\s*(?P<name>.*)")


@dataclass(frozen=True, slots=True)
class Resident:
    """MiB: of files (libraries), of the C library's first heap and of each thread's, and of the rest, which is Python's
    own objects, stacks and large single pieces."""

    files: float
    first_heap: float
    thread_heaps: tuple[float, ...]
    rest: float


def resident_of(pid: int) -> Resident:
    """Read from /proc now."""
    return resident_in(Path(f"/proc/{pid}/smaps").read_text())


def resident_in(smaps: str) -> Resident:
    """Read from the text of a `/proc/PID/smaps`."""
    kib: dict[str, list[int]] = {"files": [], "first": [], "thread": [], "rest": []}
    kind = "rest"
    for line in smaps.splitlines():
        if mapping := _MAPPING.match(line):
            kind = _kind_of(int(mapping["start"], 16), mapping["inode"], mapping["name"])
        elif line.startswith("Rss:"):
            kib[kind].append(int(line.split()[1]))
    files, first, rest = (round(sum(kib[name]) / 1024, 1) for name in ("files", "first", "rest"))
    return Resident(files, first, tuple(round(size / 1024, 1) for size in kib["thread"]), rest)


def _kind_of(start: int, inode: str, name: str) -> str:
    if name == "[heap]":
        return "first"
    if inode != "0":
        return "files"
    return "thread" if not name and start % THREAD_HEAP_BYTES == 0 else "rest"
