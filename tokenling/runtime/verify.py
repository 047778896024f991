"""Running a turn again from its receipt: the same brain, request and seed give the same tokens, or where not."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tokenling.runtime.brain import Brain
from tokenling.runtime.cancellation import Cancellation
from tokenling.runtime.documents import JsonObject, JsonValue, canonical_json
from tokenling.runtime.errors import GenerationRefused
from tokenling.runtime.lane import Lane, check_plan, generation_of, open_lane
from tokenling.runtime.plan import DecodePlan
from tokenling.runtime.receipts import TurnReceipt, claims, ids_sha256, parse_owner_receipt, processor_features, sha256
from tokenling.runtime.requests import request_json
from tokenling.runtime.sampling import could_choose
from tokenling.runtime.turn import plan_turn
from tokenling.runtime.writer import Writer

AGREEING = frozenset({"CPUExecutionProvider", "wasm"})
"""Providers whose `exact` logits agree to about 1e-5 (docs/runtime.md): what a page wrote can be proved here, and what
this runtime wrote can be proved in a page. Where rounding did move a token, the near tie says so."""

VerdictKind: TypeAlias = Literal["identical", "near_tie", "different", "not_provable_here"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`subject` names the first field that differs; `step` is the first differing token's index, if tokens differ."""

    kind: VerdictKind
    subject: str = ""
    step: int | None = None


def verify(owner_receipt: bytes, brain: Brain) -> Verdict:
    """Whether this brain, run again, writes what the receipt says. Raises `ReceiptRefused` for no owner's receipt.

    `near_tie`: the tokens part at a step where logits within 1e-3 of these could have chosen the receipt's token.
    `not_provable_here`: the receipt was made in `fast` numerics, or on a provider whose logits do not agree with this
    one's, or this brain is not `exact`.
    """
    receipt = parse_owner_receipt(owner_receipt)
    fields = receipt.fields
    if fields["numerics"] != "exact" or brain.numerics != "exact":
        return Verdict("not_provable_here", "numerics")
    lane = open_lane(brain)
    if fields["provider"] != lane.provider and not {fields["provider"], lane.provider} <= AGREEING:
        return Verdict("not_provable_here", "provider")
    unlike = _first_unlike(fields, _identity(brain))
    return Verdict("different", unlike) if unlike else _run_again(receipt, lane)


def _identity(brain: Brain) -> dict[str, JsonValue]:
    return {"brainId": brain.id, "files": dict(brain.file_sha256), "precision": brain.precision}


def _first_unlike(fields: JsonObject, expected: JsonObject) -> str:
    """The first field that does not say what is expected; an empty text when all do."""
    return next((name for name, value in expected.items() if fields[name] != value), "")


def _run_again(receipt: TurnReceipt, lane: Lane) -> Verdict:
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
    parted = _replay(plan, writer, lane, receipt)
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


def _replay(plan: DecodePlan, writer: Writer, lane: Lane, receipt: TurnReceipt) -> Verdict | None:
    """Decode with `writer`; a verdict at the first token that is not the receipt's, None when all are.

    A turn that was cancelled is replayed as far as it came.
    """
    steps = lane.steps(lane.brain, len(plan.prompt_ids) + plan.max_new, Cancellation())
    feed: tuple[int, ...] = plan.prompt_ids
    for step, token in enumerate(receipt.token_ids):
        if not feed:
            return Verdict("different", "tokens", step)  # the receipt goes on where the turn ends
        feed = writer.write(steps.prefill(feed, plan.prefill_chunk) if step == 0 else steps.step(feed))
        if writer.token_ids[-1] != token:
            near = token < lane.index.size and could_choose(writer.legal, plan.sampling, step, token)
            return Verdict("near_tie" if near else "different", "tokens", step)
    if feed and receipt.fields["stop"] == "cancelled":
        writer.cancel()
    return Verdict("different", "tokens", len(receipt.token_ids)) if writer.stop is None else None
