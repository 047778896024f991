"""The command line, one module per command; a command's module is imported when it is called."""

from importlib import import_module

import click

from tokenling import __version__

COMMANDS = {
    "preview": "tokenling.cli.preview:preview",
    "serve": "tokenling.cli.serve:serve",
    "pets": "tokenling.cli.pets:pets",
    "probe": "tokenling.cli.probe:command",
    "verify": "tokenling.cli.verify:command",
}
"""Command to `module:attribute`, in the order of `tokenling --help`."""


class LazyGroup(click.Group):
    """Loads only the command that was asked for, so `--version` does not wait for ONNX Runtime."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup)
@click.version_option(__version__, prog_name="tokenling")
def main() -> None:
    """A home for tokenlings: pets whose mind is a small language model."""
