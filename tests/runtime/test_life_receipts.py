"""A life lived by the shipped brain, turn after turn, and every turn of it proved again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokenling
from tokenling.cli.brain_files import SHIPPED_BRAIN
from tokenling.engine import (
    GenerationRequest,
    advance,
    apply_command,
    apply_reply,
    build_request,
    new_pet,
    parse_command,
)
from tokenling.runtime import (
    Brain,
    Generation,
    Verdict,
    decode,
    make_receipt,
    open_brain,
    open_lane,
    plan_turn,
    reply_of,
    verify,
)
from tokenling.runtime.receipts import parse_owner_receipt

SHIPPED = Path(tokenling.__file__).parent / "brains" / SHIPPED_BRAIN
NOON_MS = 1_781_172_000_000
QUARTER_MS = 900_000
TURNS = 100
SAID = ("hello Pip", "what is the weather?", "do you remember me?", "good night", "are you hungry?", "tell me a story")


@pytest.fixture(scope="module")
def shipped() -> Brain:
    return open_brain(SHIPPED)


def lived(brain: Brain) -> Iterator[tuple[GenerationRequest, Generation, bytes]]:
    """The turns of a life in which the owner looks in every quarter of an hour: request, what was written, receipt."""
    lane = open_lane(brain)
    state = new_pet(
        pet_seed="fern", name="Pip", time_zone="Europe/Berlin", brain_id=brain.id, weather_seed="sky", now_ms=NOON_MS
    )
    for quarter in range(TURNS * 10):
        step = advance(state, NOON_MS + quarter * QUARTER_MS)
        while step.turn is not None:
            request = build_request(step.state, step.turn)
            plan = plan_turn(request, brain)
            generation = decode(lane, plan)
            yield request, generation, make_receipt(plan, generation, brain, lane, request=request).owner_json()
            after = apply_reply(step.state, step.turn, reply_of(generation)).state
            step = advance(after, NOON_MS + quarter * QUARTER_MS)
        state = step.state
        if quarter % 2:
            command = parse_command({"kind": "say", "text": SAID[quarter // 2 % len(SAID)]})
            state = apply_command(state, command, NOON_MS + quarter * QUARTER_MS).state


def first_turns(brain: Brain, count: int) -> list[tuple[GenerationRequest, Generation, bytes]]:
    turns = [turn for turn, _ in zip(lived(brain), range(count), strict=False)]
    assert len(turns) == count
    return turns


def test_every_turn_of_a_life_is_identical_when_it_runs_again(shipped: Brain) -> None:
    turns = first_turns(shipped, TURNS)
    assert len({request.mode for request, _, _ in turns}) == 2  # a diary page was among them
    assert len({generation.token_ids for _, generation, _ in turns}) > TURNS // 2
    assert [Verdict("identical")] * TURNS == [verify(receipt, shipped) for _, _, receipt in turns]


def test_the_turns_of_a_life_are_identical_on_two_threads(shipped: Brain) -> None:
    two = open_brain(SHIPPED, threads=2)
    assert [Verdict("identical")] * 10 == [verify(receipt, two) for _, _, receipt in first_turns(shipped, 10)]


def test_a_turn_writes_the_same_after_a_hundred_others(shipped: Brain) -> None:
    lane = open_lane(shipped)
    turns = first_turns(shipped, TURNS)
    request, generation, _ = turns[0]
    for other, _, _ in turns[1:]:
        decode(lane, plan_turn(other, shipped))
    assert generation.token_ids == decode(lane, plan_turn(request, shipped)).token_ids


def test_a_turns_receipt_quotes_nobody_but_in_the_owners_copy(shipped: Brain) -> None:
    _, _, receipt = first_turns(shipped, 1)[0]
    public = json.loads(parse_owner_receipt(receipt).public_json())
    assert {"request", "tokens"} == set(json.loads(receipt)) - set(public)
