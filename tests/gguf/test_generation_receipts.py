"""A generation's receipt runs again to the same tokens, and says so when anything in it was changed."""

import json
from dataclasses import replace

import pytest
from test_gguf_model import DRAWN, GREEDY, PROMPT, lane_of, opened, plan

from tokenling.gguf.generate import generate
from tokenling.gguf.receipts import PiecewiseSteps, make_generation_receipt, parse_generation_receipt, verify_generation
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation, ReceiptRefused


@pytest.fixture(scope="module")
def parts():  # type: ignore[no-untyped-def]
    model = opened(digests=True)
    return model, lane_of(model)


@pytest.fixture(scope="module")
def receipt(parts) -> bytes:  # type: ignore[no-untyped-def]
    model, lane = parts
    return make_generation_receipt(model, lane, plan(DRAWN), generate(model, lane, plan(DRAWN))).owner_json()


def verdict(parts, document: dict[str, object]) -> tuple[str, str]:  # type: ignore[no-untyped-def]
    found = verify_generation(json.dumps(document).encode(), *parts)
    return found.kind, found.subject


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_receipt_verifies_on_another_session(sampling, threads: int, parts) -> None:  # type: ignore[no-untyped-def]
    model, lane = parts
    made = make_generation_receipt(model, lane, plan(sampling), generate(model, lane, plan(sampling)))
    again = opened(digests=True, threads=threads)
    assert "identical" == verify_generation(made.owner_json(), again, lane_of(again)).kind


def test_a_cancelled_generation_verifies_as_far_as_it_came(parts) -> None:  # type: ignore[no-untyped-def]
    model, lane = parts
    cancel = Cancellation()
    found = generate(model, lane, plan(DRAWN), cancel=cancel, on_token=lambda _piece: cancel.cancel())
    made = make_generation_receipt(model, lane, plan(DRAWN), found)
    assert "identical" == verify_generation(made.owner_json(), model, lane).kind


def test_the_receipt_of_a_chats_second_turn_verifies_by_the_pieces_that_were_held(parts) -> None:  # type: ignore[no-untyped-def]
    model, lane = parts
    steps = BufferedSteps(model, 64, Cancellation())
    first = generate(model, lane, plan(DRAWN, 6), steps=steps)
    held, pieces = (*PROMPT, *first.token_ids[:-1]), tuple(steps.pieces)
    assert (len(PROMPT), 1, 1, 1, 1, 1) == pieces
    more = replace(plan(DRAWN, 9), prompt_ids=(first.token_ids[-1], 7, 8, 9))
    second = generate(model, lane, more, steps=steps)
    whole = replace(more, prompt_ids=held + more.prompt_ids)
    made = make_generation_receipt(model, lane, whole, second, pieces=pieces)
    assert "identical" == verify_generation(made.owner_json(), model, lane).kind
    assert [[len(PROMPT), 1], [1, 5]] == json.loads(made.public_json())["pieces"]


def test_a_prompt_is_run_again_by_its_pieces_to_the_bit(parts) -> None:  # type: ignore[no-untyped-def]
    model, _ = parts
    expected = BufferedSteps(model, 16, Cancellation())
    for piece in ((5, 9), (14,), (3,)):
        expected.step(piece)
    steps = PiecewiseSteps(model, 16, (2, 1, 1))
    assert expected.prefill((22, 7, 8), 2).tobytes() == steps.prefill((5, 9, 14, 3, 22, 7, 8), 2).tobytes()
    assert [2, 1, 1, 2, 1] == expected.pieces == steps.pieces


def test_the_public_part_holds_neither_prompt_nor_tokens(parts, receipt: bytes) -> None:  # type: ignore[no-untyped-def]
    public = json.loads(parse_generation_receipt(receipt).public_json())
    assert not {"prompt", "tokens", "stops"} & public.keys()
    assert "." not in receipt.decode().replace(".gguf", "").replace(public["ortVersion"], "")  # no float


