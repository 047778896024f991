"""Any sequence of commands, replies and time keeps every invariant and bound."""

import json
from dataclasses import dataclass

from engine_scenes import DAY, HOUR, MINUTE, NOON, awake, do, egg, live, offer, say
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import (
    CommandRefused,
    Reply,
    SaveRefused,
    State,
    advance,
    apply_command,
    apply_reply,
    body_clock_ms,
    build_request,
    context_revision_of,
    due_ms,
    dump_save,
    effects_of,
    game_of,
    hosting_of,
    load_save,
    parse_command,
    pending_turn,
    prompt_text,
    rehome,
    skip_turn,
)
from tokenling.engine.bounds import COUNT_MAX, TIME_MS_MAX
from tokenling.engine.contract import WORDS
from tokenling.engine.jsonvalue import JsonValue


@dataclass(frozen=True, slots=True)
class Wait:
    ms: int


@dataclass(frozen=True, slots=True)
class Home:
    zone: str
    mode: str


Act = JsonValue | Wait | Home

COMMANDS: list[JsonValue] = [
    say("hello"), say("where is the kite? [eat]"), {"kind": "care", "action": "feed"},
    {"kind": "care", "action": "wash"}, {"kind": "care", "action": "tuck"}, {"kind": "care", "action": "stroke"},
    {"kind": "care", "action": "lamp"}, offer("food"), offer("toy", "kite"), offer("gift"), offer("catch"),
    {"kind": "game", "gameId": "g1", "score": 3}, {"kind": "settings", "chatter": 4},
    {"kind": "settings", "chatter": 0}, {"kind": "settings", "name": "Momo", "timeZone": "Pacific/Apia"},
]  # fmt: skip
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.sampled_from(COMMANDS),
    st.integers(-2 * HOUR, 30 * HOUR).map(Wait),
    st.sampled_from([Home("Australia/Lord_Howe", "remote"), Home("Etc/UTC", "local")]),
)
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=30))


def answered_all(state: State, now_ms: int, data: st.DataObject) -> State:
    """Turns are answered, skipped, or left standing."""
    step = advance(state, now_ms)
    for _ in range(data.draw(st.integers(0, 6))):
        if step.turn is None:
            break
        request = build_request(step.state, step.turn)
        prompt_text(request.header, request.lines, request.prefix).encode()
        assert len(set(request.tags)) == len(request.tags)
        assert set(request.answers) <= set(request.tags)
        if data.draw(st.booleans()):
            after = apply_reply(step.state, step.turn, Reply(data.draw(TEXTS), "newline", ())).state
        else:
            after = skip_turn(step.state, step.turn, "failed").state
        step = advance(after, now_ms)
    return step.state


def acted(state: State, act: Act, now_ms: int) -> State:
    if isinstance(act, Wait):
        return advance(state, now_ms).state
    if isinstance(act, Home):
        return rehome(state, mode=act.mode, time_zone=act.zone, brain_id="b", now_ms=now_ms).state
    step = advance(state, now_ms)
    while step.turn is not None and step.turn.kind == "idle":
        step = advance(skip_turn(step.state, step.turn, "owner_came").state, now_ms)
    try:
        return apply_command(step.state, parse_command(act), now_ms).state
    except CommandRefused:
        return step.state


def check(state: State) -> None:
    assert load_save(dump_save(state)) == state
    assert pending_turn(state) is not None or due_ms(state) >= body_clock_ms(state)
    assert context_revision_of(state) >= 0
    assert hosting_of(state).mode in {"local", "remote"}
    assert len(effects_of(state)) <= 32
    assert game_of(state) is None or state.game is not None
    dates = [page.date for page in state.diary]
    assert len(set(dates)) == len(dates)


@settings(max_examples=120, deadline=None)
@given(st.sampled_from("abcdef"), st.lists(ACTS, max_size=25), st.data())
def test_any_life_keeps_every_invariant(seed: str, acts: list[Act], data: st.DataObject) -> None:
    state = egg(seed=seed)
    now_ms = NOON
    for act in acts:
        now_ms = max(now_ms + (act.ms if isinstance(act, Wait) else 1000), NOON - DAY)
        state = answered_all(acted(state, act, now_ms), now_ms, data)
        check(state)


FORGED = st.sampled_from([0, 1, 2, COUNT_MAX, COUNT_MAX - 1, TIME_MS_MAX, 946_684_800_000, 1_000_000, 84_000])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 200), FORGED), min_size=1, max_size=6), st.lists(ACTS, max_size=6), st.data())
def test_a_forged_save_is_refused_or_lives_like_any_other(
    forged: list[tuple[int, int]], acts: list[Act], data: st.DataObject
) -> None:
    value = json.loads(dump_save(SEED_LIFE))
    places = [(value, key) for key, held in sorted(value.items()) if type(held) is int]
    for inner in (value["body"], value["offer"], value["asked"], value["events"][-1], value["effects"][-1]):
        places += [(inner, key) for key, held in sorted(inner.items()) if type(held) is int]
    for at, number in forged:
        inside, key = places[at % len(places)]
        inside[key] = number
    try:
        state = load_save(json.dumps(value).encode())
    except SaveRefused:
        return
    now_ms = max(NOON, min(body_clock_ms(state), TIME_MS_MAX - 2 * DAY))
    for act in acts:
        now_ms += act.ms if isinstance(act, Wait) and act.ms > 0 else MINUTE
        state = answered_all(acted(state, act, min(now_ms, TIME_MS_MAX - DAY)), min(now_ms, TIME_MS_MAX - DAY), data)
        check(state)


SEED_LIFE = do(do(live(awake(chatter=1), NOON + DAY), offer("toy", "kite"), NOON + DAY).state, say(), NOON + DAY).state
