"""What the page's decoder is held to is what the runtime does now."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_vectors_for_the_page_are_what_their_generator_writes() -> None:
    command = [sys.executable, "-m", "tools.make_decode_vectors", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "unchanged\n"), run.stderr
