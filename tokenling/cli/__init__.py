"""The command line, one module per command; a command's module is imported when it is called."""

import click

from tokenling import __version__
from tokenling.cli.console import open_streams, output_kept
from tokenling.cli.lazy import Entry, LazyGroup

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
    "model": Entry("tokenling.cli.model", "model", "Run, chat with, measure and prove any GGUF model."),
    "brain": Entry("tokenling.cli.brain", "command", "Show where the shipped brain is, and its digests."),
}
"""In the order of `tokenling --help`."""


class _Main(LazyGroup):
    entries = COMMANDS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with output_kept():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with output_kept():
            return super().invoke(ctx)


@click.group(cls=_Main)
@click.version_option(__version__, prog_name="tokenling")
def main() -> None:
    """A home for tokenlings: pets whose mind is a small language model."""
    open_streams()
