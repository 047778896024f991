"""How likely a text is to a model: each token's logarithm of probability behind those before it, teacher-forced."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokenling.gguf.errors import ContextOverflow
from tokenling.gguf.memory import PREFILL_CHUNK
from tokenling.gguf.model import Model
from tokenling.gguf.progress import Progress, silent
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation, GenerationRefused, LaneFailed

TOKENS_MIN = 2
"""The first one has nothing before it."""
LOGITS_BYTES_MAX = 2**26
"""Of the logits of one step: a row has an entry for each token of the vocabulary."""


@dataclass(frozen=True, slots=True)
class Scores:
    """`logprobs[n]` is of the token behind the first `n + 1`, in nats: the first has nothing before it."""

    logprobs: tuple[float, ...]

    @property
    def nll(self) -> float:
        """The mean negative log-likelihood, in nats a token."""
        return -math.fsum(self.logprobs) / len(self.logprobs)

    @property
    def perplexity(self) -> float:
        """Its exponential; infinite where that is beyond what a float holds."""
        return math.exp(self.nll) if self.nll < math.log(1e308) else math.inf


def score(
    model: Model, ids: Sequence[int], *, cancel: Cancellation | None = None, progress: Progress = silent
) -> Scores:
    """The scores of `ids`, at least two, on a model that was opened with `rows="all"`.

    They are run in steps of a length that the vocabulary alone decides: the same model and ids give the same bits.
    Raises `ContextOverflow` for more than the model's positions, `GenerationRefused`, `LaneFailed`; `StepCancelled`.
    """
    assert model.rows == "all", "opened for the last row only"
    _check(model, ids)
    steps = BufferedSteps(model, len(ids), cancel or Cancellation())
    size = chunk_of(model)
    found: list[float] = []
    for at in range(0, len(ids), size):
        rows = steps.rows(ids[at : at + size])
        found += _logprobs(rows, ids[at + 1 : at + size + 1])
        progress("scoring", min(len(ids), at + size), len(ids))
    return Scores(tuple(found))


def chunk_of(model: Model) -> int:
    """How many tokens a step runs."""
    return max(1, min(PREFILL_CHUNK, LOGITS_BYTES_MAX // (4 * model.layout.vocabulary)))


def check_tokens(count: int) -> None:
    """Refuse a text of too few tokens. Raises `GenerationRefused`."""
    if count < TOKENS_MIN:
        raise GenerationRefused("text_short", "text", f"{count} tokens", f"at least {TOKENS_MIN}")


def _check(model: Model, ids: Sequence[int]) -> None:
    check_tokens(len(ids))
    if len(ids) > model.positions:
        raise ContextOverflow(len(ids), 0, model.positions)
    if any(not 0 <= token < model.layout.vocabulary for token in ids):
        raise GenerationRefused("id_range", "text", "an id outside", f"ids from 0 to {model.layout.vocabulary - 1}")


def _logprobs(rows: NDArray[np.float32], targets: Sequence[int]) -> list[float]:
    """The logarithm of each target's share of its row; the rows behind the last target are for nobody."""
    found: list[float] = []
    for row, target in zip(rows, targets, strict=False):
        wide = row.astype(np.float64)
        greatest = wide.max()
        if not math.isfinite(greatest):
            raise LaneFailed("logits_not_finite", "logits", float(greatest), "a finite greatest logit")
        found.append(float(wide[target] - greatest - math.log(np.exp(wide - greatest).sum())))
    return found
