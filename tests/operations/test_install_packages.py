"""`.ci/install_packages`, on a machine that lacks what it is told to lack: what is needed, and what is only wanted."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "install_packages"
NEEDED = ("python3", "git", "chromium", "node", "npm")
WANTED = ("nginx", "caddy")
PACKAGES = {"node": "nodejs", "nginx": "nginx-light"}
SHELL = ("bash", "mktemp", "rm", "cat", "tail")


class Machine:
    """A directory of commands: those that are there, and an apt-get that writes down what it is asked for."""

    def __init__(self, folder: Path, *, has: tuple[str, ...], apt: str | None, uid: int = 0) -> None:
        self.folder = folder
        self.asked = folder / "asked"
        for name in SHELL:
            (folder / name).symlink_to(str(shutil.which(name)))
        for name in has:
            self._command(name, "exit 0")
        self._command("id", f"echo {uid}")
        if apt is not None:
            self._command("apt-get", f'echo "$@" >> {self.asked}; {apt}')

    def _command(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/usr/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        text = SCRIPT.read_text().replace("PATH=$PATH:/usr/sbin command", "command")  # not this machine's own nginx
        script = self.folder / "install_packages"
        script.write_text(text)
        return subprocess.run(
            ["/usr/bin/bash", str(script)], env={"PATH": str(self.folder), "TMPDIR": str(self.folder)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    @property
    def packages(self) -> set[str]:
        """What was asked to be installed."""
        lines = self.asked.read_text().splitlines() if self.asked.exists() else []
        words = {word for line in lines if line.startswith("install") for word in line.split()[1:]}
        return {word for word in words if not word.startswith("-")}


ALL = (*NEEDED, *WANTED)


def test_a_machine_that_has_all_of_it_asks_nobody(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has=ALL, apt="exit 100")
    assert (0, "") == ((done := machine.run()).returncode, done.stderr)
    assert not machine.asked.exists()


@pytest.mark.parametrize("lacking", [name for name in ALL if name != "python3"])
def test_what_is_missing_is_installed_and_nothing_else(lacking: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, has=tuple(name for name in ALL if name != lacking), apt="exit 0")
    assert machine.run().returncode == 0
    assert {PACKAGES.get(lacking, lacking)} == machine.packages


@pytest.mark.parametrize("apt", ["exit 100", None], ids=["out of reach", "no apt-get"])
def test_without_what_is_only_wanted_the_run_goes_on_and_says_so(apt: str | None, tmp_path: Path) -> None:
    machine = Machine(tmp_path, has=NEEDED, apt=apt)
    done = machine.run()
    assert done.returncode == 0
    for package in ("nginx-light", "caddy"):
        assert f"not installed: {package}; the tests that need it will skip" in done.stderr


@pytest.mark.parametrize("apt", ["exit 100", None], ids=["out of reach", "no apt-get"])
def test_without_what_is_needed_there_is_no_run(apt: str | None, tmp_path: Path) -> None:
    machine = Machine(tmp_path, has=tuple(name for name in ALL if name != "git"), apt=apt)
    assert machine.run().returncode == 1


def test_a_user_who_may_not_install_is_told_what_is_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has=tuple(name for name in ALL if name not in ("git", "caddy")), apt="exit 0", uid=1000)
    done = machine.run()
    assert (1, True) == (done.returncode, "missing: git; install these first (this user cannot)" in done.stderr)
    assert machine.packages == set()
