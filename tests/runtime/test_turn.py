"""A pet's request as a plan: what fits, what goes first, what is refused."""

import math
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokenling.engine.request import GenerationRequest, prompt_text
from tokenling.runtime import Brain, Generation, GenerationRefused, Sampling, plan_turn, reply_of
from tokenling.runtime.tokenizer import Tokenizer
from tokenling.runtime.turn import fit_prompt


def prompt_of(brain: Brain, request: GenerationRequest) -> str:
    return brain.tokenizer.decode(plan_turn(request, brain).prompt_ids)


def tokens(brain: Brain, text: str) -> int:
    return len(brain.tokenizer.encode(text))


def test_a_request_that_fits_is_asked_whole(brain: Brain, pet_request: GenerationRequest) -> None:
    assert prompt_of(brain, pet_request) == "You are Pip.\nOwner: hello Pip\nPip: I am well!\nPip:"


def test_the_plan_says_what_the_request_says(brain: Brain, pet_request: GenerationRequest) -> None:
    plan = plan_turn(pet_request, brain)
    assert Sampling(850, 40, 920, 1) == plan.sampling
    assert (48, ("\n",), pet_request.tags, 3) == (plan.max_new, plan.stops, plan.constraint, plan.insertions_max)
    assert {"[look weather]": brain.tokenizer.encode("(rain)"), "[look time]": brain.tokenizer.encode("(morning)")} == (
        plan.insertions
    )
    assert plan_turn(replace(pet_request, mode="diary"), brain).stops == ("\n\n",)


def test_an_answer_to_a_tag_that_is_not_legal_is_never_inserted(brain: Brain, pet_request: GenerationRequest) -> None:
    assert plan_turn(replace(pet_request, tags=("[eat]",)), brain).insertions == {}


def test_the_least_of_three_bounds_holds(brain: Brain, pet_request: GenerationRequest) -> None:
    lines = tuple(f"Owner: line number {n} of the talk" for n in range(300))
    for ctx, max_new, budget in ((1024, 48, 512 - 48), (2**20, 100, 512 - 100), (200, 48, 152), (512, 511, 1)):
        request = replace(pet_request, header="", prefix="P", lines=lines, ctx=ctx, max_new=max_new)
        plan = plan_turn(request, brain)
        assert len(plan.prompt_ids) <= budget
        longest = max(tokens(brain, line + "\n") for line in lines)
        assert budget - len(plan.prompt_ids) <= longest + 2  # nothing that would have fitted was dropped


def test_the_pets_own_bound_holds_for_a_model_of_more_positions(brain: Brain, pet_request: GenerationRequest) -> None:
    lines = ("Owner: hello",) * 2000
    wide = replace(brain, config=replace(brain.config, positions_max=8192))
    plan = plan_turn(replace(pet_request, lines=lines, ctx=4096), wide)
    assert 1024 - 48 - 10 < len(plan.prompt_ids) <= 1024 - 48


def test_the_oldest_lines_go_first(brain: Brain, pet_request: GenerationRequest) -> None:
    lines = tuple(f"line {n}" for n in range(200))
    text = prompt_of(brain, replace(pet_request, lines=lines, ctx=200))
    kept = [line for line in lines if f"{line}\n" in text]
    assert 0 < len(kept) < 200
    assert lines[-len(kept) :] == tuple(kept)
    assert text.startswith("You are Pip.\n")
    assert text.endswith("Pip:")


def test_the_boundary_is_exact(brain: Brain, pet_request: GenerationRequest) -> None:
    request = replace(pet_request, lines=("Owner: hello", "Pip: hi"))
    whole = tokens(brain, prompt_text(request.header, request.lines, request.prefix))
    assert whole == len(fit_prompt(request, brain.tokenizer, whole))
    assert whole > len(fit_prompt(request, brain.tokenizer, whole - 1))
    bare = replace(request, lines=())
    least = tokens(brain, prompt_text(bare.header, (), bare.prefix))
    assert least == len(fit_prompt(bare, brain.tokenizer, least))
    with pytest.raises(GenerationRefused) as refusal:
        fit_prompt(bare, brain.tokenizer, least - 1)
    assert refusal.value.code == "does_not_fit"


class Quarrelsome:
    """Counts a character a token, and two more for every line behind another: pieces count less than the whole."""

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(range(len(text) + 2 * max(0, text.count("\n") - 1)))

    def tokens_max(self, _text: str) -> float:
        return math.inf


@pytest.mark.parametrize("budget", range(20, 140, 7))
def test_a_joined_text_that_came_out_longer_loses_further_lines(pet_request: GenerationRequest, budget: int) -> None:
    tokenizer = cast("Tokenizer", Quarrelsome())
    lines = tuple(f"line {n}" for n in range(12))
    request = replace(pet_request, header="Pip.", prefix="Pip:", lines=lines)
    fits = [
        n for n in range(13) if len(tokenizer.encode(prompt_text(request.header, lines[n:], request.prefix))) <= budget
    ]
    expected = tokenizer.encode(prompt_text(request.header, lines[min(fits) :], request.prefix))
    assert expected == fit_prompt(request, tokenizer, budget)


def test_a_budget_that_leaves_no_prompt_is_refused(brain: Brain, pet_request: GenerationRequest) -> None:
    for changes in ({"max_new": 512}, {"ctx": 10}, {"max_new": 1024}):
        with pytest.raises(GenerationRefused) as refusal:
            plan_turn(replace(pet_request, **changes), brain)
        assert refusal.value.code == "does_not_fit"


def test_a_refusal_quotes_no_words(brain: Brain, pet_request: GenerationRequest) -> None:
    with pytest.raises(GenerationRefused) as refusal:
        plan_turn(replace(pet_request, header="secret " * 400), brain)
    assert "secret" not in str(refusal.value)


def test_a_request_of_nothing_is_refused(brain: Brain, pet_request: GenerationRequest) -> None:
    with pytest.raises(GenerationRefused) as refusal:
        plan_turn(replace(pet_request, header="", lines=(), prefix=""), brain)
    assert refusal.value.code == "prompt_empty"


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=30),
    ctx=st.integers(60, 300),
    max_new=st.integers(1, 50),
)
def test_whatever_is_asked_fits_or_is_refused(
    brain: Brain, pet_request: GenerationRequest, *, lines: list[str], ctx: int, max_new: int
) -> None:
    request = replace(pet_request, lines=tuple(lines), ctx=ctx, max_new=max_new)
    try:
        plan = plan_turn(request, brain)
    except GenerationRefused as refusal:
        assert refusal.code == "does_not_fit"  # noqa: PT017 - either outcome is right
        return
    assert len(plan.prompt_ids) + max_new <= min(ctx, 512)
    text = brain.tokenizer.decode(plan.prompt_ids)
    assert any(text == prompt_text(request.header, request.lines[n:], request.prefix) for n in range(len(lines) + 1))


def test_what_an_owner_types_is_never_read_as_a_special_token(brain: Brain) -> None:
    ids = brain.tokenizer.encode("<eos><pad>")
    assert not {0, 1} & set(ids)
    assert brain.tokenizer.decode(ids) == "<eos><pad>"


def test_the_reply_is_what_the_generation_says() -> None:
    reply = reply_of(Generation((5, 6), "hi [look time]", "newline", ("[look time]",), 1.0, 2.0))
    assert (reply.text, reply.stop, reply.lookups_used) == ("hi [look time]", "newline", ("[look time]",))
