"""The same engine under Pyodide: the same contract, byte for byte, and quick enough for a page.

Needs Node and the npm package `pyodide` in `node_modules` of the root (or in the directory that `TOKENLING_PYODIDE`
names); skipped where they are not.
"""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tokenling.engine.contract import contract
from tools.parity.builds import PYODIDE_SCRIPT, ROOT, pack

PYODIDE = Path(os.environ.get("TOKENLING_PYODIDE", str(ROOT / "node_modules" / "pyodide")))
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    NODE is None or not (PYODIDE / "pyodide.mjs").is_file(), reason="Node or the npm package pyodide is not here"
)

THIRTY_DAYS = """
import time
from dataclasses import replace
from tokenling.engine import Settings, advance, apply_command, new_pet, skip_turn
start = 1_781_172_000_000
state = new_pet(pet_seed="fern", name="Pip", time_zone="Europe/Berlin", brain_id="b", weather_seed="", now_ms=start)
state = replace(apply_command(state, Settings(chatter=0), start).state, stage="adult")
began = time.perf_counter()
step = advance(state, start + 30 * 86_400_000)
while step.turn is not None:
    step = advance(skip_turn(step.state, step.turn, "stopped").state, start + 30 * 86_400_000)
str(round((time.perf_counter() - began) * 1000))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pyodide") / "engine.zip"
    pack(path)
    return path


def under_pyodide(archive: Path, script: str) -> str:
    assert NODE is not None
    found = subprocess.run(
        [NODE, str(PYODIDE_SCRIPT), str(PYODIDE), str(archive), script], capture_output=True, check=True, timeout=300
    )
    return found.stdout.decode()


def test_pyodide_makes_the_same_contract(archive: Path) -> None:
    text = under_pyodide(archive, "from tokenling.engine.contract import contract\ncontract()")
    assert sha256(contract().encode()).hexdigest() == sha256(text.encode()).hexdigest()


def test_thirty_days_without_turns_take_at_most_four_seconds_in_pyodide(archive: Path) -> None:
    assert int(under_pyodide(archive, THIRTY_DAYS)) <= 4000
