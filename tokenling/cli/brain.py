"""`tokenling brain`: which brain a directory holds, and whether its files are those it lists."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.cli.console import refuse
from tokenling.host.exits import ExitCode

if TYPE_CHECKING:
    from tokenling.runtime.brain import Manifest

LISTED, CHANGED, ABSENT = "as listed", "changed", "not here"
"""A precision that does not ship is listed and not here: that is no fault."""


@dataclass(frozen=True, slots=True)
class FileFound:
    """A file that `brain.json` lists: the digest it has, "" where there is none, and how the two compare."""

    name: str
    sha256: str
    state: str


@click.command("brain")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="A brain's directory; without it, the shipped brain's.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def command(*, directory: Path | None, as_json: bool) -> None:
    """Show the shipped brain, or the one of a directory: its id, where it is, its files and their SHA-256.

    Nothing is loaded or run. Exit codes: 0, 3 when there is no brain or a file is not the one that is listed.
    """
    from tokenling.runtime import BrainRefused

    root = (directory or shipped_brain_dir()).absolute()
    try:
        manifest = manifest_of(root)
        files = [file_found(root, name, listed) for name, listed in sorted(manifest.files.items())]
    except BrainRefused as refused:
        refuse(ExitCode.BRAIN, [f"brain {root}: {refused}"])
    click.echo(
        json.dumps(as_object(root, manifest, files), ensure_ascii=False) if as_json else text(root, manifest, files)
    )
    sys.exit(ExitCode.BRAIN if any(file.state == CHANGED for file in files) else ExitCode.STOPPED)


def manifest_of(root: Path) -> "Manifest":
    """What the `brain.json` in `root` says. Raises `BrainRefused`."""
    from tokenling.runtime.brain import read_manifest
    from tokenling.runtime.documents import brain_object
    from tokenling.runtime.files import DOCUMENT_BYTES_MAX, read_inside

    return read_manifest(brain_object(read_inside(root, "brain.json", DOCUMENT_BYTES_MAX), "brain.json"))


def file_found(root: Path, name: str, listed: str) -> FileFound:
    """The file as it is now. Raises `BrainRefused` for one that cannot be read or lies outside."""
    from tokenling.runtime import BrainRefused
    from tokenling.runtime.files import sha256_inside

    try:
        found = sha256_inside(root, name)
    except BrainRefused as refused:
        if refused.code != "file_missing":
            raise
        return FileFound(name, "", ABSENT)
    return FileFound(name, found, LISTED if found == listed else CHANGED)


def as_object(root: Path, manifest: "Manifest", files: list[FileFound]) -> Mapping[str, object]:
    """For a program; `files` has those that are here."""
    return {
        "id": manifest.id,
        "path": str(root),
        "promptVersion": manifest.prompt_version,
        "features": list(manifest.features),
        "succeeds": list(manifest.succeeds),
        "files": {file.name: file.sha256 for file in files if file.state != ABSENT},
        "changed": [file.name for file in files if file.state == CHANGED],
        "absent": [file.name for file in files if file.state == ABSENT],
    }


def text(root: Path, manifest: "Manifest", files: list[FileFound]) -> str:
    """For a person."""
    from tokenling.runtime.errors import quote

    names = [quote(file.name) for file in files]
    width = max(map(len, names), default=0)
    return "\n".join(
        (
            f"id        {manifest.id}",
            f"path      {root}",
            f"succeeds  {', '.join(manifest.succeeds) or 'none'}",
            *(
                f"{name:{width}}  {file.state:{len(LISTED)}}  {file.sha256}".rstrip()
                for name, file in zip(names, files, strict=True)
            ),
        )
    )
