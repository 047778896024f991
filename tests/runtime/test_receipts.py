"""Turn receipts: an honest one verifies, each tampered one is told apart, a useless one is refused."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_brain

from tokenling.engine.request import GenerationRequest
from tokenling.runtime import (
    Brain,
    Cancellation,
    Lane,
    ReceiptRefused,
    SequenceSteps,
    Verdict,
    decode,
    make_receipt,
    open_brain,
    open_lane,
    plan_turn,
    verify,
)
from tokenling.runtime.documents import canonical_json
from tokenling.runtime.receipts import RECEIPT_BYTES_MAX, ids_sha256, parse_owner_receipt
from tokenling.runtime.sampling import Logits
from tokenling.runtime.steps import Steps

Document = dict[str, object]


def receipt_of(brain: Brain, lane: Lane, request: GenerationRequest) -> bytes:
    plan = plan_turn(request, brain)
    return make_receipt(plan, decode(lane, plan), brain, lane, request=request).owner_json()


@pytest.fixture
def honest(brain: Brain, lane: Lane, pet_request: GenerationRequest) -> Document:
    document: Document = json.loads(receipt_of(brain, lane, pet_request))
    assert len(document["tokens"]) > 8  # type: ignore[arg-type]
    return document


def test_honest_receipts_of_many_turns_are_identical(
    brain_dir: Path, brain: Brain, lane: Lane, pet_request: GenerationRequest
) -> None:
    receipts = [receipt_of(brain, lane, replace(pet_request, seed=seed)) for seed in range(60)]
    assert [Verdict("identical")] * 60 == [verify(receipt, brain) for receipt in receipts]
    assert Verdict("identical") == verify(receipts[7], open_brain(brain_dir, threads=2))


def test_a_turn_with_lookups_verifies(brain: Brain, lane: Lane, pet_request: GenerationRequest) -> None:
    request = replace(pet_request, temperature_milli=2000, top_p_milli=1000)
    for seed in range(400):
        asked = replace(request, seed=seed)
        plan = plan_turn(asked, brain)
        generation = decode(lane, plan)
        if generation.insertions_used:
            receipt = make_receipt(plan, generation, brain, lane, request=asked).owner_json()
            assert Verdict("identical") == verify(receipt, brain)
            return
    raise AssertionError("no seed of 400 asked anything")


def test_a_turn_is_proved_over_whatever_steps_are_given(
    brain: Brain, lane: Lane, pet_request: GenerationRequest
) -> None:
    plan = plan_turn(pet_request, brain)
    receipt = make_receipt(plan, decode(lane, plan), brain, lane, request=pet_request).owner_json()
    opened: list[int] = []

    def open_steps(brain: Brain, capacity: int, cancellation: Cancellation) -> SequenceSteps:
        opened.append(capacity)
        return Steps(brain, capacity, cancellation)

    class Contrary(Steps):
        """Steps that give the likeliest token the least weight."""

        def step(self, ids: Sequence[int]) -> Logits:
            return np.negative(super().step(ids))

    assert "identical" == verify(receipt, brain, open_steps=open_steps).kind
    assert [len(plan.prompt_ids) + plan.max_new] == opened
    assert "different" == verify(receipt, brain, open_steps=Contrary).kind


def test_a_cancelled_turn_verifies_as_far_as_it_came(brain: Brain, lane: Lane, pet_request: GenerationRequest) -> None:
    plan = plan_turn(pet_request, brain)
    cancel = Cancellation()
    count = 0

    def stop_later(_piece: str) -> None:
        nonlocal count
        count += 1
        if count == 5:
            cancel.cancel()

    generation = decode(lane, plan, cancel=cancel, on_token=stop_later)
    assert generation.stop == "cancelled"
    receipt = make_receipt(plan, generation, brain, lane, request=pet_request)
    assert Verdict("identical") == verify(receipt.owner_json(), brain)


def other_token(document: Document) -> None:
    tokens = document["tokens"]
    assert isinstance(tokens, list)
    tokens[4] = tokens[4] + 1
    document["outputSha256"] = ids_sha256(tokens)


def fewer_tokens(document: Document) -> None:
    document["tokens"] = document["tokens"][:-1]  # type: ignore[index]
    document["outputSha256"] = ids_sha256(document["tokens"])  # type: ignore[arg-type]


def more_tokens(document: Document) -> None:
    document["tokens"] = [*document["tokens"], 60]  # type: ignore[misc]
    document["outputSha256"] = ids_sha256(document["tokens"])  # type: ignore[arg-type]


def of_the_request(field: str, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["request"][field] = value  # type: ignore[index]

    return change


def field(name: str, value: object) -> Callable[[Document], None]:
    return lambda document: document.update({name: value})


def other_digest(document: Document) -> None:
    document["files"] = dict.fromkeys(document["files"], "0" * 64)  # type: ignore[attr-defined]


def new_words(document: Document) -> None:
    """Another line said, and the digest made to fit: the prompt's digest still tells."""
    document["request"]["lines"] = ["Owner: I never said that"]  # type: ignore[index]
    document["requestSha256"] = hashlib.sha256(canonical_json(document["request"])).hexdigest()  # type: ignore[arg-type]


