"""What `serve` and `preview` share: run a plan, turn how it ends into lines and an exit code."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from tokenling.cli.console import refuse
from tokenling.cli.logs import set_up_logs
from tokenling.host.exits import HostRefused
from tokenling.host.plan import HostPlan

_WEB = Path(__file__).parents[1] / "web"
BUILT = _WEB / "built"
"""Where the browser app is, when it was built (`tools/build_web`; `pip install` with npm at hand)."""
WEB_ROOT = BUILT if (BUILT / "index.html").is_file() else _WEB / "unbuilt"
"""The browser app, else a page that says how to get it."""


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_plan(plan: HostPlan, *, log_level: str) -> NoReturn:
    """Run the host and end the process with its exit code; a crash ends it with its frames and code 1."""
    from tokenling.host.run import run_host

    set_up_logs(log_level)
    try:
        exit_code = run_host(plan)
    except HostRefused as refused:
        refuse(refused.exit_code, refused.lines)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # The host has closed all that it held. A thread that a stop left may still load a brain, and Python's own end
    # takes the interpreter from under it: ONNX Runtime's frames abort the process then, as a crash would.
    os._exit(exit_code)
