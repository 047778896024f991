"""`tokenling serve`: the host with the operator's settings."""

import os

import click

from tokenling.cli.brain_loader import load_brain
from tokenling.cli.console import log_level_option, refuse, tell
from tokenling.cli.hosting import WEB_ROOT, available_cores, run_plan
from tokenling.host.exits import ExitCode
from tokenling.host.plan import BrainLoader, HostBrain, HostPlan
from tokenling.host.setting_values import Address
from tokenling.host.settings import SettingsRefused, foreign_names, read_settings, show_settings


@click.command()
@click.option("--check", is_flag=True, help="Stop after the settings, the database and the brain's warm-up.")
@click.option("--print-config", is_flag=True, help="Show each setting and where it came from, and stop.")
@log_level_option
def serve(*, check: bool, print_config: bool, log_level: str) -> None:
    """Keep pets as SUBTOKENLING_* settings say.

    docs/settings.md lists the settings. Exits with 0 when stopped by SIGTERM or SIGINT, 2 for wrong settings, 3 for the
    brain, 4 for the database.
    """
    run_serve(load_brain, check=check, print_config=print_config, log_level=log_level)


def run_serve(loader: BrainLoader, *, check: bool, print_config: bool, log_level: str) -> None:
    """Read the settings and run the host on the brain that `loader` opens."""
    if print_config:
        print_settings()
    try:
        found = read_settings(os.environ, cores=available_cores())
    except SettingsRefused as refused:
        tell(foreign_names(os.environ))  # a name that is mistyped is why another one is missing
        refuse(ExitCode.SETTINGS, [str(problem) for problem in refused.problems])
    tell(found.remarks)
    if print_config and not check:
        return
    for choice in () if check else found.choices:
        click.echo(choice)
    plan = HostPlan(
        found.settings, loader, announce=announce, web_root=WEB_ROOT, check=check, announce_metrics=announce_metrics
    )
    run_plan(plan, log_level=log_level)


def print_settings() -> None:
    """One aligned line for each setting."""
    shown = show_settings(os.environ)
    widths = [
        max(len(field) for field in column) for column in ([s.variable for s in shown], [s.source for s in shown])
    ]
    for setting in shown:
        click.echo(f"{setting.variable:{widths[0]}}  {setting.source:{widths[1]}}  {setting.value}".rstrip())


def announce(address: Address | None, brain: HostBrain) -> None:
    """Say where the host listens, or that the check passed."""
    tell(brain.remarks)
    if address is None:
        click.echo(f"check passed: brain {brain.brain_id} is warm")
    else:
        click.echo(f"listening on http://{address} with brain {brain.brain_id}")


def announce_metrics(address: Address) -> None:
    """Say where the metrics are."""
    click.echo(f"metrics on http://{address}/metrics")
