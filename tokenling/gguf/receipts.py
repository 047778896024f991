"""Generation receipts: what a GGUF model wrote, in digests and counts; the owner's copy can be run again.

The sibling of the runtime's turn receipts, for generations that no pet asked for: JSON without floats, in canonical
form, digests as there. The owner's copy adds the prompt's ids, the stops and the tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias, cast

from tokenling.gguf.cache import BUILDER_VERSION
from tokenling.gguf.generate import GENERATION_PROVIDER
from tokenling.gguf.model import Model
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import (
    Cancellation,
    DecodePlan,
    Generation,
    GenerationRefused,
    Lane,
    ReceiptRefused,
    Sampling,
    Verdict,
)
from tokenling.runtime.documents import JsonObject, JsonRefused, JsonValue, canonical_json, kind_of, parse_object
from tokenling.runtime.lane import check_plan
from tokenling.runtime.loop import generation_of, replay
from tokenling.runtime.receipts import STOPS, ids_sha256, processor_features, sha256
from tokenling.runtime.sampling import Logits
from tokenling.runtime.writer import Writer

GENERATION_RECEIPT_VERSION = 1
RECEIPT_BYTES_MAX = 2**26
"""Of the longest prompt that there may be, in digits and commas: 2^24 positions would take twice as much, a guess."""
_SHAPES: Mapping[str, type] = {
    "generationReceiptVersion": int,
    "files": dict,
    "builderVersion": int,
    "numerics": str,
    "provider": str,
    "ortVersion": str,
    "processor": list,
    "positions": int,
    "prefillChunk": int,
    "pieces": list,
    "maxNew": int,
    "temperatureMilli": int,
    "topK": int,
    "topPMilli": int,
    "seed": int,
    "ignoreEos": bool,
    "eosIds": list,
    "promptSha256": str,
    "outputSha256": str,
    "textSha256": str,
    "stop": str,
    "nearTies": list,
    "promptTokens": int,
    "outputTokens": int,
    "prefillMicros": int,
    "decodeMicros": int,
}
"""The fields of every receipt."""
_OWN: Mapping[str, type] = {"prompt": list, "stops": list, "tokens": list}
"""The fields of the owner's copy alone."""
Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GenerationReceipt:
    """What ran. `fields` is the public part, the rest the owner's own."""

    fields: JsonObject
    pieces: Ids
    prompt_ids: Ids
    stops: tuple[str, ...]
    token_ids: Ids

    def public_json(self) -> bytes:
        """The receipt without prompt and tokens."""
        return canonical_json(self.fields)

    def owner_json(self) -> bytes:
        """The receipt that `verify_generation` takes."""
        own: dict[str, JsonValue] = {
            "prompt": list(self.prompt_ids),
            "stops": list(self.stops),
            "tokens": list(self.token_ids),
        }
        return canonical_json({**self.fields, **own})


def make_generation_receipt(
    model: Model, lane: Lane, plan: DecodePlan, generation: Generation, *, pieces: Sequence[int] = ()
) -> GenerationReceipt:
    """The receipt of a generation that ended, in whatever way. The model must know its digests.

    `plan` has the whole prompt. In a chat its beginning was in the caches already, where it came in `pieces`
    (`BufferedSteps.pieces` before the generation): rounding depends on them, so they are run so again.
    """
    assert model.files, "opened without digests"
    fields: dict[str, JsonValue] = {
        "generationReceiptVersion": GENERATION_RECEIPT_VERSION,
        "prefillMicros": round(generation.prefill_ms * 1000),
        "decodeMicros": round(generation.decode_ms * 1000),
        **_here(model),
        **_claims(lane, plan, generation),
        "pieces": [list(run) for run in _runs(pieces)],
    }
    assert fields.keys() == _SHAPES.keys()
    return GenerationReceipt(fields, tuple(pieces), plan.prompt_ids, plan.stops, generation.token_ids)


