"""`python -m tools.parity`: see the package."""

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tools.parity.builds import ROOT, Build, NotRun, native, pyodide

OTHERS = tuple(f"python3.{minor}" for minor in range(11, 20))
"""Names under which an installed CPython is found on the path: from the oldest that the package supports on."""


def chosen_builds(pythons: Sequence[Path], pyodides: Sequence[Path]) -> dict[str, Callable[[], Build]]:
    """What is to be asked, by a name for the report: this Python first."""
    asked: dict[str, Callable[[], Build]] = {"this Python": partial(native, Path(sys.executable))}
    found = [Path(path) for path in map(shutil.which, OTHERS) if path is not None]
    this = Path(sys.executable).resolve()
    for path in (*found, *pythons):
        if path.resolve() != this:
            asked[str(path)] = partial(native, path)
    for directory in (ROOT / "node_modules" / "pyodide", *pyodides):
        asked[str(directory)] = partial(pyodide, directory)
    return asked


def table(found: Mapping[str, Build]) -> str:
    """What was said, as Markdown; no machine's paths, so that it can be shown."""
    lines = ["| CPython | platform | Unicode data | contract, SHA-256 |", "|---|---|---|---|"]
    lines += [f"| {one.version} | {one.platform} | {one.unicode} | `{one.digest}` |" for one in found.values()]
    return "\n".join(lines)


def verdict(found: Mapping[str, Build]) -> str:
    """One line, empty when all builds agree. One build alone proves nothing."""
    digests = {(build.engine, build.prompt, build.digest) for build in found.values()}
    if len(found) < 2:
        return "only one interpreter ran: nothing to compare"
    return f"{len(digests)} different contracts" if len(digests) > 1 else ""


def main() -> None:
    """Ask each, print what they said; exits with 1 when they differ, fewer than two ran, or a named one did not."""
    parser = argparse.ArgumentParser(description="Do all builds of the engine agree?")
    parser.add_argument("--python", type=Path, action="append", default=[], help="another CPython; may be repeated")
    parser.add_argument("--pyodide", type=Path, action="append", default=[], help="an npm package; may be repeated")
    chosen = parser.parse_args()
    found: dict[str, Build] = {}
    missing = []
    for name, ask in chosen_builds(chosen.python, chosen.pyodide).items():
        try:
            found[name] = ask()
        except NotRun as error:
            print(f"{name}: not run: {error}")
            missing.append(name)
    print(table(found))
    named = {str(path) for path in (*chosen.python, *chosen.pyodide)}
    faults = [line for line in (verdict(found), *(f"{name} did not run" for name in missing if name in named)) if line]
    print("\n".join(faults) or f"{len(found)} interpreters, one contract")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
