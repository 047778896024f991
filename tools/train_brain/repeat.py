"""Whether a recipe is a recipe: the same steps twice, from nothing or from the same beginning, give one digest."""

import hashlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from tools.train_brain.parallel import in_parallel
from tools.train_brain.recipe import Recipe
from tools.train_brain.shape import Shape
from tools.train_brain.train import Run, run_worker

SHARDS = ("training.npz", "drills.npz", "held_out.npz")


def repeated(work: Path, shape: Shape, recipe: Recipe, times: int = 2) -> Iterator[str]:
    """The weights' digest of each run of the recipe on a work folder's shards; its own checkpoint stays untouched."""
    for _ in range(times):
        with TemporaryDirectory() as place:
            folder = Path(place)
            for name in SHARDS:
                if (work / name).exists():
                    shutil.copyfile(work / name, folder / name)
            in_parallel(recipe.workers, partial(run_worker, folder=folder, shape=shape, recipe=recipe))
            yield weights_digest(Run(folder, shape, recipe).checkpoint)


def weights_digest(checkpoint: Path) -> str:
    """SHA-256 over the names and bytes of a checkpoint's weights."""
    digest = hashlib.sha256()
    weights = torch.load(checkpoint, weights_only=True)["weights"]
    for name in sorted(weights):
        digest.update(name.encode() + weights[name].detach().numpy().tobytes())
    return digest.hexdigest()
