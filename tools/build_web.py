"""Build the browser app into `tokenling/web/built`: `python -m tools.build_web [--force] [--brotli 11] [--out DIR]`.

Needs Node 20 or newer with npm. Does nothing when what is there was built from the same sources. The engine goes into
the app as one archive, package and zone data, so the page runs the same bytes as the host.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tokenling"
WEB = PACKAGE / "web"
BUILT = WEB / "built"
STAMP = ".sources"
"""Beside the built files: the digest of what they were built from."""
ARCHIVE_TIME = (2026, 1, 1, 0, 0, 0)
"""The same in every archive, so that the same sources give the same bytes."""
NODE_MAJOR_MIN = 20
BROTLI_QUICK = 9
"""3 s for all files where 11, for a release, takes a minute and saves a tenth."""


class BuildFailed(Exception):
    """Raised when the app cannot be built; the message says what to do."""


def engine_sources(package: Path = PACKAGE) -> Iterator[tuple[str, Path]]:
    """Name in the archive and file, in the archive's order: paths as in a site-packages."""
    yield "tokenling/__init__.py", package / "__init__.py"
    for source in sorted((package / "engine").glob("*.py")):
        yield f"tokenling/engine/{source.name}", source
    zones = Path(str(files("tzdata")))
    for data in sorted(zones.rglob("*")):
        if data.is_file() and "__pycache__" not in data.parts:
            yield f"tzdata/{data.relative_to(zones).as_posix()}", data


def write_archive(path: Path, package: Path = PACKAGE) -> None:
    """The engine of a package and the pinned zone data as one zip: stored, for it is compressed whole on its way."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for name, source in engine_sources(package):
            packed.writestr(zipfile.ZipInfo(name, ARCHIVE_TIME), source.read_bytes())


def sources_digest(brotli: int, snapshot: bool) -> str:
    """What the built files depend on."""
    digest = hashlib.sha256(f"{brotli} {snapshot}\n".encode())
    own = [path for path in sorted((WEB / "src").rglob("*")) if path.is_file()]
    own += [WEB / name for name in ("package.json", "package-lock.json", "build.mjs", "tsconfig.json")]
    for name, path in [*((path.relative_to(WEB).as_posix(), path) for path in own), *engine_sources()]:
        digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def install_packages() -> None:
    """The npm packages of the lock file, unless they are there. Raises `BuildFailed` without Node or npm."""
    require_node()
    installed, locked = WEB / "node_modules" / ".package-lock.json", WEB / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
        _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def require_node() -> None:
    found = {tool: shutil.which(tool) for tool in ("node", "npm")}
    for tool, where in found.items():
        if where is None:
            raise BuildFailed(f"{tool} is not here: install Node.js {NODE_MAJOR_MIN} or newer with npm")
    version = subprocess.run([str(found["node"]), "--version"], capture_output=True, text=True, check=True).stdout
    version = version.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_MAJOR_MIN:
        raise BuildFailed(f"node is {version}, expected {NODE_MAJOR_MIN} or newer")


def build(out: Path = BUILT, *, brotli: int = BROTLI_QUICK, snapshot: bool = True, force: bool = False) -> bool:
    """Build the app unless `out` is current. Whether it was built; a failed build leaves the old one as it was."""
    digest = sources_digest(brotli, snapshot)
    stamp = out / STAMP
    if not force and stamp.is_file() and stamp.read_text() == digest:
        return False
    install_packages()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".building-") as made:
        archive, fresh = Path(made) / "engine.zip", Path(made) / "app"
        write_archive(archive)
        options = [] if snapshot else ["--no-snapshot"]
        _run("node", "build.mjs", "--archive", str(archive), "--out", str(fresh), "--brotli", str(brotli), *options)
        (fresh / STAMP).write_text(digest)
        _replace(fresh, out, Path(made) / "old")
    return True


def _replace(fresh: Path, out: Path, old: Path) -> None:
    if out.exists():
        out.rename(old)
    fresh.rename(out)


def _run(*command: str) -> None:
    found = subprocess.run(command, cwd=WEB, check=False, capture_output=True, text=True)
    if found.returncode != 0:
        raise BuildFailed(f"{' '.join(command[:2])} failed:\n{found.stdout}{found.stderr}".rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the browser app.")
    parser.add_argument("--out", type=Path, default=BUILT)
    parser.add_argument("--brotli", type=int, default=BROTLI_QUICK, choices=range(12), metavar="0-11")
    parser.add_argument("--no-snapshot", action="store_true", help="The page then starts Pyodide from its plain files.")
    parser.add_argument("--force", action="store_true", help="Build even when nothing changed.")
    chosen = parser.parse_args()
    if sys.stderr.isatty():
        print("building the browser app (about half a minute when its sources changed) ...", file=sys.stderr)
    try:
        built = build(chosen.out.absolute(), brotli=chosen.brotli, snapshot=not chosen.no_snapshot, force=chosen.force)
    except BuildFailed as failed:
        print(f"build_web: {failed}", file=sys.stderr)
        sys.exit(1)
    print(f"{'built' if built else 'current'}: {os.path.relpath(chosen.out)}")


if __name__ == "__main__":
    main()
