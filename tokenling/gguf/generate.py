"""One generation over a GGUF model: the runtime's plan, sampling and text, over caches that are written in place."""

import time

from tokenling.gguf.model import Model
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation, DecodePlan, Generation, Lane
from tokenling.runtime.cancellation import StepCancelled
from tokenling.runtime.lane import OnToken, check_plan, generation_of
from tokenling.runtime.writer import Writer

GENERATION_PROVIDER = "CPUExecutionProvider"
"""ONNX Runtime's, of every session that `open_model` makes."""


def generate(
    model: Model,
    lane: Lane,
    plan: DecodePlan,
    *,
    steps: BufferedSteps | None = None,
    cancel: Cancellation | None = None,
    on_token: OnToken | None = None,
) -> Generation:
    """Carry out `plan` in this thread, on the `lane` of `brain_of(model, …)`, from an empty cache.

    With `steps` (of the same `cancel`) the prompt goes behind what they hold: the turns of a chat. `on_token` gets each
    piece of whole text as it is sure. A `cancel` that was set ends with the stop `cancelled` and what was written until
    then. Raises `GenerationRefused` before anything ran, `LaneFailed` when a step failed.
    """
    with lane.hold():
        check_plan(plan, lane.brain)
        if steps is None:
            steps = BufferedSteps(model, len(plan.prompt_ids) + plan.max_new, cancel or Cancellation())
        return _run(steps, Writer(plan, lane.index, lane.brain.config.eos_ids), plan, on_token)


def _run(steps: BufferedSteps, writer: Writer, plan: DecodePlan, on_token: OnToken | None) -> Generation:
    """Prefill, then step until the writer ends it."""
    started = decoding = time.perf_counter()
    try:
        logits = steps.prefill(plan.prompt_ids, plan.prefill_chunk)
        decoding = time.perf_counter()
        while feed := writer.write(logits):
            if on_token is not None and writer.piece:
                on_token(writer.piece)
            logits = steps.step(feed)
    except StepCancelled:
        writer.cancel()
    if on_token is not None and writer.piece:
        on_token(writer.piece)
    return generation_of(writer, (decoding - started) * 1000, (time.perf_counter() - decoding) * 1000)
