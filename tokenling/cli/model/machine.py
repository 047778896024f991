"""What this machine has: memory that is left, disk for temporary files, cores. Read where the system tells it."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

KIB = 1024
CGROUPS = (("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
           ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"))  # fmt: skip
"""Limit and use of this process's control group, versions 2 and 1, as a container sees its own."""


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes. `available` is what can be had without swapping, the control group's limit considered."""

    total: int
    available: int


def read_memory(meminfo: Path = Path("/proc/meminfo")) -> Memory | None:
    """The machine's memory; None where the system does not say."""
    try:
        rows = dict(line.split(":", 1) for line in meminfo.read_text("utf-8").splitlines() if ":" in line)
        total, available = (int(rows[name].split()[0]) * KIB for name in ("MemTotal", "MemAvailable"))
    except (OSError, ValueError, KeyError):
        return None
    for limit_file, use_file in CGROUPS:
        limit, use = _number(limit_file), _number(use_file)
        if limit is not None and use is not None and limit < total:
            total, available = limit, min(available, max(0, limit - use))
    return Memory(total, available)


def _number(path: str) -> int | None:
    """A file's one number; None for no such file, or `max`."""
    try:
        return int(Path(path).read_text("ascii"))
    except (OSError, ValueError):
        return None


def resident_bytes() -> int:
    """What this process has in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def temporary_space() -> tuple[str, int]:
    """Where built graphs lie while a model opens, and the bytes that are free there."""
    folder = tempfile.gettempdir()
    return folder, shutil.disk_usage(folder).free


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The processor's name; empty where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