def verify_generation(owner_receipt: bytes, model: Model, lane: Lane) -> Verdict:
    """Whether this model, run again, writes what the receipt says. Raises `ReceiptRefused` for no owner's receipt.

    `near_tie`: the tokens part where logits within 1e-3 of these could have chosen the receipt's token.
    `not_provable_here`: the receipt was made in `fast` numerics, or this model was opened in them.
    """
    receipt = parse_generation_receipt(owner_receipt)
    fields = receipt.fields
    if fields["numerics"] != "exact" or model.numerics != "exact":
        return Verdict("not_provable_here", "numerics")
    if fields["provider"] != GENERATION_PROVIDER:
        return Verdict("not_provable_here", "provider")
    asked: dict[str, JsonValue] = {
        "files": dict(model.files),
        "eosIds": list(lane.brain.config.eos_ids),
        "positions": model.positions,
    }
    told: dict[str, JsonValue] = {
        "promptSha256": ids_sha256(receipt.prompt_ids),
        "outputSha256": ids_sha256(receipt.token_ids),
    }
    unlike = _first_unlike(fields, asked | told)
    return Verdict("different", unlike) if unlike else _run_again(receipt, model, lane)


def parse_generation_receipt(data: bytes) -> GenerationReceipt:
    """The owner's receipt in `data`. Raises `ReceiptRefused`; no message quotes what was prompted or written."""
    if len(data) > RECEIPT_BYTES_MAX:
        raise ReceiptRefused("receipt_too_large", "receipt", f"{len(data)} bytes", f"at most {RECEIPT_BYTES_MAX}")
    try:
        document = parse_object(data)
    except JsonRefused as refusal:
        raise ReceiptRefused("receipt_malformed", "receipt", str(refusal), "one JSON object") from None
    if document.get("generationReceiptVersion") != GENERATION_RECEIPT_VERSION:
        found = kind_of(document.get("generationReceiptVersion"))
        raise ReceiptRefused("receipt_version", "generationReceiptVersion", found, str(GENERATION_RECEIPT_VERSION))
    if not _OWN.keys() <= document.keys():
        raise ReceiptRefused("receipt_public", "receipt", "no prompt, stops or tokens", "the owner's copy")
    _check_shapes(document)
    fields = {name: document[name] for name in _SHAPES}
    _listed(document, "processor", str)
    stops = _listed(document, "stops", str)
    prompt_ids = _ids(document, "prompt")
    return GenerationReceipt(
        fields, _pieces(document, len(prompt_ids)), prompt_ids, tuple(map(str, stops)), _ids(document, "tokens")
    )


def _check_shapes(document: JsonObject) -> None:
    shapes = {**_SHAPES, **_OWN}
    unknown = sorted(document.keys() - shapes.keys())
    if unknown:
        raise ReceiptRefused("receipt_field", unknown[0][:40], "a field of this name", "the fields of a receipt only")
    for name, kind in shapes.items():
        value = document.get(name)
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            found = kind_of(value) if name in document else "nothing"
            raise ReceiptRefused("receipt_field", name, found, kind_of(kind()))
        if kind is int and cast("int", value) < 0:
            raise ReceiptRefused("receipt_field", name, "a negative number", "0 or more")
    if document["stop"] not in STOPS:
        raise ReceiptRefused("receipt_field", "stop", "another text", " or ".join(STOPS))


def _listed(document: JsonObject, name: str, kind: type) -> Sequence[JsonValue]:
    value = document[name]
    if not isinstance(value, list) or not all(isinstance(entry, kind) for entry in value):
        raise ReceiptRefused("receipt_field", name, "an entry of another kind", f"an array of {kind_of(kind())}")
    return value


def _ids(document: JsonObject, name: str) -> Ids:
    values = _listed(document, name, int)
    if not all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 2**31 for v in values):
        raise ReceiptRefused("receipt_field", name, "an entry that is no id", "an array of ids")
    return tuple(value for value in values if isinstance(value, int))


def _pieces(document: JsonObject, prompt_tokens: int) -> Ids:
    """The lengths that `pieces` tells in runs; they must leave at least one token of the prompt."""
    found: list[int] = []
    total = 0
    for run in _listed(document, "pieces", list):
        entries = run if isinstance(run, list) else []
        numbers = [n for n in entries if isinstance(n, int) and not isinstance(n, bool) and n > 0]
        if len(numbers) != 2 or run != numbers:
            raise ReceiptRefused("receipt_field", "pieces", "an entry that is no run", "pairs of a length and a count")
        length, count = numbers
        total += length * count
        if total >= prompt_tokens:
            raise ReceiptRefused("receipt_field", "pieces", f"{total} tokens", f"fewer than {prompt_tokens}")
        found += [length] * count
    return tuple(found)


