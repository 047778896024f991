"""A conversation over a model's caches writes what the whole conversation, run anew, would."""

from pathlib import Path

import numpy as np
import pytest
from tiny_tokenizer import EOS, tiny_tokenizer

from tokenling.gguf import (
    BufferedSteps,
    Chat,
    ContextOverflow,
    Wanted,
    brain_of,
    generate,
    open_gguf,
    open_model,
    room_for,
    score,
)
from tokenling.gguf.model import Model
from tokenling.runtime import Cancellation, DecodePlan, GenerationRefused, Lane, LaneFailed, Sampling, open_lane

MODELS = Path(__file__).parent / "models"
DRAWN = Sampling(900, 20, 950, 7)
WANTED = Wanted(6, 6, DRAWN)


def opened(numerics: str = "exact", rows: str = "last", name: str = "qwen3") -> tuple[Model, Lane]:
    with open_gguf(MODELS / f"{name}.gguf") as file:
        model = open_model(file, numerics=numerics, rows=rows, digests=True)  # type: ignore[arg-type]
    return model, open_lane(brain_of(model, tiny_tokenizer(), (EOS,), brain_id="tiny"))


def prompt_of(messages):  # type: ignore[no-untyped-def]
    """A token a letter, as the tiny tokenizer writes them, and one that begins each message and the reply."""
    return [47, *(token for message in messages for token in (45, *(ord(c) - 64 for c in message["content"]))), 45]


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_later_turn_writes_what_the_whole_conversation_would(numerics: str) -> None:
    model, lane = opened(numerics)
    chat = Chat(model, lane, prompt_of)
    for text in ("ABC", "DE", "FGHI"):
        turn = chat.ask(text, WANTED, cancel=Cancellation())
        fresh = generate(model, lane, turn.plan)
        if numerics == "exact":  # 'fast' multiplies by int8 activations: pieces of another length round otherwise
            assert fresh.token_ids == turn.generation.token_ids
        assert 6 == len(turn.generation.token_ids)
    assert 6 == len(chat.messages)
    # all but the last reply's last token, the question behind it and the reply's beginning
    assert len(turn.plan.prompt_ids) - 1 - (1 + len("FGHI")) - 1 == turn.kept_tokens


def test_what_a_template_tells_otherwise_is_run_anew() -> None:
    model, lane = opened()
    chat = Chat(model, lane, lambda messages: prompt_of(messages[-1:]))  # forgets all but the last message
    first = chat.ask("ABCDEF", WANTED, cancel=Cancellation())
    second = chat.ask("ABCXYZ", WANTED, cancel=Cancellation())
    assert (0, 0) == (first.kept_tokens, second.kept_tokens)  # the prompt came in one piece, and whole pieces stay
    assert generate(model, lane, second.plan).token_ids == second.generation.token_ids


def test_fast_caches_are_kept_within_a_piece() -> None:
    model, lane = opened("fast")
    chat = Chat(model, lane, lambda messages: prompt_of(messages[-1:]))
    chat.ask("ABCDEF", WANTED, cancel=Cancellation())
    assert len([47, 45, 1, 2, 3]) == chat.ask("ABCXYZ", WANTED, cancel=Cancellation()).kept_tokens


def test_a_refusal_changes_nothing() -> None:
    model, lane = opened()
    chat = Chat(model, lane, prompt_of)
    chat.ask("ABC", WANTED, cancel=Cancellation())
    before = chat.messages, chat.tokens
    with pytest.raises(ContextOverflow) as caught:
        chat.ask("A" * 200, WANTED, cancel=Cancellation())
    assert (6, chat.context) == (caught.value.new_tokens, caught.value.context)
    assert caught.value.prompt_tokens > 200
    with pytest.raises(GenerationRefused):
        chat.ask("ABC", Wanted(6, 6, DRAWN, stops=("",)), cancel=Cancellation())
    assert before[0] == chat.messages
    assert chat.ask("DE", WANTED, cancel=Cancellation()).kept_tokens > 0


