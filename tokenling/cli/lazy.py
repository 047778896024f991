"""Groups of commands whose modules are imported when they are called: help does not wait for ONNX Runtime."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import click


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and what its group's `--help` says of it."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """Loads only the command that was asked for. A subclass says which there are, in the order of `--help`."""

    entries: Mapping[str, Entry]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])
