"""What the engine is asked to do, timed: runs under CPython and, as one source text, under Pyodide.

Nothing but the engine and the standard library is imported, so that this file can be handed to either.
"""

import json
import time
from collections.abc import Callable
from statistics import median

from tokenling.engine import (
    Reply,
    Settings,
    State,
    Turn,
    advance,
    apply_command,
    apply_reply,
    build_request,
    due_ms,
    dump_save,
    load_save,
    new_pet,
    parse_command,
    pending_turn,
    skip_turn,
)

START_MS = 1_781_172_000_000
"""2026-06-11 10:00 UTC."""
DAY_MS = 86_400_000
MINUTE_MS = 60_000
LONG_DAYS = 30
LIVED_DAYS = 20
ROUNDS = 15
LONG_ROUNDS = 5
BURST = 20
"""Calls timed as one: a single one is near the clock's own step in a browser."""


def newborn() -> State:
    """An egg that its owner touched: hatched, without chatter."""
    pet = new_pet(
        pet_seed="fern", name="Pip", time_zone="Europe/Berlin", brain_id="b", weather_seed="", now_ms=START_MS
    )
    return apply_command(pet, Settings(chatter=0), START_MS).state


def without_turns(state: State, to_ms: int) -> State:
    """Time passes; the diary's turns are given up."""
    step = advance(state, to_ms)
    while step.turn is not None:
        step = advance(skip_turn(step.state, step.turn, "stopped").state, to_ms)
    return step.state


def lived() -> State:
    """A pet of twenty days at normal chatter, looked after daily: its lists are full."""
    state = apply_command(newborn(), Settings(chatter=2), START_MS).state
    for day in range(1, LIVED_DAYS + 1):  # by the day: of a longer absence most slots would be skipped by rule
        step = advance(state, START_MS + day * DAY_MS)
        while step.turn is not None:
            step = advance(apply_reply(step.state, step.turn, words(step.turn)).state, START_MS + day * DAY_MS)
        state = step.state
    return state


def words(turn: Turn) -> Reply:
    """Some words with a deed and now and then a memory."""
    memory = f" [remember day {turn.at_ms // DAY_MS}]" if turn.seed % 5 == 0 else ""
    return Reply(f"[play][happy] A good day for a walk in the garden.{memory}", "newline", ())


def times(work: Callable[[], object], rounds: int, burst: int) -> dict[str, object]:
    """Median and best of some rounds, in milliseconds a call."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(burst):
            work()
        taken.append((time.perf_counter() - began) * 1000 / burst)
    return {"medianMs": round(median(taken), 3), "bestMs": round(min(taken), 3)}


def measured() -> str:
    """Every piece of work with its times, as JSON."""
    adult = without_turns(newborn(), START_MS + 40 * DAY_MS)
    long_ms = adult.body_clock_ms + LONG_DAYS * DAY_MS
    assert without_turns(adult, long_ms).minutes_lived - adult.minutes_lived == LONG_DAYS * 1440
    pet = lived()
    now_ms = pet.body_clock_ms
    say = parse_command({"kind": "say", "text": "Where is the kite?"})
    said = apply_command(pet, say, now_ms).state
    turn = pending_turn(said)
    assert turn is not None
    save = dump_save(pet)
    found: dict[str, dict[str, object]] = {
        "30 days without turns": times(lambda: without_turns(adult, long_ms), LONG_ROUNDS, 1),
        "a minute": times(lambda: advance(pet, now_ms + MINUTE_MS), ROUNDS, BURST),
        "a command (words)": times(lambda: apply_command(pet, say, now_ms), ROUNDS, BURST),
        "a prompt": times(lambda: build_request(said, turn), ROUNDS, BURST),
        "a reply": times(lambda: apply_reply(said, turn, words(turn)), ROUNDS, BURST),
        "when it is due next": times(lambda: due_ms(pet), ROUNDS, BURST),
        f"writing a save of {len(save) // 1000} KB": times(lambda: dump_save(pet), ROUNDS, 4),
        "reading it": times(lambda: load_save(save), ROUNDS, 4),
    }
    return json.dumps(found)
