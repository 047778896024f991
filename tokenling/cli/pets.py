"""`tokenling pets`: what an operator may see and do with the pets of a database whose host is stopped."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click
import trio

from tokenling.cli.brain_files import shipped_brain_dir, succession_of
from tokenling.cli.console import refuse
from tokenling.cli.database import database_option, existing_database, now_ms
from tokenling.cli.logs import set_up_logs
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.settings import MODEL_DIR
from tokenling.store import PetSummary, PrefixUnknown, Store, StoreError, StoreRefused, open_store

T = TypeVar("T")

DIGEST_SHOWN = 16
"""Characters of a digest in the list: enough to tell a million pets apart."""


@click.group()
def pets() -> None:
    """Show, remove or move the pets of a stopped host. Shows digests, ages and sizes: nothing of an owner's."""
    set_up_logs("warning")


@pets.command("list")
@database_option
def list_pets(*, database: Path | None) -> None:
    """One line for each pet: digest, status, age in days, days since it changed, size of its save."""
    now = now_ms()
    found = _in_store(database, lambda store: store.list_pets())
    click.echo(f"{'digest':{DIGEST_SHOWN}}  {'status':11}  {'age':>8}  {'changed':>8}  {'save':>9}")
    for pet in found:
        click.echo(pet_line(pet, now))


@pets.command()
@click.argument("digest")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
def forget(*, digest: str, yes: bool, database: Path | None) -> None:
    """Delete the one pet whose digest begins with DIGEST (at least 8 characters). It cannot be brought back."""
    if not yes:
        click.confirm(f"Delete the pet {digest} for good?", abort=True)
    gone = _in_store(database, lambda store: store.forget(digest))
    click.echo(f"deleted {gone[:DIGEST_SHOWN]}")


@pets.command()
@click.option("--from", "old", required=True, help="The brain that the pets have now.")
@click.option("--to", "new", required=True, help="The brain that they shall have; its brain.json must succeed OLD.")
@click.option(
    "--model-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar=MODEL_DIR.variable,
    show_envvar=True,
    help="The new brain's directory; without it, the shipped brain's.",
)
@database_option
def rebrain(*, old: str, new: str, model_dir: Path | None, database: Path | None) -> None:
    """Move the active and prepared pets of one brain to the brain that succeeds it. A backup is made first."""
    _check_succession(model_dir or shipped_brain_dir(), old, new)
    from tokenling.host.rebrain import Rewriter, RewriteRefused

    try:
        done = _in_store(database, lambda store: store.rebrain(old, new, Rewriter(new), now_ms=now_ms()))
    except RewriteRefused as refused:
        refuse(ExitCode.DATABASE, [str(refused)])
    click.echo(f"{done.pets} pets moved from {old} to {new}; backup: {done.backup}")


def _check_succession(directory: Path, old: str, new: str) -> None:
    try:
        found, succeeds = succession_of(directory)
    except HostRefused as refused:
        refuse(refused.exit_code, refused.lines)
    if found != new:
        refuse(ExitCode.BRAIN, [f"{directory}: found brain {found}, expected {new}"])
    if old not in succeeds:
        named = ", ".join(succeeds) or "none"
        refuse(ExitCode.BRAIN, [f"brain {new} succeeds {named}: found --from {old}, expected one of these"])


def pet_line(pet: PetSummary, at_ms: int) -> str:
    """A pet as its operator may see it."""
    age, changed = _days(at_ms - pet.prepared_at_ms), _days(at_ms - pet.changed_at_ms)
    return f"{pet.pet_digest[:DIGEST_SHOWN]}  {pet.status:11}  {age:>8}  {changed:>8}  {pet.save_bytes:>9}"


def _days(elapsed_ms: int) -> str:
    return f"{max(elapsed_ms, 0) / 86_400_000:.1f} d"


def _in_store(database: Path | None, work: Callable[[Store], Awaitable[T]]) -> T:
    """The result of `work` on the database, which no host may hold; ends the process when it cannot be opened."""
    path = existing_database(database)

    async def run() -> T | StoreError:
        async with open_store(path, now_ms=now_ms()) as store:
            try:
                return await work(store)
            except StoreError as error:  # as a value: raised through the store's nursery it would become a group
                return error

    try:
        result = trio.run(run)
    except StoreRefused as refused:
        refuse(ExitCode.DATABASE, [str(refused)])
    if isinstance(result, StoreError):
        refuse(ExitCode.SETTINGS if isinstance(result, PrefixUnknown) else ExitCode.DATABASE, [str(result)])
    return result
