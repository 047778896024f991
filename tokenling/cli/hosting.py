"""What `serve` and `preview` share: run a plan, turn how it ends into lines and an exit code."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from tokenling.cli.logs import LEVELS, set_up_logs
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.run import HostPlan, run_host

WEB_ROOT = Path(__file__).parents[1] / "web" / "plain"

log_level_option = click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="How much to log to standard error. No level shows what an owner wrote.",
)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tell(lines: Sequence[str]) -> None:
    """Remarks for the operator, on standard error."""
    for line in lines:
        click.echo(f"tokenling: {line}", err=True)


def refuse(exit_code: ExitCode, lines: Sequence[str]) -> NoReturn:
    """End with one line for each thing that is wrong."""
    for line in lines:
        click.echo(f"tokenling: error: {line}", err=True)
    sys.exit(exit_code)


def run_plan(plan: HostPlan, *, log_level: str) -> NoReturn:
    """Run the host and end the process with its exit code; a crash ends it with its frames and code 1."""
    set_up_logs(log_level)
    try:
        exit_code = run_host(plan)
    except HostRefused as refused:
        refuse(refused.exit_code, refused.lines)
    sys.exit(exit_code)
