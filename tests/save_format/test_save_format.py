"""docs/save-format.md and docs/save.schema.json say what the engine checks: no more, no less."""

import copy
import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import (
    Reply,
    SaveRefused,
    advance,
    apply_command,
    apply_reply,
    dump_save,
    load_save,
    new_pet,
    parse_command,
    skip_turn,
)
from tokenling.engine import saves as declared
from tokenling.engine.codec import Record
from tokenling.engine.contract import contract, words_for
from tools import save_format

NOON = 1_781_172_000_000
DAY = 86_400_000
SCHEMA = json.loads(save_format.SCHEMA.read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PAGE = save_format.PAGE.read_text()
BEYOND_THE_SCHEMA = {
    "unclean_text", "lone_surrogate", "unknown_time_zone", "not_a_date", "does_not_fit", "unknown_fields_too_large",
    "duplicate_key", "float", "integer_too_large", "too_deep", "too_large",
}  # fmt: skip
"""Refusals that no JSON Schema can say; `unknown_member` and `unexpected_character` have one exception each, below."""


def live(state, to_ms):
    step = advance(state, to_ms)
    while step.turn is not None:
        step = advance(apply_reply(step.state, step.turn, words_for("schema", step.turn)).state, to_ms)
    return step.state


def act(state, command, at_ms):
    while (turn := advance(state, at_ms).turn) is not None and turn.kind == "idle":
        state = skip_turn(advance(state, at_ms).state, turn, "owner_came").state
    return apply_command(state, parse_command(command), at_ms).state


def real_saves():
    """Saves at every kind of moment: an egg, a life of a week, an offer, a game, an owed turn and page."""
    egg = new_pet(
        pet_seed="s", name="Pip", time_zone="Europe/Berlin", brain_id="sprout-0", weather_seed="", now_ms=NOON
    )
    said = act(egg, {"kind": "say", "text": "hello"}, NOON)
    week = live(said, NOON + 7 * DAY)
    offered = act(week, {"kind": "offer", "offer": "catch"}, NOON + 7 * DAY)
    playing = offered
    while (turn := advance(playing, NOON + 7 * DAY).turn) is not None:
        playing = apply_reply(playing, turn, Reply("[accept] Yes!", "newline", ())).state
    evening = advance(playing, NOON + 8 * DAY)
    while evening.turn is not None and evening.turn.kind != "diary":
        evening = advance(skip_turn(evening.state, evening.turn, "stopped").state, NOON + 8 * DAY)
    return [json.loads(dump_save(state)) for state in (egg, said, week, offered, playing, evening.state)]


SAVES = real_saves()


def test_the_scenes_hold_every_kind_of_object():
    for name in ("want", "offer", "game", "asked", "owed"):
        assert any(save.get(name) for save in SAVES), name
    for name in ("chat", "memories", "diary", "events", "effects"):
        assert any(save[name] for save in SAVES), name


def test_the_files_are_what_the_declarations_say():
    assert save_format.SCHEMA.read_text() == save_format.schema_text()
    assert save_format.drawn(PAGE) == PAGE


def test_every_record_has_its_table_and_every_field_a_row():
    records = {name: value for name, value in vars(declared).items() if isinstance(value, Record)}
    assert set(records) == {match["name"] for match in save_format._REGION.finditer(PAGE)}
    for name, record in records.items():
        table = save_format.table(name)
        assert [] == [field for _, field, _ in record._members if f"| `{field}` |" not in table]


def test_no_words_about_fields_that_are_not_there():
    fields = {
        f"{name}.{attribute}": member
        for name, record in vars(declared).items()
        if isinstance(record, Record)
        for attribute, _, member in record._members
    }
    assert {key for key, member in fields.items() if not member.about} == set(save_format.ABOUT)
    assert set(save_format.UNITS) <= set(fields)


def test_the_page_names_every_refusal():
    from refusal_codes import codes_in_sources

    assert [] == [code for code in codes_in_sources() if f"`{code}`" not in PAGE]


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("save", SAVES, ids=range(len(SAVES)))
def test_the_schema_takes_real_saves(save):
    assert [] == [error.json_path for error in VALIDATOR.iter_errors(save)]


def test_the_schema_takes_the_contracts_last_saves():
    for replay in json.loads(contract())["replays"]:
        VALIDATOR.validate(json.loads(replay["last"]))


MUTANTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**54), 2**54),
    st.text(max_size=8),
    st.text("ab-_.[\u202e", min_size=30, max_size=80),
    st.just([]),
    st.just({}),
    st.just(1.0),
    st.just(0.5),
    st.sampled_from([0, 1, -1, 2, 3, 100, 1_000_000, 1_000_001, 1_781_172_000_000, 1_781_172_000_001]),
    st.sampled_from(["pet", "adult", "egg", "catch", "r1", "plum", "Etc/UTC", "2026-02-31", " x", "x  y", ""]),
)


