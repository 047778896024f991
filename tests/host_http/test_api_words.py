"""docs/api.md lists the words of commands and views as the engine has them."""

import re
from pathlib import Path

import pytest

from tokenling.engine import LISTS, CommandRefused, parse_command
from tokenling.engine.bounds import NAME_MAX, SCORE_MAX, TEXT_MAX
from tokenling.engine.lists import CHATTERS

DOC = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
SECTION = DOC.partition("\n## Commands\n")[2].partition("\n## ")[0]
ROWS = {
    "`action` of `care`": LISTS["care"],
    "`item` of `care` `feed`": LISTS["foods"],
    "`offer` of `offer`": LISTS["offers"],
    "`item` of `offer` `food`": LISTS["foods"],
    "`item` of `offer` `toy`": LISTS["toys"],
    "`item` of `offer` `gift`": LISTS["gifts"],
    "`chatter` of `settings`": CHATTERS,
}


def words(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_words_of_commands_are_the_engines() -> None:
    rows = dict(re.findall(r"^\| (`.+?) \| (.+) \|$", SECTION, re.MULTILINE))
    assert {field: [str(word) for word in listed] for field, listed in ROWS.items()} == {
        field: words(row) for field, row in rows.items()
    }


def test_the_effects_and_acts_of_a_view_are_the_engines() -> None:
    assert list(LISTS["effects"]) == words(SECTION.partition("is one of: ")[2].partition(".")[0])
    acts = [action for action in LISTS["actions"] if action != "wake"]  # waking is an effect of its own
    assert acts == words(SECTION.partition("of an `act` is one of: ")[2].partition(".")[0])


def test_the_limits_are_the_engines() -> None:
    for told in (f"at most {TEXT_MAX} characters", f"`name` at most {NAME_MAX}", f"`score` is 0 to {SCORE_MAX}"):
        assert told in " ".join(SECTION.split())


@pytest.mark.parametrize(
    "command",
    [
        *({"kind": "care", "action": action} for action in LISTS["care"]),
        *({"kind": "care", "action": "feed", "item": item} for item in LISTS["foods"]),
        *({"kind": "offer", "offer": offer} for offer in LISTS["offers"]),
        *({"kind": "offer", "offer": "toy", "item": item} for item in LISTS["toys"]),
        *({"kind": "settings", "chatter": chatter} for chatter in CHATTERS),
    ],
)
def test_a_listed_word_is_taken(command: dict[str, str]) -> None:
    parse_command(command)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "command", [{"kind": "care", "action": "wash", "item": "plum"}, {"kind": "offer", "offer": "catch", "item": "ball"}]
)
def test_an_item_goes_with_these_only(command: dict[str, str]) -> None:
    with pytest.raises(CommandRefused):
        parse_command(command)  # type: ignore[arg-type]