def _runs(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Each length with how often it comes in a row."""
    return [(length, len(list(run))) for length, run in groupby(lengths)]


def _here(model: Model) -> dict[str, JsonValue]:
    """What ran it."""
    return {
        "files": dict(model.files),
        "builderVersion": BUILDER_VERSION,
        "numerics": model.numerics,
        "provider": GENERATION_PROVIDER,
        "ortVersion": model.ort_version,
        "processor": list(processor_features()),
        "positions": model.positions,
    }


def _claims(lane: Lane, plan: DecodePlan, generation: Generation) -> dict[str, JsonValue]:
    """The part of a receipt that running it again gives again."""
    sampling = plan.sampling
    return {
        "prefillChunk": plan.prefill_chunk,
        "maxNew": plan.max_new,
        "temperatureMilli": sampling.temperature_milli,
        "topK": sampling.top_k,
        "topPMilli": sampling.top_p_milli,
        "seed": sampling.seed,
        "ignoreEos": plan.ignore_eos,
        "eosIds": list(lane.brain.config.eos_ids),
        "promptSha256": ids_sha256(plan.prompt_ids),
        "outputSha256": ids_sha256(generation.token_ids),
        "textSha256": sha256(generation.text.encode()),
        "stop": generation.stop,
        "nearTies": list(generation.near_ties),
        "promptTokens": len(plan.prompt_ids),
        "outputTokens": len(generation.token_ids),
    }


def _first_unlike(fields: JsonObject, expected: JsonObject) -> str:
    """The first field that does not say what is expected; an empty text when all do."""
    return next((name for name, value in expected.items() if fields[name] != value), "")


def _run_again(receipt: GenerationReceipt, model: Model, lane: Lane) -> Verdict:
    """Decode once more and compare every claim."""
    plan = _plan(receipt)
    try:
        check_plan(plan, lane.brain)
    except GenerationRefused:
        return Verdict("different", "prompt")  # a generation that ran was one that fits
    writer = Writer(plan, lane.index, lane.brain.config.eos_ids)
    steps = PiecewiseSteps(model, len(plan.prompt_ids) + plan.max_new, receipt.pieces)
    was_cancelled = receipt.fields["stop"] == "cancelled"
    parted = replay(steps, writer, plan, receipt.token_ids, was_cancelled=was_cancelled)
    if parted is not None:
        return parted
    claimed = _claims(lane, plan, generation_of(writer, 0, 0))
    if _first_unlike(receipt.fields, {k: v for k, v in _here(model).items() if k in ("ortVersion", "processor")}):
        claimed.pop("nearTies")  # elsewhere rounding may move a draw over the border of being near
    unlike = _first_unlike(receipt.fields, claimed)
    return Verdict("different", unlike) if unlike else Verdict("identical")


def _plan(receipt: GenerationReceipt) -> DecodePlan:
    numbers = {name: value for name, value in receipt.fields.items() if isinstance(value, int)}
    sampling = Sampling(numbers["temperatureMilli"], numbers["topK"], numbers["topPMilli"], numbers["seed"])
    return DecodePlan(
        receipt.prompt_ids,
        numbers["maxNew"],
        sampling,
        receipt.stops,
        prefill_chunk=numbers["prefillChunk"],
        ignore_eos=bool(numbers["ignoreEos"]),
    )


class PiecewiseSteps(BufferedSteps):
    """Steps whose prompt comes as a receipt tells: the first pieces one by one, the rest as the plan has it."""

    def __init__(self, model: Model, capacity: int, pieces: Sequence[int]) -> None:
        super().__init__(model, capacity, Cancellation())
        self._first_pieces = pieces

    def prefill(self, ids: Sequence[int], chunk: int = 0) -> Logits:
        """The last token's logits (vocabulary,)."""
        at = 0
        for length in self._first_pieces:
            self.step(ids[at : at + length])
            at += length
        return super().prefill(ids[at:], chunk)
