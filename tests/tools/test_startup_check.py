import subprocess
import sys

import pytest

from tools.startup_check.__main__ import Report
from tools.startup_check.environment import LOCK, ROOT, cpu_only


def test_the_plain_wheel_takes_the_gpu_wheels_place_on_every_machine_with_its_hashes():
    lock = LOCK.read_text()
    made = cpu_only(lock)
    (line,) = [line for line in made.splitlines() if line.startswith("onnxruntime")]
    assert line.startswith("onnxruntime==")
    assert ";" not in line
    assert line.endswith("\\")
    others = [line for line in lock.splitlines() if line[:1].isalnum() and not line.startswith("onnxruntime")]
    assert others == [line for line in made.splitlines() if line[:1].isalnum() and not line.startswith("onnxruntime")]
    after = made[made.index("onnxruntime==") :].splitlines()[1]
    assert after.strip().startswith("--hash=sha256:")


def test_a_report_is_whole_only_when_something_was_checked_and_all_of_it_holds(capsys):
    report = Report()
    assert not report.whole
    report.require("one", True)
    assert report.whole
    report.require("two", False)
    assert not report.whole
    assert "BROKEN  two" in capsys.readouterr().out
    assert '"whole": false' in report.text()


@pytest.mark.parametrize("out", [ROOT / "startup-out", ROOT / "tests"])
def test_the_output_is_a_fresh_directory_outside_git(out):
    command = [sys.executable, "-m", "tools.startup_check", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "it is there already" in done.stderr or "it lies inside Git" in done.stderr
    assert not (ROOT / "startup-out").exists()
