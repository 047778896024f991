"""Training that feels the int4 it will ship in: matrices are rounded on the way in, gradients pass as if not."""

import torch
from torch import Tensor

from tools.export_brain.quantize import BLOCK, best_scales
from tools.train_brain.model import Weights

SCALES_LAST_STEPS = 25
"""Scales are searched again after this many steps; searching at each would double a step's time."""


class FakeQuant:
    """Rounds the matrices inside the layers to int4, and the table to int8, with the scales that the export finds."""

    def __init__(self) -> None:
        self._scales: Weights = {}
        self._age = 0

    def __call__(self, weights: Weights) -> Weights:
        """The weights as the q4 graph will hold them; each gradient goes straight through to its weight."""
        if self._age % SCALES_LAST_STEPS == 0:
            self._search(weights)
        self._age += 1
        return {
            name: self._rounded(name, weight) if name in self._scales else weight for name, weight in weights.items()
        }

    def _search(self, weights: Weights) -> None:
        for name, weight in weights.items():
            if weight.dim() == 2:
                blocks = weight.detach().numpy().reshape(weight.shape[0], -1, BLOCK)
                self._scales[name] = torch.from_numpy(best_scales(blocks, bits_of(name)))[..., None]

    def _rounded(self, name: str, weight: Tensor) -> Tensor:
        low = -(1 << bits_of(name) - 1)
        scales = self._scales[name]
        with torch.no_grad():
            blocks = weight.view(weight.shape[0], -1, BLOCK)
            safe = torch.where(scales == 0, torch.ones_like(scales), scales)
            moved = (blocks / safe).round_().clamp_(low, -low - 1).mul_(scales).view_as(weight) - weight
        return weight + moved


def bits_of(name: str) -> int:
    """Bits of a matrix in the q4 graph."""
    return 8 if "embed" in name else 4
