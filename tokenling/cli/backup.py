"""`tokenling backup`: a whole and checked copy of the database, while its host runs or not."""

from pathlib import Path

import click

from tokenling.cli.console import refuse
from tokenling.cli.database import database_option, existing_database
from tokenling.host.exits import ExitCode
from tokenling.store import StoreRefused, back_up_beside


@click.command()
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@database_option
def backup(*, out: Path, database: Path | None) -> None:
    """Write a private copy of the database to OUT, which must not exist yet. Its host may run meanwhile.

    The copy is of one moment and has been checked when OUT appears.
    """
    path = existing_database(database)
    try:
        back_up_beside(path, out.absolute())
    except FileExistsError:
        refuse(ExitCode.SETTINGS, [f"{out}: found a file, expected a name that is free"])
    except StoreRefused as refused:
        refuse(ExitCode.DATABASE, [str(refused)])
    except OSError as error:
        refuse(ExitCode.DATABASE, [f"{out}: {error.strerror}; expected a place that can be written"])
    click.echo(f"backup: {out}")
