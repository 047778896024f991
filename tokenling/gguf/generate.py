"""One generation over a GGUF model: the runtime's loop over caches that are written in place."""

from tokenling.gguf.model import Model
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation, DecodePlan, Generation, GenerationRefused, Lane, run_plan
from tokenling.runtime.lane import check_plan
from tokenling.runtime.loop import OnToken
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
        check_room(steps, plan)
        return run_plan(steps, Writer(plan, lane.index, lane.brain.config.eos_ids), plan, on_token)


def check_room(steps: BufferedSteps, plan: DecodePlan) -> None:
    """Refuse a plan that would outgrow the caches on its way."""
    total = steps.tokens + len(plan.prompt_ids) + plan.max_new
    if total > steps.capacity:
        expected = f"at most the context of {steps.capacity}"
        raise GenerationRefused("does_not_fit", "prompt and output", f"{total} tokens", expected)
