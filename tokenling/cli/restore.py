"""`tokenling restore`: a backup in the place of the database, with every pet fenced."""

from pathlib import Path

import click

from tokenling.cli.console import refuse
from tokenling.cli.database import database_option, database_path, lines_of, now_ms, save_fits
from tokenling.host.exits import ExitCode
from tokenling.store import StoreRefused, check_file
from tokenling.store import restore as put_back


@click.command()
@click.argument("backup", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--check", is_flag=True, help="Look through BACKUP and stop; nothing is changed.")
@database_option
def restore(*, backup: Path, check: bool, database: Path | None) -> None:
    """Put BACKUP in the place of a stopped host's database.

    Every pet comes up parked, under an epoch beyond any that the lost database can have reached: its owner's page
    takes it home, and no older life goes on beside a newer one. Pets deleted since stay deleted. The database that was
    there keeps its content under another name.
    """
    path = database_path(database)
    try:
        checked = check_file(backup, save_fits)
        if checked.faults:
            refuse(ExitCode.DATABASE, [f"{backup}: {fault}" for fault in checked.faults])
        if check:
            click.echo("\n".join(lines_of(checked)))
            return
        done = put_back(backup, path, now_ms=now_ms())
    except StoreRefused as refused:
        refuse(ExitCode.DATABASE, [str(refused)])
    except OSError as error:
        refuse(ExitCode.DATABASE, [f"{path}: {error.strerror}; expected a place that can be written"])
    if done.old is not None:
        click.echo(f"the database from before: {done.old}")
    click.echo(f"{done.pets} pet{'' if done.pets == 1 else 's'} parked; start the host and let their owners fetch them")
