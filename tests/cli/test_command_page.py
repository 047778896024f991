import subprocess
import sys
from pathlib import Path

import click
import pytest

from tokenling.cli import COMMANDS, main

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()


def leaves(command, path):
    """Each command that does something, with its words."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), [*path, name])
    else:
        yield path, command


LEAVES = list(leaves(main, ["tokenling"]))


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_a_command_has_a_row_that_names_its_arguments_and_options(path, command):
    words = " ".join(path)
    row = next((line for line in PAGE.splitlines() if line.startswith(f"| `{words}")), None)
    assert row is not None, f"{words} has no row"
    for parameter in command.params:
        shown = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else parameter.name.upper()
        assert shown in row, shown


def test_the_page_names_no_command_that_is_not_there():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `tokenling")]
    assert len(LEAVES) == len(rows)


def test_the_help_lists_every_command_without_loading_one():
    script = "import sys; from tokenling.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for name, entry in COMMANDS.items():
        assert f"  {name}" in done.stdout
        assert entry.summary in done.stdout
        assert entry.module not in done.stdout.split()
