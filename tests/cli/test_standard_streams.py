"""Standard streams that are closed or take no more end no command with a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shell(redirections, *words):
    script = f'exec "$0" -m tokenling "$@" {redirections}'
    return subprocess.run(
        ["/bin/sh", "-c", script, sys.executable, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )


@pytest.mark.parametrize("words", [("--help",), ("brain",), ("contract",), ("model", "caps", "--json")], ids=" ".join)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_takes_no_more_is_one_line_and_exit_code_4(words):
    done = shell(">/dev/full", *words)
    assert (4, "tokenling: error: standard output: no space left on device\n") == (done.returncode, done.stderr)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_does_its_work_with_streams_that_are_closed(closed, tmp_path):
    done = shell(closed, "talk", "--state", str(tmp_path / "pet.json"), "--seed", "4")
    assert (0, "") == (done.returncode, done.stderr)
    assert b"{" == (tmp_path / "pet.json").read_bytes()[:1]


def test_a_prompt_from_a_closed_input_is_empty_and_no_traceback(tmp_path):
    done = shell("<&-", "model", "run", str(tmp_path / "none.gguf"))
    assert 3 == done.returncode
    assert 1 == len(done.stderr.splitlines())