@pytest.mark.parametrize(
    ("field", "value", "subject"),
    [
        ("files", {"llama.gguf": "0" * 64}, "files"),
        ("positions", 64, "positions"),
        ("eosIds", [1], "eosIds"),
        ("seed", 78, "tokens"),
        ("prompt", [5, 9], "promptSha256"),
        ("tokens", [1], "outputSha256"),
        ("promptSha256", "0" * 64, "promptSha256"),
        ("textSha256", "0" * 64, "textSha256"),
        ("stop", "eos", "stop"),
        ("maxNew", 10**9, "prompt"),
        ("promptTokens", 6, "promptTokens"),
        ("nearTies", [3], "nearTies"),
    ],
)
def test_a_changed_receipt_is_found_out(field: str, value: object, subject: str, parts, receipt: bytes) -> None:  # type: ignore[no-untyped-def]
    assert ("different", subject) == verdict(parts, json.loads(receipt) | {field: value})


def test_other_tokens_with_a_digest_to_match_are_found_out(parts, receipt: bytes) -> None:  # type: ignore[no-untyped-def]
    from tokenling.runtime.receipts import ids_sha256

    document = json.loads(receipt)
    tokens = [*document["tokens"][:-1], (document["tokens"][-1] + 1) % 48]
    kind, subject = verdict(parts, document | {"tokens": tokens, "outputSha256": ids_sha256(tokens)})
    assert subject == "tokens"
    assert kind in ("different", "near_tie")


@pytest.mark.parametrize(("field", "value"), [("numerics", "fast"), ("provider", "CUDAExecutionProvider")])
def test_what_was_made_otherwise_is_not_provable_here(field: str, value: str, parts, receipt: bytes) -> None:  # type: ignore[no-untyped-def]
    assert ("not_provable_here", field) == verdict(parts, json.loads(receipt) | {field: value})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"generationReceiptVersion": 2}, "receipt_version"),
        ({"prompt": None}, "receipt_field"),
        ({"processor": [None]}, "receipt_field"),
        ({"decodeMicros": -1}, "receipt_field"),
        ({"positions": -1}, "receipt_field"),
        ({"prompt": ["a"]}, "receipt_field"),
        ({"prompt": [-1]}, "receipt_field"),
        ({"prompt": [True]}, "receipt_field"),
        ({"tokens": [2**40]}, "receipt_field"),
        ({"stops": [1]}, "receipt_field"),
        ({"stop": "because"}, "receipt_field"),
        ({"seed": "7"}, "receipt_field"),
        ({"ignoreEos": 1}, "receipt_field"),
        ({"pieces": [3]}, "receipt_field"),
        ({"pieces": [[3]]}, "receipt_field"),
        ({"pieces": [[0, 1]]}, "receipt_field"),
        ({"pieces": [[1, -1]]}, "receipt_field"),
        ({"pieces": [[1, True]]}, "receipt_field"),
        ({"pieces": [["1", 1]]}, "receipt_field"),
        ({"pieces": [[5, 1]]}, "receipt_field"),  # the whole prompt: nothing left to choose from
        ({"pieces": [[1, 2**53]]}, "receipt_field"),
        ({"more": 1}, "receipt_field"),
    ],
)
def test_what_is_no_receipt_is_refused(change: dict[str, object], code: str, receipt: bytes) -> None:
    with pytest.raises(ReceiptRefused) as caught:
        parse_generation_receipt(json.dumps(json.loads(receipt) | change).encode())
    assert code == caught.value.code


def test_a_public_receipt_is_refused(receipt: bytes) -> None:
    with pytest.raises(ReceiptRefused, match="receipt_public"):
        parse_generation_receipt(parse_generation_receipt(receipt).public_json())


def test_a_refusal_quotes_nothing_of_the_prompt(receipt: bytes) -> None:
    document = json.loads(receipt) | {"prompt": ["a secret"]}
    with pytest.raises(ReceiptRefused) as caught:
        parse_generation_receipt(json.dumps(document).encode())
    assert "secret" not in str(caught.value)
    assert PROMPT
