"""Opens the brain that a host runs on. Slow imports (ONNX Runtime) happen here, in the loader's thread."""

import json
from pathlib import Path

from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.run import HostBrain
from tokenling.host.settings import Settings

SHIPPED_BRAIN = "sprout-0"
BRAINS = Path(__file__).parents[1] / "brains"


def shipped_brain_dir() -> Path:
    """The brain that comes with the package."""
    return BRAINS / SHIPPED_BRAIN


def load_brain(settings: Settings) -> HostBrain:
    """The brain of the settings with its lanes, each of which has passed a one-token warm-up."""
    from tokenling.host.generator import BrainGenerator
    from tokenling.runtime import BrainError, open_brain, open_lane

    try:
        brain = open_brain(
            settings.model_dir,
            precision=settings.precision,
            numerics=settings.numerics,
            threads=settings.threads,
            brain_id=settings.model_id,
            features=settings.features,
        )
        lanes = [open_lane(brain) for _ in range(settings.cpu_lanes)]
        for lane in lanes:
            lane.warm_up()
    except BrainError as refused:
        raise HostRefused(ExitCode.BRAIN, f"brain {settings.model_dir}: {refused}") from None
    return HostBrain(
        brain_id=brain.id,
        features=brain.features,
        directory=settings.model_dir,
        generators=tuple(BrainGenerator(brain, lane) for lane in lanes),
        succeeds=brain.succeeds,
    )


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
