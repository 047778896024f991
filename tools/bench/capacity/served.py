"""A real `tokenling serve` over a database, and what the system and its metrics page say of it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import httpx

from tokenling.cli.brain_files import shipped_brain_dir

START_S_MAX = 300.0
STOP_S_MAX = 60.0
_SAMPLE = re.compile(r"^(?P<name>[a-z_]+)(?P<labels>\{[^}]*\})? (?P<value>\S+)$")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has taken so far. `loop_s` is the thread that runs the event loop; `threads_s` all others, those
    that have ended included, and the process of a brain that has its own."""

    at_s: float
    loop_s: float
    threads_s: float
    resident_bytes: int
    threads: int
    files: int
    written_bytes: int = 0
    """To the disk, as the system counts it."""


def usage_of(pid: int) -> Usage:
    """Read from /proc now. `threads` and `files` are the process's own."""
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    whole_s = (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")
    loop_s = int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9
    status = Path(f"/proc/{pid}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    threads = int(status.partition("Threads:")[2].split()[0])
    written = int(Path(f"/proc/{pid}/io").read_text().partition("\nwrite_bytes:")[2].split()[0])
    children = [usage_of(child) for child in children_of(pid)]
    theirs_s = sum(child.loop_s + child.threads_s for child in children)
    resident += sum(child.resident_bytes for child in children)
    return Usage(time.monotonic(), loop_s, max(0.0, whole_s - loop_s) + theirs_s, resident, threads, files, written)


def children_of(pid: int) -> list[int]:
    """The processes that any of its threads started, and that live."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def machine_s() -> float:
    """Processor time that the whole machine has taken so far: what others took beside a measurement spoils it."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


Metrics = Mapping[str, float]
"""A scrape: `name{labels}` to its value."""


def parse_metrics(page: str) -> Metrics:
    """The samples of a page in Prometheus's text format."""
    found = (_SAMPLE.match(line) for line in page.splitlines() if not line.startswith("#"))
    return {f"{sample['name']}{sample['labels'] or ''}": float(sample["value"]) for sample in found if sample}


class Served:
    """The process, as a context. `started_s` is from its start until its address answered health with 200."""

    def __init__(
        self,
        database: Path,
        *,
        lanes: int,
        numerics: str,
        pets_max: int,
        brain: Path | None = None,
        process: str = "host",
        rows: int = 1,
    ) -> None:
        settings = {
            "LISTEN": "127.0.0.1:0", "METRICS_LISTEN": "127.0.0.1:0", "DB": str(database), "THREADS": "1",
            "MODEL_DIR": str(brain or shipped_brain_dir()), "ALLOWED_ORIGIN": "http://127.0.0.1:8460",
            "CPU_LANES": str(lanes), "NUMERICS": numerics, "MAX_PETS": str(pets_max),
            "BRAIN_PROCESS": process, "BATCH_ROWS": str(rows),
        }  # fmt: skip
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SUBTOKENLING_")}
        environ = {**ours, "PYTHONUNBUFFERED": "1", **{f"SUBTOKENLING_{n}": v for n, v in settings.items()}}
        began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tokenling", "serve", "--log-level", "warning"],
            env=environ, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        watchdog = threading.Timer(START_S_MAX, self.process.kill)
        watchdog.start()
        try:
            self.metrics_page, self.address = self._addresses()
            self.health()
        except BaseException:
            self._end()
            raise
        finally:
            watchdog.cancel()
        self.started_s = time.monotonic() - began
        self.pid = self.process.pid

    def _addresses(self) -> tuple[str, str]:
        assert self.process.stdout is not None
        found: list[str] = []
        for line in self.process.stdout:
            if match := re.search(r"http://\S+", line):
                found.append(match[0])
            if len(found) == 2:
                return found[0], found[1]
        raise SystemExit("the host did not start")

    def __enter__(self) -> "Served":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _t: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def health(self) -> None:
        """Raises unless health says ready."""
        httpx.get(f"{self.address}/api/health", trust_env=False, timeout=START_S_MAX).raise_for_status()

    def metrics(self) -> Metrics:
        return parse_metrics(httpx.get(self.metrics_page, trust_env=False, timeout=30.0).text)

    def usage(self) -> Usage:
        return usage_of(self.pid)

    def stop(self) -> float:
        """Seconds from SIGTERM to the end of the process, which must be a clean one."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=STOP_S_MAX)
        assert code == 0, f"the host ended with {code}"
        return time.monotonic() - began
