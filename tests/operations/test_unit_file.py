"""The systemd unit of docs/operations.md agrees with the program, and with systemd where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tokenling.host.connection import ConnectionLimits
from tokenling.host.exits import ExitCode
from tokenling.host.run import STOP_S
from tokenling.host.server import FILES_SPARE

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
UNIT = re.search(r"```ini\n(.*?)```", PAGE, re.DOTALL)[1]


def value(name):
    return re.search(rf"^{name}=(.*)$", UNIT, re.MULTILINE)[1]


def test_a_start_that_was_refused_is_not_repeated_and_a_crash_is():
    kept_down = {int(code) for code in value("RestartPreventExitStatus").split()}
    assert {ExitCode.SETTINGS, ExitCode.BRAIN, ExitCode.DATABASE} == kept_down
    assert value("Restart") == "on-failure"


def test_the_unit_waits_longer_than_a_stop_takes_and_opens_files_enough():
    assert int(value("TimeoutStopSec")) > STOP_S
    assert int(value("LimitNOFILE")) >= ConnectionLimits().connections_max + FILES_SPARE
    assert value("Type") == "notify"


def test_the_database_stands_in_the_only_writable_directory():
    assert value("ProtectSystem") == "strict"
    directory = re.search(r"^export SUBTOKENLING_DB=(.*)/", PAGE, re.MULTILINE)[1]
    assert directory == f"/var/lib/{value('StateDirectory')}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path):
    unit = tmp_path / "tokenling.service"
    text = UNIT.replace("/opt/tokenling/bin/tokenling", "/bin/true").replace(
        "/etc/tokenling.env", "-/etc/tokenling.env"
    )
    unit.write_text(re.sub(r"^User=.*\n", "", text, flags=re.MULTILINE))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    complaints = [line for line in done.stderr.splitlines() if "tokenling.service" in line]
    assert [] == complaints
