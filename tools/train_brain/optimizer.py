"""Muon for the matrices inside the layers, AdamW for the table and the norms.

Muon (Jordan and others, 2024) replaces a matrix's momentum by the nearest orthogonal matrix, found by five
Newton-Schulz steps. It needs fewer text tokens than AdamW alone for the same loss, and time for tokens is what lacks.
"""

import torch
from torch import Tensor

NEWTON_SCHULZ_STEPS = 5
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""The quintic's coefficients, from the paper: steepest at zero while staying bounded."""


def orthogonal(matrix: Tensor) -> Tensor:
    """About the nearest matrix with singular values of one; bf16 is exact enough, as in the paper."""
    a, b, c = NEWTON_SCHULZ
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = (x / (x.norm() + 1e-7)).bfloat16()
    for _ in range(NEWTON_SCHULZ_STEPS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return (x.T if tall else x).float()


class Muon:
    """Momentum, made orthogonal, scaled so that the update's root mean square is like AdamW's."""

    def __init__(self, parameters: list[Tensor], *, momentum: float = 0.95, weight_decay: float = 0.01) -> None:
        self.parameters = parameters
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.buffers = [torch.zeros_like(p) for p in parameters]

    def step(self, rate: float) -> None:
        """One update in place from each parameter's gradient."""
        with torch.no_grad():
            for parameter, buffer in zip(self.parameters, self.buffers, strict=True):
                buffer.lerp_(parameter.grad, 1 - self.momentum)
                update = orthogonal(parameter.grad.lerp(buffer, self.momentum))
                scale = 0.2 * max(parameter.shape) ** 0.5
                parameter.mul_(1 - rate * self.weight_decay).add_(update, alpha=-rate * scale)
