"""How the host is, honestly: what the dispatch says, whether it drains, and whether its disk is nearly full."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tokenling.host.envelopes import Health, PetsPort
from tokenling.host.waits import Waits

FREE_BYTES_MIN = 64 * 1024 * 1024
"""Below this the disk counts as nearly full: a WAL of some hundred changed saves, and a warning while it still fits."""


def free_bytes(path: Path) -> int:
    """What this process may still write beside `path`. Raises `OSError`."""
    found = os.statvfs(path.parent)
    return found.f_bavail * found.f_frsize


class Condition:
    """Calling it gives the `Health` that is shown. `free_bytes` is asked each time; None where no disk is watched."""

    def __init__(self, pets: PetsPort, waits: Waits, *, free_bytes: Callable[[], int] | None = None) -> None:
        self._pets = pets
        self._waits = waits
        self._free_bytes = free_bytes

    def __call__(self) -> Health:
        health = self._pets.health()
        reasons = dict.fromkeys((*(["draining"] if self._waits.ended else []), *health.reasons, *self._disk()))
        return replace(health, ready=not reasons, reasons=tuple(reasons))

    def _disk(self) -> list[str]:
        if self._free_bytes is None:
            return []
        try:
            return ["disk_nearly_full"] if self._free_bytes() < FREE_BYTES_MIN else []
        except OSError:
            return ["disk_unreadable"]
