"""Where the host's processor time goes, by room: py-spy's samples of a running process, sorted by their innermost room.

py-spy comes with the dependency group `bench`. Without the right to trace there is no split, and the report says null.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

INSTALL = "pip install --require-hashes -r tools/locks/bench.txt"
RATE_HZ = 100
ROOMS: tuple[tuple[str, str], ...] = (
    ("brain", r"tokenling/runtime/|onnxruntime|tokenling/host/generator\.py"),
    ("store", r"tokenling/store/"),
    ("rules", r"tokenling/engine/"),
    ("protocol", r"tokenling/protocol/"),
    ("routing", r"tokenling/host/(executor_queue|routing|worker)\.py"),
    ("dispatch", r"tokenling/host/(executor|dispatch|dispatch_rules|pets|pets_answers|clock|due_line|catch_up)\.py"),
    ("http", r"tokenling/host/|hypercorn|h11|quart|werkzeug|structlog|logging/"),
    ("loop", r"trio/|anyio/"),
)
"""The first of a sample's frames, from the innermost out, that lies in one of these says whose it is."""


def py_spy() -> str:
    """The program's path, beside this Python or in PATH. Raises `LookupError` that says what to install."""
    places = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    found = shutil.which("py-spy", path=os.pathsep.join(places))
    if found is None:
        raise LookupError(f"--profile needs py-spy: {INSTALL}")
    return found


class Sampling:
    """py-spy beside a process for some seconds; `shares` waits for its end."""

    def __init__(self, pid: int, seconds: float) -> None:
        command = [py_spy(), "record", "--pid", str(pid), "--duration", str(round(seconds)), "--rate", str(RATE_HZ)]
        self._out = Path(tempfile.mkstemp(suffix=".samples")[1])
        self._process = subprocess.Popen(
            [*command, "--format", "raw", "--full-filenames", "--output", str(self._out)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def shares(self) -> Mapping[str, float] | None:
        """The share of each room in the samples; None where nothing could be sampled."""
        try:
            if self._process.wait() != 0:
                return None
            return shares_of(self._out.read_text())
        finally:
            self._out.unlink(missing_ok=True)


def shares_of(collapsed: str) -> Mapping[str, float] | None:
    """Of lines `frame;frame;frame COUNT`, outermost first."""
    counted: Counter[str] = Counter()
    for line in collapsed.splitlines():
        stack, _, count = line.rpartition(" ")
        counted[room_of(stack.split(";"))] += int(count)
    whole = counted.total()
    return {room: round(held / whole, 4) for room, held in counted.most_common()} if whole else None


def room_of(frames: list[str]) -> str:
    for frame in reversed(frames):
        for room, pattern in ROOMS:
            if re.search(pattern, frame):
                return room
    return "other"
