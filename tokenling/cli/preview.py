"""`tokenling preview`: a host for this machine with the shipped brain and nothing to set."""

import os
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path

import click

from tokenling import __version__
from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.cli.brain_loader import load_brain
from tokenling.cli.console import log_level_option, refuse, tell
from tokenling.cli.hosting import WEB_ROOT, run_plan
from tokenling.cli.preview_state import DATABASE, default_state_dir
from tokenling.host.exits import ExitCode
from tokenling.host.plan import BrainLoader, HostBrain, HostPlan
from tokenling.host.setting_values import Address
from tokenling.host.settings import MAX_PETS, OLD_PREFIX, PREFIX, Settings, git_checkout_of

LOOPBACK = "127.0.0.1"
PORT = 8460
PREVIEW_THREADS = 1
"""As fast as two for a brain of this size (nox -s bench), and a second one would spin on a core the owner wants."""


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--state", type=click.Path(path_type=Path, file_okay=False), help="Where the pets are kept.")
@click.option(
    "--brain",
    "brain_dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A directory with another brain, or with one GGUF file. Give it a --state of its own.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@click.option("--check", is_flag=True, help="Stop after the database and the brain's warm-up.")
@log_level_option
def preview(
    *, port: int, state: Path | None, brain_dir: Path | None, open_page: bool, check: bool, log_level: str
) -> None:
    """Start a home for pets on this machine.

    The shipped brain (unless --brain names another), loopback only, the page at /, nothing to set. Exit codes as for
    `serve`.
    """
    run_preview(
        load_brain,
        port=port,
        state=state,
        brain_dir=brain_dir,
        open_page=open_page,
        check=check,
        log_level=log_level,
    )


def run_preview(
    loader: BrainLoader,
    *,
    port: int,
    state: Path | None,
    brain_dir: Path | None = None,
    open_page: bool,
    check: bool,
    log_level: str,
) -> None:
    """Run a preview on the brain that `loader` opens."""
    directory = (state or default_state_dir()).absolute()
    _make_private(directory)
    settings = preview_settings(port, directory)
    if brain_dir is not None:
        settings = replace(settings, model_dir=brain_dir.absolute())
    tell(remarks(settings))

    def announce(address: Address | None, brain: HostBrain) -> None:
        tell(brain.remarks)
        click.echo(summary(address, brain, settings))
        if open_page and address is not None:
            threading.Thread(target=webbrowser.open, args=(f"http://{address}",), daemon=True).start()

    plan = HostPlan(settings, loader, announce=announce, web_root=WEB_ROOT, preview=True, check=check)
    run_plan(plan, log_level=log_level)


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        refuse(ExitCode.SETTINGS, [f"--state {directory}: {error.strerror}; allowed: a directory to write to"])


def preview_settings(port: int, state: Path) -> Settings:
    """The settings of a preview; its own origins are added once the port is known."""
    return Settings(
        listen=Address(LOOPBACK, port),
        database=state / DATABASE,
        model_dir=shipped_brain_dir(),
        precision="q4",
        model_id=None,
        origins=(),
        threads=PREVIEW_THREADS,
        gpu_device=None,
        pets_max=MAX_PETS.parse(MAX_PETS.default or ""),
        weather_seed="",
        features=None,
        numerics="exact",
        cpu_lanes=1,
        enrol_code=None,
        allowed_hosts=None,
    )


def remarks(settings: Settings) -> list[str]:
    """What was set and is not read, and a state directory that Git might take."""
    lines = []
    unread = sorted(name for name in os.environ if name.startswith((PREFIX, OLD_PREFIX)))
    if unread:
        lines.append(f"{', '.join(unread)}: preview reads no settings; `tokenling serve` does")
    checkout = git_checkout_of(settings.database)
    if checkout is not None:
        lines.append(f"the state lies inside the Git checkout {checkout}: keep private state outside")
    return lines


def summary(address: Address | None, brain: HostBrain, settings: Settings) -> str:
    """What a newcomer needs: where to go, who thinks, where the pets are."""
    where = "not listening: check passed" if address is None else f"http://{address}"
    return "\n".join(
        (
            f"Tokenling {__version__}",
            f"  address  {where}",
            f"  brain    {brain.brain_id} ({brain.precision or settings.precision}, {settings.numerics})",
            f"  state    {settings.database.parent}",
        )
    )