TAMPERED: dict[str, tuple[str, Callable[[Document], object]]] = {
    "another token": ("tokens", other_token),
    "a token less": ("tokens", fewer_tokens),
    "a token more": ("tokens", more_tokens),
    "tokens changed, digest left": ("outputSha256", lambda d: d["tokens"].reverse()),  # type: ignore[attr-defined]
    "another seed asked": ("requestSha256", of_the_request("seed", 99)),
    "another seed claimed": ("seed", field("seed", 99)),
    "other words asked": ("requestSha256", of_the_request("prefix", "Pup:")),
    "other words asked, digest made to fit": ("promptSha256", new_words),
    "a hotter temperature": ("requestSha256", of_the_request("temperatureMilli", 851)),
    "another request digest": ("requestSha256", field("requestSha256", "0" * 64)),
    "another output digest": ("outputSha256", field("outputSha256", "0" * 64)),
    "another text digest": ("textSha256", field("textSha256", "0" * 64)),
    "another brain": ("brainId", field("brainId", "tiny-1")),
    "another graph": ("files", other_digest),
    "another precision": ("precision", field("precision", "q8")),
    "another end": ("stop", field("stop", "eos")),
    "an end before the end": ("tokens", lambda d: (fewer_tokens(d), d.update(stop="length"))),
    "a chunk that never was": ("prefillChunk", field("prefillChunk", 8)),
    "a lookup that never was": ("insertionsUsed", field("insertionsUsed", ["[look time]"])),
    "a near tie that never was": ("nearTies", field("nearTies", [4000])),
    "another count": ("outputTokens", field("outputTokens", 1)),
    "a request that never fitted": ("request", of_the_request("maxNew", 1024)),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_receipt_is_different_and_says_where(brain: Brain, honest: Document, name: str) -> None:
    subject, change = TAMPERED[name]
    change(honest)
    verdict = verify(canonical_json(honest), brain)  # type: ignore[arg-type]
    assert ("different", subject) == (verdict.kind, verdict.subject)
    assert (subject == "tokens") == (verdict.step is not None)


@pytest.mark.parametrize(("name", "value"), [("numerics", "fast"), ("provider", "CUDAExecutionProvider")])
def test_what_ran_elsewhere_is_not_provable_here(brain: Brain, honest: Document, name: str, value: str) -> None:
    honest[name] = value
    assert Verdict("not_provable_here", name) == verify(canonical_json(honest), brain)  # type: ignore[arg-type]


def test_what_a_page_wrote_is_proved_here(brain: Brain, honest: Document) -> None:
    """The page's exact logits agree with these to about 1e-5; which draws were near is its own (tests/browser)."""
    honest |= {"provider": "wasm", "ortVersion": brain.ort_version, "nearTies": [3]}
    assert Verdict("identical") == verify(canonical_json(honest), brain)  # type: ignore[arg-type]


def test_near_ties_of_another_processor_are_its_own(brain: Brain, honest: Document) -> None:
    """Rounding may put a draw on either side of being near; the tokens are what is proved."""
    honest["nearTies"] = [3]
    honest["processor"] = ["aarch64", "asimd"]
    assert Verdict("identical") == verify(canonical_json(honest), brain)  # type: ignore[arg-type]


def test_a_fast_brain_proves_nothing(brain_dir: Path, honest: Document) -> None:
    fast = open_brain(brain_dir, numerics="fast")
    assert verify(canonical_json(honest), fast).kind == "not_provable_here"  # type: ignore[arg-type]


def test_a_difference_at_a_tie_is_a_near_tie(tmp_path: Path, pet_request: GenerationRequest) -> None:
    """A brain whose head is all zeros ties every token: any other token at any step could have come from rounding."""
    path = tiny_brain.make_brain(tmp_path, tiny_brain.Shape(sharpness=0.0), precisions=("fp32",))
    brain = open_brain(path, precision="fp32")
    lane = open_lane(brain)
    request = replace(pet_request, temperature_milli=0, tags=(), answers={})
    plan = plan_turn(request, brain)
    document = json.loads(make_receipt(plan, decode(lane, plan), brain, lane, request=request).owner_json())
    document["tokens"][0] += 20
    document["outputSha256"] = ids_sha256(document["tokens"])
    assert Verdict("near_tie", "tokens", 0) == verify(canonical_json(document), brain)


REFUSED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "nothing": ("receipt_malformed", lambda data: b""),
    "no JSON": ("receipt_malformed", lambda data: data[:-3]),
    "a list": ("receipt_malformed", lambda data: b"[]"),
    "too much": ("receipt_too_large", lambda data: data + b" " * RECEIPT_BYTES_MAX),
    "another version": ("receipt_version", lambda data: data.replace(b'"receiptVersion":1', b'"receiptVersion":2')),
    "no version": ("receipt_version", lambda data: b"{}"),
    "a float": ("receipt_field", lambda data: data.replace(b'"promptTokens":', b'"promptTokens":0.')),
    "another end than there is": ("receipt_field", lambda data: data.replace(b'"stop":"', b'"stop":"x')),
    "a negative time": ("receipt_field", lambda data: data.replace(b'"prefillMicros":', b'"prefillMicros":-1')),
    "a feature that is no text": ("receipt_field", lambda data: data.replace(b'"processor":[', b'"processor":[1,')),
    "a field more": ("receipt_field", lambda data: b'{"extra":1,' + data[1:]),
    "tokens that are text": ("receipt_field", lambda data: data.replace(b'"tokens":[', b'"tokens":["a",')),
    "a request of another shape": ("receipt_field", lambda data: data.replace(b'"topK":40', b'"topK":"40"')),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_receipt_is_refused(brain: Brain, honest: Document, name: str) -> None:
    code, change = REFUSED[name]
    with pytest.raises(ReceiptRefused) as refusal:
        verify(change(canonical_json(honest)), brain)  # type: ignore[arg-type]
    assert refusal.value.code == code


def test_a_public_receipt_tells_nothing_and_is_refused(
    brain: Brain, lane: Lane, pet_request: GenerationRequest
) -> None:
    plan = plan_turn(pet_request, brain)
    receipt = make_receipt(plan, decode(lane, plan), brain, lane, request=pet_request)
    assert b"hello" not in receipt.public_json()
    assert "tokens" not in json.loads(receipt.public_json())
    with pytest.raises(ReceiptRefused) as refusal:
        verify(receipt.public_json(), brain)
    assert refusal.value.code == "receipt_public"


def test_a_receipt_reads_back_as_it_was_written(brain: Brain, lane: Lane, pet_request: GenerationRequest) -> None:
    data = receipt_of(brain, lane, pet_request)
    assert data == parse_owner_receipt(data).owner_json()
    assert pet_request == parse_owner_receipt(data).request
