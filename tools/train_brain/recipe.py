"""The numbers of a training run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything beside the corpus and the shape that decides the weights.

    The first `bare_steps` see trees without their trunks: what answers what is learned at a third of the cost, and
    the body's part, which the trunk tells, afterwards. Then `drill_percent` of the batches are drills, where the work
    folder holds some. Each of `workers` processes takes a batch of `batch_tokens` a step.
    """

    seed: int = 1
    steps: int = 4000
    decay_steps: int = 1200
    quantized_steps: int = 400
    warmup_steps: int = 100
    bare_steps: int = 400
    batch_tokens: int = 6144
    rate: float = 0.004
    drill_percent: int = 0
    workers: int = 1
    validate_steps: int = 250
    checkpoint_steps: int = 250
    threads: int = 2

    def rate_at(self, step: int) -> float:
        """The learning rate of a step: up, level, down to zero."""
        left = (self.steps - step) / max(1, self.decay_steps)
        return self.rate * min(1.0, (step + 1) / self.warmup_steps, left)
