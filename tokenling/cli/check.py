"""`tokenling check`: whether a database, or a backup of one, is sound."""

from pathlib import Path

import click

from tokenling.cli.console import refuse
from tokenling.cli.database import database_option, existing_database, lines_of, save_fits
from tokenling.host.exits import ExitCode
from tokenling.store import StoreRefused, check_file


@click.command()
@database_option
def check(*, database: Path | None) -> None:
    """Look through the database, every page of it, and print counts. Its host may run meanwhile; nothing is changed.

    Checked: pages, references, schema, that the rules can read every save, that no deleted pet is held, file modes.
    """
    path = existing_database(database)
    try:
        checked = check_file(path, save_fits)
    except StoreRefused as refused:
        refuse(ExitCode.DATABASE, [str(refused)])
    if checked.faults:
        refuse(ExitCode.DATABASE, [f"{path}: {fault}" for fault in checked.faults])
    click.echo("\n".join(["sound", *lines_of(checked)]))
