"""What a host is to run, as values: light to import, so that a command answers a wrong option at once."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tokenling.host.setting_values import Address
from tokenling.host.settings import Settings

if TYPE_CHECKING:
    from tokenling.host.brain_process import BrainProcess
    from tokenling.host.ports import Generator, Gpu


@dataclass(frozen=True, slots=True)
class HostBrain:
    """A brain that has passed its warm-up: the lanes of its CPU worker, what became of a GPU that was asked for, and
    what the operator should be told."""

    brain_id: str
    features: tuple[str, ...]
    directory: Path
    generators: "tuple[Generator, ...]"
    succeeds: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    gpu: "Gpu | None" = None
    precision: str = ""
    """The brain's own word for what it runs in; empty: the settings'."""
    files: tuple[str, ...] = ()
    """Names and SHA-256 of its files, one text each."""
    process: "BrainProcess | None" = None
    """Where the lanes run when not in the host's own process."""


class BrainLoader(Protocol):
    """Opens and warms up the brain that the settings name. Runs in a thread; raises `HostRefused` (exit code 3)."""

    def __call__(self, settings: Settings) -> HostBrain: ...


def wall_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class HostPlan:
    """What to run. `announce` is called once the host is ready, with its address (None for a check) and its brain;
    `announce_metrics` before it, where metrics have an address.

    `web_root` is the page that is served at `/`. A `preview` allows its own origins, answers loopback names only and
    moves its pets to a brain that succeeds theirs; `check` stops after the warm-up without listening.
    """

    settings: Settings
    load_brain: BrainLoader
    announce: Callable[[Address | None, HostBrain], None]
    web_root: Path | None = None
    preview: bool = False
    check: bool = False
    now_ms: Callable[[], int] = field(default=wall_clock_ms)
    announce_metrics: Callable[[Address], None] = field(default=lambda _address: None)