def mutated(data):
    """A real save with one member replaced, removed or added, anywhere."""
    save = copy.deepcopy(data.draw(st.sampled_from(SAVES)))
    at, path = save, []
    while True:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        inner = [key for key in keys if isinstance(at[key], dict | list) and at[key]]
        if not inner or (path and data.draw(st.booleans())):
            break
        key = data.draw(st.sampled_from(inner))
        at = at[key]
        path.append(key)
    key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
    if isinstance(at, dict) and data.draw(st.integers(0, 4)) == 0:
        del at[key]
    elif isinstance(at, list) and data.draw(st.integers(0, 4)) == 0:
        at.extend([at[key]] * 400)
    else:
        at[key] = data.draw(MUTANTS)
    return save


def verdict(save):
    try:
        load_save(json.dumps(save).encode())
    except SaveRefused as refused:
        return refused
    return None


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_what_the_schema_refuses_the_engine_refuses_and_the_other_way_round(data):
    save = mutated(data)
    refused = verdict(save)
    if not VALIDATOR.is_valid(save):
        assert refused is not None
        return
    if refused is not None:
        assert refused.code in BEYOND_THE_SCHEMA or is_excused(save, refused)


def is_excused(save, refused):
    """Two things that this schema leaves to the engine: gaps in a range, and a newline that Python's `$` lets pass."""
    if (refused.code, refused.path) == ("unknown_member", "/chatter"):
        return save["chatter"] == 3
    return refused.code in {"unexpected_character", "wrong_length"} and "\\n" in json.dumps(save)


BY_HAND = [
    ("/v", 3),
    ("/v", 1),
    ("/engine", 2),
    ("/engine", True),
    ("/body/energy", 1_000_001),
    ("/body/energy", -1),
    ("/bodyClockMs", 1_781_172_000_001),
    ("/stage", "elder"),
    ("/name", ""),
    ("/name", "x" * 25),
    ("/petSeed", "a b"),
    ("/treasures", ["gold"]),
    ("/character/traits", ["shy"]),
    ("/character/hue", 360),
    ("/chat/0/text", "x" * 401),
    ("/chat/0/who", "cat"),
    ("/events/0/kind", "born"),
    ("/diary", {}),
    ("/asleep", 1),
    ("/hosting", None),
    ("/hosting/mode", "cloud"),
]


@pytest.mark.parametrize(("path", "value"), BY_HAND, ids=[path for path, _ in BY_HAND])
def test_both_refuse_a_wrong_field(path, value):
    save = copy.deepcopy(SAVES[2])
    *parents, last = path.strip("/").split("/")
    at = save
    for part in parents:
        at = at[int(part) if isinstance(at, list) else part]
    at[last] = value
    assert not VALIDATOR.is_valid(save)
    assert verdict(save) is not None


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_both_miss_a_required_field(name):
    save = {key: value for key, value in SAVES[2].items() if key != name}
    assert not VALIDATOR.is_valid(save)
    refused = verdict(save)
    assert refused is not None
    assert ("missing", f"/{name}") == (refused.code, refused.path)
