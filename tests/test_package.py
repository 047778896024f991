"""The package as its users first see it."""

from click.testing import CliRunner

import tokenling
from tokenling.cli import main


def test_the_command_line_tells_its_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"tokenling, version {tokenling.__version__}"
