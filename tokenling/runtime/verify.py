"""Running a turn again from its receipt: the same brain, request and seed give the same tokens, or where not."""

from tokenling.runtime.brain import Brain
from tokenling.runtime.cancellation import Cancellation
from tokenling.runtime.documents import JsonObject, JsonValue, canonical_json
from tokenling.runtime.errors import GenerationRefused
from tokenling.runtime.lane import Lane, check_plan, open_lane
from tokenling.runtime.loop import OpenSteps, Verdict, generation_of, replay
from tokenling.runtime.plan import DecodePlan
from tokenling.runtime.receipts import TurnReceipt, claims, ids_sha256, parse_owner_receipt, processor_features, sha256
from tokenling.runtime.requests import request_json
from tokenling.runtime.turn import plan_turn
from tokenling.runtime.writer import Writer

AGREEING = frozenset({"CPUExecutionProvider", "wasm"})
"""Providers whose `exact` logits agree to about 1e-5 (docs/runtime.md): what a page wrote can be proved here, and what
this runtime wrote can be proved in a page. Where rounding did move a token, the near tie says so."""


def verify(owner_receipt: bytes, brain: Brain, *, open_steps: "OpenSteps | None" = None) -> Verdict:
    """Whether this brain, run again, writes what the receipt says. Raises `ReceiptRefused` for no owner's receipt.

    `near_tie`: the tokens part at a step where logits within 1e-3 of these could have chosen the receipt's token.
    `not_provable_here`: the receipt was made in `fast` numerics, or on a provider whose logits do not agree with this
    one's, or this brain is not `exact`. `open_steps` gives the steps to run it on, instead of a lane's own.
    """
    receipt = parse_owner_receipt(owner_receipt)
    fields = receipt.fields
    if fields["numerics"] != "exact" or brain.numerics != "exact":
        return Verdict("not_provable_here", "numerics")
    lane = open_lane(brain)
    if fields["provider"] != lane.provider and not {fields["provider"], lane.provider} <= AGREEING:
        return Verdict("not_provable_here", "provider")
    unlike = _first_unlike(fields, _identity(brain))
    return Verdict("different", unlike) if unlike else _run_again(receipt, lane, open_steps or lane.steps)


def _identity(brain: Brain) -> dict[str, JsonValue]:
    return {"brainId": brain.id, "files": dict(brain.file_sha256), "precision": brain.precision}


def _first_unlike(fields: JsonObject, expected: JsonObject) -> str:
    """The first field that does not say what is expected; an empty text when all do."""
    return next((name for name, value in expected.items() if fields[name] != value), "")


def _run_again(receipt: TurnReceipt, lane: Lane, open_steps: OpenSteps) -> Verdict:
    """Plan the receipt's request again; when the receipt agrees with itself, decode it and compare every claim."""
    try:
        plan = plan_turn(receipt.request, lane.brain)
        check_plan(plan, lane.brain)
        writer = Writer(plan, lane.index, lane.brain.config.eos_ids)
    except GenerationRefused:
        return Verdict("different", "request")  # a turn that ran was a turn that fits
    unlike = _first_unlike(receipt.fields, _asked(plan, receipt))
    if unlike:
        return Verdict("different", unlike)
    steps = open_steps(lane.brain, len(plan.prompt_ids) + plan.max_new, Cancellation())
    was_cancelled = receipt.fields["stop"] == "cancelled"
    parted = replay(steps, writer, plan, receipt.token_ids, was_cancelled=was_cancelled)
    if parted is not None:
        return parted
    unlike = _first_unlike(receipt.fields, _claims_here(plan, writer, lane, receipt))
    return Verdict("different", unlike) if unlike else Verdict("identical")


def _claims_here(plan: DecodePlan, writer: Writer, lane: Lane, receipt: TurnReceipt) -> JsonObject:
    """What the replay claims. Near ties are compared only where logits must agree to the bit: elsewhere rounding may
    move a draw over the border of being near while every token stays."""
    found = claims(plan, generation_of(writer, 0, 0), receipt.request)
    processor = list(processor_features())
    like_here = {"provider": lane.provider, "ortVersion": lane.brain.ort_version, "processor": processor}
    if _first_unlike(receipt.fields, like_here):
        found.pop("nearTies")
    return found


def _asked(plan: DecodePlan, receipt: TurnReceipt) -> JsonObject:
    """What the receipt must say before anything runs again."""
    return {
        "requestSha256": sha256(canonical_json(request_json(receipt.request))),
        "promptSha256": ids_sha256(plan.prompt_ids),
        "outputSha256": ids_sha256(receipt.token_ids),
        "seed": plan.sampling.seed,
        "prefillChunk": plan.prefill_chunk,
    }
