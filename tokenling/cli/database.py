"""What every command on a database shares: which one, what time it is, and how its check is told."""

import time
from pathlib import Path

import click

from tokenling import engine
from tokenling.cli.console import refuse
from tokenling.cli.preview_state import DATABASE, default_state_dir
from tokenling.host.exits import ExitCode
from tokenling.host.settings import DB
from tokenling.store import Checked

database_option = click.option(
    "--db",
    "database",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar=DB.variable,
    show_envvar=True,
    help="The database; without it, the preview's.",
)


def database_path(database: Path | None) -> Path:
    """The database that is meant."""
    return (database or default_state_dir() / DATABASE).absolute()


def existing_database(database: Path | None) -> Path:
    """The database that is meant; ends the process when it is not there."""
    path = database_path(database)
    if not path.is_file():
        refuse(ExitCode.DATABASE, [f"{path}: found no database, expected one; name it with --db or {DB.variable}"])
    return path


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def save_fits(save: bytes) -> bool:
    """Whether the rules can read a stored save."""
    try:
        engine.load_save(save)
    except engine.SaveRefused:
        return False
    return True


def lines_of(checked: Checked) -> list[str]:
    """A checked database in numbers: nothing of an owner's."""
    by_status = ", ".join(f"{number} {status}" for status, number in checked.by_status.items() if number)
    return [
        f"schema      {checked.schema_version}",
        f"pets        {checked.pets}" + (f" ({by_status})" if by_status else ""),
        f"saves       {checked.save_bytes} bytes",
        f"operations  {checked.operations}",
        f"receipts    {checked.turn_receipts}",
        f"tombstones  {checked.tombstones}",
    ]
