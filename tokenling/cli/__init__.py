"""The command line, one module per command; a command's module is imported when it is called."""

from dataclasses import dataclass
from importlib import import_module

import click

from tokenling import __version__


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and what `tokenling --help` says of it."""

    module: str
    attribute: str
    summary: str


COMMANDS = {
    "preview": Entry("tokenling.cli.preview", "preview", "Start a home for pets on this machine."),
    "serve": Entry("tokenling.cli.serve", "serve", "Keep pets as SUBTOKENLING_* settings say."),
    "talk": Entry("tokenling.cli.talk", "talk", "Talk with a pet in this terminal."),
    "pets": Entry("tokenling.cli.pets", "pets", "Show, remove or move the pets of a stopped host."),
    "backup": Entry("tokenling.cli.backup", "backup", "Copy the database while its host runs."),
    "restore": Entry("tokenling.cli.restore", "restore", "Put a backup in the database's place."),
    "check": Entry("tokenling.cli.check", "check", "Look through a database."),
    "probe": Entry("tokenling.cli.probe", "command", "Run generation requests on a brain, with timings."),
    "verify": Entry("tokenling.cli.verify", "command", "Run a turn again from its turn receipt."),
    "contract": Entry("tokenling.cli.contract", "command", "Print what every build of the engine agrees on."),
    "site": Entry("tokenling.cli.site", "site", "Write the browser app as a static site."),
    "brain": Entry("tokenling.cli.brain", "command", "Show where the shipped brain is, and its digests."),
}
"""In the order of `tokenling --help`."""


class LazyGroup(click.Group):
    """Loads only the command that was asked for, so that help and `--version` do not wait for ONNX Runtime."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup)
@click.version_option(__version__, prog_name="tokenling")
def main() -> None:
    """A home for tokenlings: pets whose mind is a small language model."""
