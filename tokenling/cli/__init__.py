"""The command line, one module per command."""

import click

from tokenling import __version__


@click.group()
@click.version_option(__version__, prog_name="tokenling")
def main() -> None:
    """A home for tokenlings: pets whose mind is a small language model."""
