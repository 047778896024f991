"""Turn receipts: what ran, in digests and counts; the owner's copy also holds the request and the tokens.

A receipt is JSON without floats, in canonical form. Digests are SHA-256 in lower-case hex: of the canonical request,
and of token ids written as JSON (`[1,2,3]`).
"""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tokenling.engine.request import GenerationRequest
from tokenling.runtime.brain import Brain
from tokenling.runtime.documents import JsonObject, JsonRefused, JsonValue, canonical_json, kind_of, parse_object
from tokenling.runtime.errors import GenerationRefused, ReceiptRefused
from tokenling.runtime.lane import TurnRunner
from tokenling.runtime.plan import DecodePlan, Generation, StopReason
from tokenling.runtime.requests import request_from_json, request_json

RECEIPT_VERSION = 1
RECEIPT_BYTES_MAX = 2**22
"""Four times a save: a request quotes no more than that, and tokens are few."""
STOPS: tuple[StopReason, ...] = ("eos", "newline", "length", "cancelled")
_FEATURES = (
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "amx_int8",
    "asimd",
    "sve",
)
"""Processor features that choose ONNX Runtime's kernels."""
_SHAPES: Mapping[str, type] = {
    "receiptVersion": int,
    "brainId": str,
    "files": dict,
    "precision": str,
    "numerics": str,
    "provider": str,
    "ortVersion": str,
    "processor": list,
    "prefillChunk": int,
    "seed": int,
    "requestSha256": str,
    "promptSha256": str,
    "outputSha256": str,
    "textSha256": str,
    "stop": str,
    "insertionsUsed": list,
    "nearTies": list,
    "promptTokens": int,
    "outputTokens": int,
    "prefillMicros": int,
    "decodeMicros": int,
}
"""The fields of every receipt."""


@dataclass(frozen=True, slots=True)
class TurnReceipt:
    """What ran. `fields` is the public part; `request` and `token_ids` are the owner's own."""

    fields: JsonObject
    request: GenerationRequest
    token_ids: tuple[int, ...]

    def public_json(self) -> bytes:
        """The receipt without request and tokens: it proves nothing by itself and tells nothing of the owner."""
        return canonical_json(self.fields)

    def owner_json(self) -> bytes:
        """The receipt that `verify` takes."""
        return canonical_json({**self.fields, "request": request_json(self.request), "tokens": list(self.token_ids)})


def make_receipt(
    plan: DecodePlan, generation: Generation, brain: Brain, lane: TurnRunner, *, request: GenerationRequest
) -> TurnReceipt:
    """The receipt of a turn that ended, in whatever way."""
    fields: dict[str, JsonValue] = {
        "receiptVersion": RECEIPT_VERSION,
        "brainId": brain.id,
        "files": dict(brain.file_sha256),
        "precision": brain.precision,
        "numerics": brain.numerics,
        "provider": lane.provider,
        "ortVersion": brain.ort_version,
        "processor": list(processor_features()),
        "prefillMicros": round(generation.prefill_ms * 1000),
        "decodeMicros": round(generation.decode_ms * 1000),
        **claims(plan, generation, request),
    }
    assert fields.keys() == _SHAPES.keys()
    return TurnReceipt(fields, request, generation.token_ids)


def claims(plan: DecodePlan, generation: Generation, request: GenerationRequest) -> dict[str, JsonValue]:
    """The part of a receipt that running the turn again gives again."""
    return {
        "prefillChunk": plan.prefill_chunk,
        "seed": plan.sampling.seed,
        "requestSha256": sha256(canonical_json(request_json(request))),
        "promptSha256": ids_sha256(plan.prompt_ids),
        "outputSha256": ids_sha256(generation.token_ids),
        "textSha256": sha256(generation.text.encode()),
        "stop": generation.stop,
        "insertionsUsed": list(generation.insertions_used),
        "nearTies": list(generation.near_ties),
        "promptTokens": len(plan.prompt_ids),
        "outputTokens": len(generation.token_ids),
    }


def parse_owner_receipt(data: bytes) -> TurnReceipt:
    """The owner's receipt in `data`. Raises `ReceiptRefused`."""
    if len(data) > RECEIPT_BYTES_MAX:
        raise ReceiptRefused("receipt_too_large", "receipt", f"{len(data)} bytes", f"at most {RECEIPT_BYTES_MAX}")
    try:
        document = parse_object(data)
    except JsonRefused as refusal:
        raise ReceiptRefused("receipt_malformed", "receipt", str(refusal), "one JSON object") from None
    if document.get("receiptVersion") != RECEIPT_VERSION:
        found = document.get("receiptVersion")
        raise ReceiptRefused("receipt_version", "receiptVersion", found, str(RECEIPT_VERSION))
    if "request" not in document or "tokens" not in document:
        raise ReceiptRefused("receipt_public", "receipt", "no request or no tokens", "the owner's copy")
    _check_shapes(document)
    fields = {name: document[name] for name in _SHAPES}
    return TurnReceipt(fields, _request(document["request"]), _tokens(document["tokens"]))


def _check_shapes(document: JsonObject) -> None:
    unknown = sorted(set(document) - set(_SHAPES) - {"request", "tokens"})
    if unknown:
        raise ReceiptRefused("receipt_field", unknown[0][:40], "a field of this name", "the fields of a receipt only")
    for name, kind in _SHAPES.items():
        value = document.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            found = kind_of(value) if name in document else "nothing"
            raise ReceiptRefused("receipt_field", name, found, kind_of(kind()))
        if kind is int and cast("int", value) < 0:
            raise ReceiptRefused("receipt_field", name, "a negative number", "0 or more")
    if not all(isinstance(feature, str) for feature in cast("list[JsonValue]", document["processor"])):
        raise ReceiptRefused("receipt_field", "processor", "an entry of another kind", "an array of texts")
    if document["stop"] not in STOPS:
        raise ReceiptRefused("receipt_field", "stop", "another text", " or ".join(STOPS))


def _request(value: JsonValue) -> GenerationRequest:
    if not isinstance(value, Mapping):
        raise ReceiptRefused("receipt_field", "request", kind_of(value), "an object")
    try:
        return request_from_json(value)
    except GenerationRefused as refusal:
        raise ReceiptRefused("receipt_field", f"request {refusal.subject}", refusal.found, refusal.expected) from None


def _tokens(value: JsonValue) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ReceiptRefused("receipt_field", "tokens", kind_of(value), "an array of ids")
    if not all(isinstance(token, int) and not isinstance(token, bool) and token >= 0 for token in value):
        raise ReceiptRefused("receipt_field", "tokens", "an entry that is no id", "an array of ids")
    return cast("tuple[int, ...]", tuple(value))


def ids_sha256(ids: Sequence[int]) -> str:
    """The digest of token ids."""
    return sha256(canonical_json(list(ids)))


def sha256(data: bytes) -> str:
    """The digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def processor_features() -> tuple[str, ...]:
    """The architecture and those of `_FEATURES` that this processor has, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line.split(":", 1)[1] for line in text.splitlines() if line.startswith(("flags", "Features"))]
    flags = set(lines[0].split()) if lines else set()
    return (platform.machine(), *(name for name in _FEATURES if name in flags))
