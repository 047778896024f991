"""The app's own checks: its types, and the tests of its logic, which need no browser."""

import os
import subprocess
import sys

import pytest
from app_support import ROOT

WEB = ROOT / "tokenling" / "web"


@pytest.mark.parametrize("command", [["tsc", "--noEmit"], ["vitest", "run", "--reporter=dot"]], ids=["types", "logic"])
def test_the_app_passes_its_own_checks(built, command: list[str]) -> None:
    program = WEB / "node_modules" / ".bin" / command[0]
    environ = {**os.environ, "PYTHON": sys.executable}  # some tests of its logic ask the engine itself
    run = subprocess.run(
        [str(program), *command[1:]], cwd=WEB, env=environ, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
