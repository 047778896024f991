"""The campaign's modules are found, and those of the process tests that it starts hosts with."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(path) for path in (TESTS, TESTS / "process") if str(path) not in sys.path]
