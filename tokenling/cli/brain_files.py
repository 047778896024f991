"""Where the shipped brain is, and what a brain says it succeeds."""

import json
from pathlib import Path

from tokenling.host.exits import ExitCode, HostRefused

SHIPPED_BRAIN = "sprout-2"
BRAINS = Path(__file__).parents[1] / "brains"


def shipped_brain_dir() -> Path:
    """The brain that comes with the package."""
    return BRAINS / SHIPPED_BRAIN


def succession_of(directory: Path) -> tuple[str, tuple[str, ...]]:
    """The id of the brain in `directory` and the ids it succeeds, from its `brain.json`."""
    path = directory / "brain.json"
    try:
        manifest: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise HostRefused(ExitCode.BRAIN, f"{path}: found no readable manifest, expected a brain.json") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("id"), str):
        raise HostRefused(ExitCode.BRAIN, f"{path}: found no id, expected a brain.json with one")
    succeeds = manifest.get("succeeds")
    names = succeeds if isinstance(succeeds, list) else []
    return manifest["id"], tuple(name for name in names if isinstance(name, str))
