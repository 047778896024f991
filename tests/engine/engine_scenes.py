"""Pets for the engine's tests, and an executor that answers turns with words keyed by their ids."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tokenling.engine import (
    Reply,
    State,
    Step,
    Turn,
    advance,
    apply_command,
    apply_reply,
    new_pet,
    parse_command,
    pending_turn,
    skip_turn,
)
from tokenling.engine.contract import words_for
from tokenling.engine.jsonvalue import JsonValue

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NOON = 1_781_172_000_000
"""2026-06-11 12:00 in Berlin (10:00 UTC)."""

Answer = Callable[[State, Turn], Reply]


def egg(*, seed: str = "fern", zone: str = "Europe/Berlin", at_ms: int = NOON, name: str = "Pip") -> State:
    return new_pet(pet_seed=seed, name=name, time_zone=zone, brain_id="sprout-0", weather_seed="sky", now_ms=at_ms)


def say(text: str = "hello") -> JsonValue:
    return {"kind": "say", "text": text}


def care(action: str) -> JsonValue:
    return {"kind": "care", "action": action}


def offer(kind: str, item: str | None = None) -> JsonValue:
    return {"kind": "offer", "offer": kind} | ({} if item is None else {"item": item})


def do(state: State, command: JsonValue, at_ms: int) -> Step:
    return apply_command(state, parse_command(command), at_ms)


def reply(text: str) -> Reply:
    return Reply(text, "newline", ())


def awake(*, seed: str = "fern", zone: str = "Europe/Berlin", at_ms: int = NOON, chatter: int = 0) -> State:
    """A hatched pet at noon with nothing pending, chatter off unless asked for."""
    step = do(egg(seed=seed, zone=zone, at_ms=at_ms), {"kind": "settings", "chatter": chatter}, at_ms)
    assert step.turn is None
    return step.state


def asleep(state: State) -> State:
    return replace(state, asleep=True, place="nest")


def keyed(_: State, turn: Turn) -> Reply:
    return words_for("tests", turn)


def live(state: State, to_ms: int, answer: Answer = keyed) -> State:
    """One catch-up: every due turn up to `to_ms` is answered."""
    step = advance(state, to_ms)
    while step.turn is not None:
        step = advance(apply_reply(step.state, step.turn, answer(step.state, step.turn)).state, to_ms)
    return step.state


def live_often(state: State, stops_ms: Sequence[int], answer: Answer = keyed) -> State:
    for stop_ms in stops_ms:
        state = live(state, stop_ms, answer)
    return state


def quietly(state: State, to_ms: int) -> State:
    """Time passes and every turn is given up."""
    step = advance(state, to_ms)
    while step.turn is not None:
        step = advance(skip_turn(step.state, step.turn, "stopped").state, to_ms)
    return step.state


def answered(state: State, text: str) -> State:
    turn = pending_turn(state)
    assert turn is not None
    return apply_reply(state, turn, reply(text)).state


def kinds(state: State) -> list[str]:
    return [event.kind for event in state.events]
