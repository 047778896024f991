"""An interpreter that is not this one, and what it makes of the engine's contract."""

import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import tokenling

PACKAGE = Path(tokenling.__file__).parent
ROOT = PACKAGE.parent
PYODIDE_SCRIPT = ROOT / "tests" / "engine" / "pyodide_contract.mjs"
"""Runs a Python text in Pyodide and prints its value."""
LIMIT_S = 600
"""A contract takes under a second; Pyodide's start some. Many times that, on a machine that is busy."""
ASK = """
import json, sys, unicodedata
from hashlib import sha256
from tokenling.engine import ENGINE_VERSION, PROMPT_VERSION
from tokenling.engine.contract import contract
said = json.dumps({
    "version": sys.version.partition(" ")[0],
    "platform": sys.platform,
    "unicode": unicodedata.unidata_version,
    "engine": ENGINE_VERSION,
    "prompt": PROMPT_VERSION,
    "digest": sha256(contract().encode()).hexdigest(),
})
"""
"""What an interpreter is asked: who it is, and the digest of its contract."""


@dataclass(frozen=True, slots=True)
class Build:
    """What an interpreter said. `platform` is `sys.platform`, `unicode` the version of its own character data."""

    version: str
    platform: str
    unicode: str
    engine: int
    prompt: int
    digest: str


class NotRun(Exception):
    """Raised when an interpreter is not there, or ended with an error; says which."""


def pack(archive: Path, package: Path = PACKAGE) -> None:
    """The engine of a package and the pinned zone data as one zip, paths as in a site-packages."""
    zones = Path(str(files("tzdata")))
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(package / "__init__.py", "tokenling/__init__.py")
        for source in sorted((package / "engine").glob("*.py")):
            packed.write(source, f"tokenling/engine/{source.name}")
        for data in sorted(zones.rglob("*")):
            if data.is_file() and "__pycache__" not in data.parts:
                packed.write(data, f"tzdata/{data.relative_to(zones)}")


def native(python: Path, package: Path = PACKAGE) -> Build:
    """The contract of a CPython on this machine, which needs nothing installed. Raises `NotRun`."""
    with tempfile.TemporaryDirectory() as scratch:
        archive, unpacked = Path(scratch) / "engine.zip", Path(scratch) / "site"
        pack(archive, package)
        shutil.unpack_archive(archive, unpacked)
        # isolated: neither this environment's packages nor its zone data may answer
        script = f"import sys\nsys.path.insert(0, {str(unpacked)!r})\n{ASK}print(said)"
        return _said(python.name, [str(python), "-I", "-B", "-c", script])


def pyodide(directory: Path) -> Build:
    """The contract under Pyodide in Node; `directory` is the npm package. Raises `NotRun`."""
    node = shutil.which("node")
    if node is None or not (directory / "pyodide.mjs").is_file():
        raise NotRun("needs Node and the npm package pyodide")
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "engine.zip"
        pack(archive)
        return _said("pyodide", [node, str(PYODIDE_SCRIPT), str(directory.absolute()), str(archive), f"{ASK}said"])


def _said(name: str, command: Sequence[str]) -> Build:
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S)
    except OSError as error:
        raise NotRun(f"{name} does not start: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NotRun(f"{name} ended with {error.returncode}: {' '.join(last)}") from error
    return Build(**json.loads(done.stdout))
