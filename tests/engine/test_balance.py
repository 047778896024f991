"""The balance is a pleasure: a few wishes a day, a weekend forgiven, nobody dies, nights are slept.

A sensible pet (it eats when hungry, washes when grubby) stands for a brain.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import pytest
from engine_scenes import DAY, HOUR, MINUTE, awake, do, live, reply, say

from tokenling.engine import Reply, State, Turn, advance, apply_reply, balance, build_request, skip_turn
from tokenling.engine.draws import draw
from tokenling.engine.jsonvalue import JsonValue
from tokenling.engine.state import Body

SPRING = 1_777_593_600_000
"""2026-05-01 in UTC."""
FEED: JsonValue = {"kind": "care", "action": "feed"}
WASH: JsonValue = {"kind": "care", "action": "wash"}
STROKE: JsonValue = {"kind": "care", "action": "stroke"}
ATTENTIVE = ((8, FEED), (9, say()), (13, FEED), (17, STROKE), (18, WASH), (19, FEED))
BUSY = ((19, FEED), (19, say()))


def sensible(state: State, turn: Turn) -> Reply:
    tags = build_request(state, turn).tags
    needs = (
        ("[accept]", True),
        ("[eat]", state.body.fullness < 350_000),
        ("[explore]", state.body.fullness < 350_000 and draw("b", "hungry", turn.id, 2) == 0),
        ("[wash]", state.body.hygiene < 350_000 and draw("b", "grubby", turn.id, 2) == 0),
    )
    for tag, needed in needs:
        if needed and tag in tags:
            return reply(f"{tag} good")
    playful = [tag for tag in ("[play]", "[sing]", "[explore]", "[draw]", "[go garden]", "[go nest]") if tag in tags]
    return reply(f"{playful[draw('b', 'idle', turn.id, len(playful))]} la" if playful else "mmh")


@dataclass(slots=True)
class Week:
    """What a simulated stretch of days showed, hour by hour."""

    state: State
    bodies: list[Body]
    asleep_at: dict[int, int]
    wants: int


def lived_days(seed: str, acts: tuple[tuple[int, JsonValue], ...], days: int) -> Week:
    state = awake(seed=seed, zone="Etc/UTC", at_ms=SPRING, chatter=2)
    week = Week(state, [], dict.fromkeys(range(24), 0), 0)
    wanted = 0
    for hour in range(1, days * 24):
        now_ms = SPRING + hour * HOUR
        state = live(state, now_ms, sensible)
        for at, command in acts:
            if at == hour % 24:
                state = live(with_turns_given_up(state, command, now_ms), now_ms, sensible)
        week.bodies.append(state.body)
        week.asleep_at[hour % 24] += state.asleep
        fresh = [effect.id for effect in state.effects if effect.kind == "want" and effect.id > wanted]
        week.wants += len(fresh)
        wanted = max([wanted, *fresh])
    week.state = state
    return week


def with_turns_given_up(state: State, command: JsonValue, now_ms: int) -> State:
    step = advance(state, now_ms)
    while step.turn is not None and step.turn.kind == "idle":
        step = advance(skip_turn(step.state, step.turn, "owner_came").state, now_ms)
    return do(step.state, command, now_ms).state


@pytest.mark.parametrize("seed", ["fern", "moss", "ivy"])
def test_an_attentive_owner_has_a_glad_pet_that_asks_for_little(seed: str) -> None:
    week = lived_days(seed, ATTENTIVE, 14)
    assert week.wants <= 3 * 14
    moods = sorted(body.mood for body in week.bodies)
    assert moods[len(moods) // 2] > 650_000
    assert week.state.body.bond > 500_000
    assert week.state.stage in {"child", "adult"}
    assert len(week.state.diary) in {13, 14, 15}


@pytest.mark.parametrize("seed", ["fern", "moss", "ivy"])
def test_a_busy_owner_is_asked_two_or_three_times_a_day(seed: str) -> None:
    week = lived_days(seed, BUSY, 14)
    assert 1 * 14 <= week.wants <= 4 * 14
    moods = sorted(body.mood for body in week.bodies)
    assert moods[len(moods) // 2] > 400_000


@pytest.mark.parametrize("seed", ["fern", "moss", "ivy"])
def test_an_absent_owner_finds_a_quiet_pet_that_lives_and_was_not_begged_for(seed: str) -> None:
    week = lived_days(seed, (), 10)
    assert week.wants <= 12
    for name in (field.name for field in fields(Body) if field.name != "extra"):
        values = [getattr(body, name) for body in week.bodies]
        stuck = sum(value <= balance.METER_FLOOR or value >= 1_000_000 for value in values)
        assert stuck <= len(values) // 4, name
    assert min(body.mood for body in week.bodies) > 150_000


@pytest.mark.parametrize("acts", [ATTENTIVE, BUSY, ()], ids=["attentive", "busy", "absent"])
def test_nights_are_slept_and_days_are_not(acts: tuple[tuple[int, JsonValue], ...]) -> None:
    week = lived_days("fern", acts, 14)
    assert all(week.asleep_at[hour] >= 12 for hour in (23, 0, 1, 2, 3))
    assert all(week.asleep_at[hour] <= 3 for hour in (9, 10, 11, 14, 15, 16, 18, 19))


def test_a_weekend_alone_is_forgiven_within_an_hour_of_care() -> None:
    state = lived_days("fern", ATTENTIVE, 5).state
    monday_ms = SPRING + 5 * DAY + 60 * HOUR
    state = live(state, monday_ms, sensible)
    for number, command in enumerate((FEED, WASH, STROKE, FEED, say("I missed you"))):
        at_ms = monday_ms + number * MINUTE
        state = live(with_turns_given_up(state, command, at_ms), at_ms, sensible)
    state = live(state, monday_ms + HOUR, sensible)
    assert state.body.fullness > 650_000
    assert state.body.mood > 550_000
    assert state.body.bond > 300_000


def test_the_balance_is_one_table_of_integers() -> None:
    def numbers(value: object) -> list[object]:
        if isinstance(value, Mapping):
            return [number for held in value.values() for number in numbers(held)]
        if isinstance(value, tuple):
            return [number for held in value for number in numbers(held)]
        return [value]

    named = {name: value for name, value in vars(balance).items() if name.isupper()}
    assert len(named) > 50
    for name, value in named.items():
        assert all(type(number) in {int, str} for number in numbers(value)), name
    for name in ("SLEEP_BELOW_BY_HOUR", "WAKE_ABOVE_BY_HOUR", "DAY_PART_BY_HOUR"):
        assert len(named[name]) == 24


def test_no_want_is_left_by_a_fed_clean_warm_visited_pet() -> None:
    state = replace(awake(at_ms=SPRING), want_ms=0)
    state = replace(state, body=replace(state.body, fullness=900_000, hygiene=900_000, warmth=800_000))
    step = advance(state, SPRING + 2 * HOUR)
    while step.turn is not None:
        step = advance(apply_reply(step.state, step.turn, reply("la")).state, SPRING + 2 * HOUR)
    assert step.state.want is None
