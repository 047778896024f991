"""What the engine costs, on this Python and in Pyodide under Node: `python -m tools.bench.engine [--pyodide DIR]`.

Prints medians and best rounds, and exits with 1 when a bound of docs/engine.md is broken. `--pyodide` is the npm
package `pyodide` (by default `node_modules/pyodide`); without it, or without Node, that half is reported as not run.
"""

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.bench import engine_work
from tools.parity.builds import PYODIDE_SCRIPT, ROOT, pack

BOUNDS_MS: Mapping[str, Mapping[str, float]] = {
    "CPython": {"30 days without turns": 400, "a command (words)": 1, "a prompt": 1},
    "Pyodide": {"30 days without turns": 4000},
}
"""The promises, on a machine like the one of docs/engine.md."""

Times = dict[str, dict[str, float]]


def here() -> Times:
    """The times on this Python."""
    found: Times = json.loads(engine_work.measured())
    return found


def in_pyodide(directory: Path) -> Times | str:
    """The times in Pyodide, or why there are none."""
    node = shutil.which("node")
    if node is None or not (directory / "pyodide.mjs").is_file():
        return "not run: needs Node and the npm package pyodide"
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "engine.zip"
        pack(archive)
        source = Path(engine_work.__file__).read_text() + "\nmeasured()"
        command = [node, str(PYODIDE_SCRIPT), str(directory), str(archive), source]
        done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    found: Times = json.loads(done.stdout)
    return found


def broken(where: str, found: Times) -> list[str]:
    """The bounds that do not hold: the best round counts, since a shared machine adds and never takes."""
    return [
        f"{where}: {name} took {found[name]['bestMs']} ms, at most {most} ms are promised"
        for name, most in BOUNDS_MS[where].items()
        if found[name]["bestMs"] > most
    ]


def table(columns: Mapping[str, Times | str]) -> str:
    """Median (best) of each piece of work, in milliseconds, as Markdown."""
    ran = {name: found for name, found in columns.items() if not isinstance(found, str)}
    names = list(next(iter(ran.values())))
    rows = ["| ms, median (best) | " + " | ".join(ran) + " |", "|---|" + "---|" * len(ran)]
    for name in names:
        cells = (f"{found[name]['medianMs']:.3g} ({found[name]['bestMs']:.3g})" for found in ran.values())
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    """Measure both, print, and judge."""
    parser = argparse.ArgumentParser(description="What the engine costs.")
    parser.add_argument("--pyodide", type=Path, default=ROOT / "node_modules" / "pyodide")
    chosen = parser.parse_args()
    columns: dict[str, Times | str] = {"CPython": here(), "Pyodide": in_pyodide(chosen.pyodide.absolute())}
    print(f"CPython {platform.python_version()}, {platform.machine()}")
    print(table(columns))
    faults = []
    for name, found in columns.items():
        if isinstance(found, str):
            print(f"{name}: {found}")
        else:
            faults += broken(name, found)
    print("\n".join(faults) or "every bound holds")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
