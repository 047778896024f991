"""Whatever the declarations allow, the rules can live with: a save that passes the check never becomes one that fails.

The saves are drawn from the declared shapes and their bounds, ends first, so a field whose range lets the rules derive
something out of range is found here and not by a host that cannot read its own row again.
"""

import json
from typing import Any

import pytest
from engine_scenes import DAY, HOUR, NOON, awake, care, offer, reply, say
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import (
    CommandRefused,
    SaveRefused,
    State,
    TurnsPending,
    advance,
    apply_command,
    apply_reply,
    build_request,
    due_ms,
    dump_save,
    load_save,
    parse_command,
    rehome,
    skip_turn,
)
from tokenling.engine import saves as declared
from tokenling.engine.bounds import TIME_MS_MAX, TIME_MS_MIN
from tokenling.engine.codec import Checked, Flag, Int, ListOf, OneOf, Optional, Record, Shape, Text, Token
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.lists import CHATTERS
from tokenling.engine.turns import pending_turn

ZONES = ("Etc/UTC", "Pacific/Apia", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Australia/Lord_Howe")
DATES = ("1999-12-31", "2000-01-01", "2026-06-11", "2026-06-12", "2200-01-01", "2200-01-03")
LAST_MS = TIME_MS_MAX - DAY
NOWS = (TIME_MS_MIN, NOON, LAST_MS)
ACTS: tuple[JsonValue, ...] = (
    say(), care("feed"), care("tuck"), care("stroke"), offer("toy"), offer("catch"), offer("gift", "shell"),
    {"kind": "settings", "timeZone": "Pacific/Apia"}, {"kind": "settings", "timeZone": "Pacific/Pago_Pago"},
    {"kind": "settings", "chatter": 4}, {"kind": "settings", "name": "Momo"},
    {"kind": "game", "gameId": "aaaa", "score": 999},
)  # fmt: skip
WORDS = ("[accept][nap][remember tea is good] hello", "[wake][explore] x", "[eat][decline] y", "[hug] z", "")


def integers(shape: Int) -> st.SearchStrategy[int]:
    """The ends, what is near a usual now, anything between."""
    ends = [shape.low, shape.high - shape.high % shape.step]
    near = [at for at in range(NOON - DAY, NOON + DAY + 1, HOUR) if shape.low <= at <= shape.high]
    days = [day for day in (NOON // DAY - 1, NOON // DAY) if shape.low <= day <= shape.high]
    low, high = -(-shape.low // shape.step), shape.high // shape.step
    between = st.integers(low, high).map(lambda number: number * shape.step)
    return st.one_of(st.sampled_from(ends + near + days), between)


# a strategy gives what JSON holds; one return a shape
def drawn(shape: Shape | Record[Any]) -> st.SearchStrategy[Any]:  # noqa: PLR0911
    """Values that a declaration allows."""
    match shape:
        case Int():
            return integers(shape)
        case Flag():
            return st.booleans()
        case Text():
            return st.text('ab:("\\', min_size=shape.low, max_size=min(shape.high, 12))
        case Token():
            return st.sampled_from(["a" * shape.low, "a" * min(shape.high, 4), "9" * shape.high])
        case OneOf():
            return st.sampled_from(shape.members)
        case Checked():
            return st.sampled_from(DATES if shape.high == 10 else ZONES)
        case Optional():
            return st.one_of(st.none(), drawn(shape.shape))
        case ListOf():
            return st.lists(drawn(shape.shape), min_size=shape.low, max_size=min(shape.high, 4))
    assert isinstance(shape, Record)
    return st.fixed_dictionaries({name: drawn(member.shape) for _, name, member in shape._members})


def mended(value: JsonObject) -> JsonObject:
    """The value with fields that agree with each other, where a draw would seldom hit it (`_check_whole`)."""
    held: Any = {**value, "v": 2, "engine": 1}
    held["chatter"] = CHATTERS[held["chatter"] % len(CHATTERS)]
    if held["offer"]:
        held["offer"]["item"] = {"food": "plum", "toy": "ball", "gift": "shell", "catch": ""}[held["offer"]["kind"]]
    held["character"]["traits"] = ["shy", "dreamy"]
    held["diary"] = list({page["date"]: page for page in held["diary"]}.values())
    effects = {effect["id"]: effect for effect in held["effects"] if effect["id"] < held["nextEffect"]}
    held["effects"] = [effects[number] for number in sorted(effects)]
    held["asleep"] = held["asleep"] or held["stage"] == "egg"
    held["askedNext"] = held["askedNext"] if held["asked"] else None
    held["cancels"] = held["cancels"] if held["asked"] or held["owed"] else 0
    return held  # type: ignore[no-any-return]


def lived(state: State, now_ms: int, text: str) -> State:
    """A few turns are answered, the last is left standing."""
    step = advance(state, now_ms)
    for _ in range(3):
        if step.turn is None:
            break
        build_request(step.state, step.turn)
        step = advance(apply_reply(step.state, step.turn, reply(text)).state, now_ms)
    return step.state


def commanded(state: State, act: JsonValue, now_ms: int) -> State:
    try:
        return apply_command(state, parse_command(act), now_ms).state
    except TurnsPending:
        turn = pending_turn(advance(state, now_ms).state)
        assert turn is not None
        return skip_turn(advance(state, now_ms).state, turn, "owner_came").state
    except CommandRefused:
        return state


def kept(state: State) -> None:
    """What a host does with a row: it writes it, and must read it again."""
    assert load_save(dump_save(state)) == state
    due_ms(state)


@settings(max_examples=80, deadline=None)
@given(
    drawn(declared.STATE).map(mended),
    st.booleans(),
    st.sampled_from(NOWS),
    st.lists(st.tuples(st.integers(0, 2 * DAY), st.sampled_from(ACTS), st.sampled_from(WORDS)), max_size=5),
)
def test_what_the_declarations_allow_stays_a_save_that_can_be_read(
    value: JsonObject, moves: bool, now_ms: int, acts: list[tuple[int, JsonValue, str]]
) -> None:
    try:
        state = load_save(json.dumps(value).encode())
    except SaveRefused as refused:
        assert refused.code == "does_not_fit"  # noqa: PT017 - a page owed for a date that has one
        return
    kept(state)
    turn = pending_turn(state)
    if turn is not None:
        kept(apply_reply(state, turn, reply(WORDS[0])).state)
    if moves:
        state = rehome(state, mode="remote", time_zone="Etc/UTC", brain_id="b", now_ms=now_ms).state
        kept(state)
    for wait_ms, act, text in acts:
        now_ms = min(now_ms + wait_ms, LAST_MS)
        state = commanded(state, act, now_ms)
        kept(state)
        state = lived(state, now_ms, text)
        kept(state)


@pytest.mark.parametrize(("zone", "date"), [("Pacific/Pago_Pago", "1999-12-31"), ("Etc/UTC", "2000-01-01")])
def test_a_page_of_the_first_day_of_all_can_be_read_again(zone: str, date: str) -> None:
    state = awake(zone=zone, at_ms=TIME_MS_MIN)
    state = lived(commanded(state, care("feed"), TIME_MS_MIN + HOUR), TIME_MS_MIN + DAY - HOUR, "A day.")
    assert [page.date for page in state.diary] == [date]
    kept(state)


def owing(day: int) -> bytes:
    value = json.loads(dump_save(awake()))
    return json.dumps({**value, "owed": {"day": day, "atMs": NOON, "revision": 0}}).encode()


@pytest.mark.parametrize("day", [0, 10_955, 84_009])
def test_a_page_owed_for_a_day_before_or_after_all_is_refused(day: int) -> None:
    with pytest.raises(SaveRefused) as raised:
        load_save(owing(day))
    assert (raised.value.code, raised.value.path) == ("out_of_range", "/owed/day")


@pytest.mark.parametrize(("day", "date"), [(10_956, "1999-12-31"), (84_008, "2200-01-03")])
def test_a_page_owed_for_the_first_or_the_last_day_is_written_and_read(day: int, date: str) -> None:
    state = load_save(owing(day))
    turn = pending_turn(state)
    assert turn is not None
    state = apply_reply(state, turn, reply("A day.")).state
    assert [page.date for page in state.diary] == [date]
    kept(state)


def test_a_page_owed_for_a_date_that_has_one_is_refused() -> None:
    value = json.loads(dump_save(awake()))
    value["diary"] = [{"date": "2026-06-11", "text": "A day.", "atMs": NOON}]
    value["owed"] = {"day": NOON // DAY, "atMs": NOON, "revision": 0}
    with pytest.raises(SaveRefused) as raised:
        load_save(json.dumps(value).encode())
    assert (raised.value.code, raised.value.path) == ("does_not_fit", "/owed/day")