def test_a_cancelled_reply_stays_as_far_as_it_came_and_the_next_goes_on() -> None:
    model, lane = opened()
    chat = Chat(model, lane, prompt_of)
    cancel = Cancellation()
    turn = chat.ask("ABC", Wanted(20, 20, DRAWN), cancel=cancel, on_token=lambda _piece: cancel.cancel())
    assert "cancelled" == turn.generation.stop
    assert turn.generation.text == chat.messages[-1]["content"]
    after = chat.ask("DE", WANTED, cancel=Cancellation())
    assert generate(model, lane, after.plan).token_ids == after.generation.token_ids


def test_one_that_was_cancelled_before_it_began_leaves_no_message() -> None:
    model, lane = opened()
    chat = Chat(model, lane, prompt_of)
    cancel = Cancellation()
    cancel.cancel()
    assert () == chat.ask("ABC", WANTED, cancel=cancel).generation.token_ids
    assert ((), 0) == (chat.messages, chat.tokens)


def test_a_turn_that_failed_leaves_the_conversation_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model, lane = opened()
    chat = Chat(model, lane, prompt_of)
    chat.ask("ABC", WANTED, cancel=Cancellation())
    before = chat.messages
    whole = BufferedSteps.step

    def fail(self: BufferedSteps, ids: tuple[int, ...]) -> np.ndarray:
        row = whole(self, ids)
        return np.full_like(row, np.nan) if len(ids) == 1 else row

    with monkeypatch.context() as patch:
        patch.setattr(BufferedSteps, "step", fail)
        with pytest.raises(LaneFailed):
            chat.ask("DE", WANTED, cancel=Cancellation())
    assert before == chat.messages
    after = chat.ask("DE", WANTED, cancel=Cancellation())
    assert generate(model, lane, after.plan).token_ids == after.generation.token_ids


@pytest.mark.parametrize(
    ("prompt", "asked", "most", "context", "expected"),
    [(4000, None, 256, 4096, 96), (10, None, 256, 4096, 256), (10, 20, 256, 4096, 20), (10, 0, 256, 10, 0),
     (9, None, 256, 10, 1), (10, 6, 256, 16, 6)],
)  # fmt: skip
def test_the_room_behind_a_prompt(prompt: int, asked: int | None, most: int, context: int, expected: int) -> None:
    assert expected == room_for(prompt, asked, most, context)


@pytest.mark.parametrize(("prompt", "asked", "context"), [(10, None, 10), (10, 7, 16), (11, 0, 10), (2**30, None, 16)])
def test_no_room_is_an_overflow_with_its_numbers(prompt: int, asked: int | None, context: int) -> None:
    with pytest.raises(ContextOverflow, match=f"{prompt} tokens of prompt") as caught:
        room_for(prompt, asked, 256, context)
    assert (prompt, context) == (caught.value.prompt_tokens, caught.value.context)


# ---- scores


def test_scores_are_log_shares_of_the_plain_steps_logits() -> None:
    ids = (5, 9, 14, 3, 22, 30)
    model, _ = opened(rows="all", name="gemma3")
    rows = BufferedSteps(model, 16, Cancellation()).rows(ids).astype(np.float64)
    shares = np.exp(rows) / np.exp(rows).sum(-1, keepdims=True)
    expected = np.log([shares[place, token] for place, token in enumerate(ids[1:])])
    found = score(model, ids)
    assert expected == pytest.approx(found.logprobs, abs=1e-6)
    assert -expected.mean() == pytest.approx(found.nll)
    assert np.exp(-expected.mean()) == pytest.approx(found.perplexity)


@pytest.mark.parametrize(("ids", "code"), [((), "text_short"), ((5,), "text_short"), ((5, 48), "id_range"),
                                           ((5, -1), "id_range"), ((5,) * 200, "context_overflow")])  # fmt: skip
def test_what_cannot_be_scored_is_refused(ids: tuple[int, ...], code: str) -> None:
    with pytest.raises(GenerationRefused) as caught:
        score(opened(rows="all")[0], ids)
    assert code == caught.value.code


def test_the_plan_of_a_turn_is_the_whole_conversations() -> None:
    model, lane = opened()
    turn = Chat(model, lane, prompt_of).ask("ABC", WANTED, cancel=Cancellation())
    assert isinstance(turn.plan, DecodePlan)
    assert tuple(prompt_of([{"content": "ABC"}])) == turn.plan.prompt_ids
