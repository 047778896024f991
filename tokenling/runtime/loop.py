"""The loop of one generation: prefill, write, step until the writer ends it; and the same once more for a receipt.

Whatever can run tokens behind those it holds can be looped over: a lane's own steps, the in-place ones of GGUF models,
those of another device.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tokenling.runtime.cancellation import Cancellation, StepCancelled
from tokenling.runtime.plan import DecodePlan, Generation
from tokenling.runtime.sampling import Logits, could_choose
from tokenling.runtime.top import Top
from tokenling.runtime.writer import Writer

if TYPE_CHECKING:
    from tokenling.runtime.brain import Brain

OnToken: TypeAlias = Callable[[str], None]
VerdictKind: TypeAlias = Literal["identical", "near_tie", "different", "not_provable_here"]


class SequenceSteps(Protocol):
    """One sequence that grows. Both raise `StepCancelled` when it was stopped and `LaneFailed` when a step failed."""

    @property
    def top(self) -> Top | None:
        """The greatest logits of the last step, where something has found them already."""

    def prefill(self, ids: Sequence[int], chunk: int) -> Logits:
        """Run a prompt, at most `chunk` tokens a step (0 for all at once); the last token's logits (vocabulary,)."""

    def step(self, ids: Sequence[int]) -> Logits:
        """Run `ids` behind what is held; the last one's logits (vocabulary,), valid until the next step."""


OpenSteps: TypeAlias = "Callable[[Brain, int, Cancellation], SequenceSteps]"
"""An empty sequence of at most so many tokens, stopped by the cancellation."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`subject` names the first field that differs; `step` is the first differing token's index, if tokens differ."""

    kind: VerdictKind
    subject: str = ""
    step: int | None = None


def run_plan(steps: SequenceSteps, writer: Writer, plan: DecodePlan, on_token: OnToken | None = None) -> Generation:
    """The generation of a plan that was checked, over `steps`. `on_token` gets each piece of text as it is sure.

    Cancelled steps end it with the stop `cancelled` and what was written until then. Raises `LaneFailed`.
    """
    started = decoding = time.perf_counter()
    try:
        logits = steps.prefill(plan.prompt_ids, plan.prefill_chunk)
        decoding = time.perf_counter()
        while feed := writer.write(logits, steps.top):
            if on_token is not None and writer.piece:
                on_token(writer.piece)
            logits = steps.step(feed)
    except StepCancelled:
        writer.cancel()
    if on_token is not None and writer.piece:
        on_token(writer.piece)
    return generation_of(writer, (decoding - started) * 1000, (time.perf_counter() - decoding) * 1000)


def generation_of(writer: Writer, prefill_ms: float, decode_ms: float) -> Generation:
    """What a writer that has ended wrote."""
    assert writer.stop is not None
    return Generation(
        token_ids=tuple(writer.token_ids),
        text=writer.text,
        stop=writer.stop,
        insertions_used=tuple(writer.insertions_used),
        prefill_ms=prefill_ms,
        decode_ms=decode_ms,
        choices=tuple(writer.choices),
        near_ties=tuple(writer.near_ties),
    )


def replay(
    steps: SequenceSteps, writer: Writer, plan: DecodePlan, token_ids: Sequence[int], *, was_cancelled: bool
) -> Verdict | None:
    """Decode again beside a receipt's tokens; a verdict at the first that is another one, None when all are the same.

    A generation that was cancelled is replayed as far as it came; the writer has then ended, in every case of None.
    """
    feed: tuple[int, ...] = plan.prompt_ids
    for step, token in enumerate(token_ids):
        if not feed:
            return Verdict("different", "tokens", step)  # the receipt goes on where the generation ends
        feed = writer.write(steps.prefill(feed, plan.prefill_chunk) if step == 0 else steps.step(feed))
        if writer.token_ids[-1] != token:
            near = token < writer.legal.shape[0] and could_choose(writer.legal, plan.sampling, step, token)
            return Verdict("near_tie" if near else "different", "tokens", step)
    if was_cancelled and writer.stop is None:
        writer.cancel()
    return Verdict("different", "tokens", len(token_ids)) if writer.stop is None else None
