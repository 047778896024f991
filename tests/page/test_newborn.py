"""`POST /app/newborn` makes a save and nothing else; what is wrong in a request is named."""

import json

import pytest

from tokenling import engine
from tokenling.host.errors import ApiError
from tokenling.host.newborn import newborn_save

NOW_MS = 1_780_315_200_000
BODY = {"name": "Pip", "timeZone": "Europe/Berlin", "petSeed": "a" * 32}


def made(body, **changes):
    return newborn_save(body, **{"brain_id": "sprout-0", "weather_seed": "w", "now_ms": NOW_MS, **changes})


def test_a_newborn_is_the_engines_own_save_byte_for_byte():
    state = engine.new_pet(
        pet_seed="a" * 32,
        name="Pip",
        time_zone="Europe/Berlin",
        brain_id="sprout-0",
        weather_seed="w",
        now_ms=NOW_MS,
    )
    assert engine.dump_save(state) == made(BODY)


def test_a_newborn_passes_the_engines_check_and_stays_the_same_bytes():
    save = made(BODY)
    assert save == engine.dump_save(engine.load_save(save))


def test_the_same_request_at_the_same_time_gives_the_same_newborn():
    assert made(BODY) == made(dict(reversed(BODY.items())))


def test_another_seed_gives_another_character():
    characters = {json.dumps(json.loads(made({**BODY, "petSeed": f"seed-{n}"}))["character"]) for n in range(12)}
    assert len(characters) > 6


def test_a_name_is_cleaned_as_the_engine_cleans_it():
    assert json.loads(made({**BODY, "name": "  Pip\t[the]  Great "}))["name"] == "Pip (the) Great"


WRONG = {
    "not an object": (["Pip"], ""),
    "null": (None, ""),
    "no name": ({"timeZone": "UTC", "petSeed": "x"}, "name"),
    "no zone": ({"name": "Pip", "petSeed": "x"}, "timeZone"),
    "no seed": ({"name": "Pip", "timeZone": "UTC"}, "petSeed"),
    "unknown field": ({**BODY, "stage": "adult"}, "stage"),
    "empty name": ({**BODY, "name": ""}, "name"),
    "blank name": ({**BODY, "name": " \t "}, "name"),
    "long name": ({**BODY, "name": "x" * 25}, "name"),
    "numeric name": ({**BODY, "name": 7}, "name"),
    "name of controls": ({**BODY, "name": "\u0000\u200b"}, "name"),
    "unknown zone": ({**BODY, "timeZone": "Mars/Olympus"}, "timeZone"),
    "zone with a path": ({**BODY, "timeZone": "../../etc/passwd"}, "timeZone"),
    "absolute zone": ({**BODY, "timeZone": "/etc/localtime"}, "timeZone"),
    "empty zone": ({**BODY, "timeZone": ""}, "timeZone"),
    "numeric seed": ({**BODY, "petSeed": 12}, "petSeed"),
    "seed with a space": ({**BODY, "petSeed": "a b"}, "petSeed"),
    "long seed": ({**BODY, "petSeed": "a" * 65}, "petSeed"),
    "nested seed": ({**BODY, "petSeed": {"a": 1}}, "petSeed"),
}


@pytest.mark.parametrize(("body", "path"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_request_is_refused_with_the_field_that_is_wrong(body, path):
    with pytest.raises(ApiError) as refused:
        made(body)
    assert (422, "invalid_envelope", path) == (refused.value.status, refused.value.code, refused.value.fields["path"])


@pytest.mark.parametrize("body", [body for body, _path in WRONG.values()], ids=WRONG.keys())
def test_a_refusal_quotes_nothing_that_was_sent(body):
    with pytest.raises(ApiError) as refused:
        made(body)
    told = json.dumps([refused.value.detail, {**refused.value.fields, "path": ""}])
    assert not [word for word in ("Mars", "passwd", "localtime", "xxxx", "a b", "aaaa") if word in told]
