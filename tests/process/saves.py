"""Saves of pets whose next minutes are known, made by the engine's own rules."""

import json
import time

from tokenling import engine

DAYS_MS = 3 * 86_400_000
SEEDS_MAX = 500


def now_ms():
    return time.time_ns() // 1_000_000


def zone_where_it_is_ten(at_ms):
    """A fixed-offset zone in which the pet is awake in the middle of its day."""
    ahead = (10 - at_ms // 3_600_000 % 24 + 12) % 24 - 12
    return f"Etc/GMT{-ahead:+d}" if ahead else "Etc/UTC"


def grown_pet(brain_id, seed="otter", *, chatter=0):
    """A local pet of three days, awake, none of whose turns is due now."""
    now = now_ms()
    zone = zone_where_it_is_ten(now)
    state = engine.new_pet(
        pet_seed=seed, name="Pip", time_zone=zone, brain_id=brain_id, weather_seed="w", now_ms=now - DAYS_MS
    )
    command = engine.parse_command({"kind": "settings", "chatter": chatter})
    state = engine.apply_command(state, command, now - DAYS_MS).state
    while (step := engine.advance(state, now)).turn is not None:
        state = engine.skip_turn(step.state, step.turn, "stopped").state
    return step.state


def as_json(state):
    return json.loads(engine.dump_save(state))


def quiet_save(brain_id, seed="otter"):
    """A pet that says nothing unless it is spoken to."""
    return as_json(grown_pet(brain_id, seed))


def save_with_an_idle_turn(brain_id, *, within_ms, not_before_ms=5_000):
    """(save, when): moved in now, this pet has a turn of its own at `when` and not one before."""
    now = now_ms()
    for number in range(SEEDS_MAX):
        state = grown_pet(brain_id, f"otter-{number}", chatter=4)
        hosting = engine.hosting_of(state)
        moved = engine.rehome(state, mode="remote", time_zone=hosting.time_zone, brain_id=brain_id, now_ms=now).state
        turn = engine.advance(moved, now + within_ms).turn
        if turn is not None and turn.kind == "idle" and turn.at_ms >= now + not_before_ms:
            return as_json(state), turn.at_ms
    raise AssertionError(f"no pet of {SEEDS_MAX} has an idle turn within {within_ms} ms")
