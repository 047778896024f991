"""Every malformed command is refused with a code and the path of the field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenling.engine import Care, CommandRefused, GameResult, Offer, Say, Settings, parse_command
from tokenling.engine.bounds import TEXT_MAX
from tokenling.engine.jsonvalue import JsonValue
from tokenling.engine.text import is_clean

REFUSED: list[tuple[JsonValue, str, str]] = [
    (None, "not_an_object", ""),
    ([], "not_an_object", ""),
    ("say", "not_an_object", ""),
    ({}, "missing_field", "/kind"),
    ({"kind": None}, "unknown_kind", "/kind"),
    ({"kind": "sing"}, "unknown_kind", "/kind"),
    ({"kind": ["say"]}, "unknown_kind", "/kind"),
    ({"kind": "say"}, "missing_field", "/text"),
    ({"kind": "say", "text": 5}, "wrong_type", "/text"),
    ({"kind": "say", "text": ""}, "text_empty", "/text"),
    ({"kind": "say", "text": " \n\t\u200b\u202e\x00 "}, "text_empty", "/text"),
    ({"kind": "say", "text": "x" * (TEXT_MAX + 1)}, "text_too_long", "/text"),
    ({"kind": "say", "text": "\u200b" * 20_000}, "text_too_long", "/text"),
    ({"kind": "say", "text": "hi", "secret words": 1}, "unknown_field", "/?"),
    ({"kind": "care"}, "missing_field", "/action"),
    ({"kind": "care", "action": "hit"}, "unknown_value", "/action"),
    ({"kind": "care", "action": True}, "wrong_type", "/action"),
    ({"kind": "care", "action": "feed", "item": "stone"}, "unknown_value", "/item"),
    ({"kind": "care", "action": "feed", "item": None}, "wrong_type", "/item"),
    ({"kind": "care", "action": "wash", "item": "plum"}, "unknown_value", "/item"),
    ({"kind": "offer"}, "missing_field", "/offer"),
    ({"kind": "offer", "offer": "money"}, "unknown_value", "/offer"),
    ({"kind": "offer", "offer": "toy", "item": "plum"}, "unknown_value", "/item"),
    ({"kind": "offer", "offer": "catch", "item": "ball"}, "unknown_value", "/item"),
    ({"kind": "game", "gameId": "g1"}, "missing_field", "/score"),
    ({"kind": "game", "gameId": 1, "score": 1}, "wrong_type", "/gameId"),
    ({"kind": "game", "gameId": "", "score": 1}, "out_of_range", "/gameId"),
    ({"kind": "game", "gameId": "g" * 41, "score": 1}, "out_of_range", "/gameId"),
    ({"kind": "game", "gameId": "g1", "score": "1"}, "wrong_type", "/score"),
    ({"kind": "game", "gameId": "g1", "score": True}, "wrong_type", "/score"),
    ({"kind": "game", "gameId": "g1", "score": -1}, "out_of_range", "/score"),
    ({"kind": "game", "gameId": "g1", "score": 1000}, "out_of_range", "/score"),
    ({"kind": "settings"}, "nothing_to_set", ""),
    ({"kind": "settings", "name": ""}, "text_empty", "/name"),
    ({"kind": "settings", "name": "x" * 25}, "text_too_long", "/name"),
    ({"kind": "settings", "name": None}, "wrong_type", "/name"),
    ({"kind": "settings", "timeZone": "Mars/Base"}, "unknown_time_zone", "/timeZone"),
    ({"kind": "settings", "timeZone": "../etc/passwd"}, "unknown_time_zone", "/timeZone"),
    ({"kind": "settings", "timeZone": "x" * 10_000}, "unknown_time_zone", "/timeZone"),
    ({"kind": "settings", "chatter": 3}, "unknown_value", "/chatter"),
    ({"kind": "settings", "chatter": 5}, "out_of_range", "/chatter"),
    ({"kind": "settings", "chatter": "2"}, "wrong_type", "/chatter"),
]


@pytest.mark.parametrize(("value", "code", "path"), REFUSED)
def test_a_malformed_command_is_refused_by_code_and_path(value: JsonValue, code: str, path: str) -> None:
    with pytest.raises(CommandRefused) as raised:
        parse_command(value)
    assert (raised.value.code, raised.value.path) == (code, path)
    assert "secret" not in str(raised.value)


def test_a_float_is_no_score() -> None:
    with pytest.raises(CommandRefused):
        parse_command({"kind": "game", "gameId": "g1", "score": 1.5})  # type: ignore[dict-item]


def test_well_formed_commands_are_typed() -> None:
    assert Say("hi (eat) there") == parse_command({"kind": "say", "text": "\n hi\t[eat]\r\n there \u200f"})
    assert Care("feed", "plum") == parse_command({"kind": "care", "action": "feed", "item": "plum"})
    assert Care("stroke") == parse_command({"kind": "care", "action": "stroke"})
    assert Offer("gift", "shell") == parse_command({"kind": "offer", "offer": "gift", "item": "shell"})
    assert GameResult("g7", 12) == parse_command({"kind": "game", "gameId": "g7", "score": 12})
    assert Settings(chatter=0) == parse_command({"kind": "settings", "chatter": 0})


def test_four_hundred_code_points_fit_whatever_they_are() -> None:
    text = "\U0001f431" * TEXT_MAX
    assert Say(text) == parse_command({"kind": "say", "text": text})
    assert Say("x" * TEXT_MAX) == parse_command({"kind": "say", "text": f"  {'x' * TEXT_MAX}\n\n"})


@given(st.text(alphabet=st.characters(), min_size=1, max_size=60))
def test_what_an_owner_says_is_clean_or_refused_as_empty(text: str) -> None:
    try:
        command = parse_command({"kind": "say", "text": text})
    except CommandRefused as refused:
        assert refused.code == "text_empty"  # noqa: PT017 - one of two allowed outcomes
        return
    assert isinstance(command, Say)
    assert is_clean(command.text)
    command.text.encode()
