"""The page's words and tables against the engine's lists and bounds, read from the files as they are served."""

import re
from pathlib import Path

import pytest

from tokenling import engine
from tokenling.engine import balance, bounds
from tokenling.engine.lists import CHATTERS, WANTS

PLAIN = Path(engine.__file__).parents[1] / "web" / "plain"
MODULES = sorted(PLAIN.glob("*.js"))
LISTS = engine.LISTS


def source(name):
    return (PLAIN / name).read_text(encoding="utf-8")


def words():
    """The keys of the string table."""
    return set(re.findall(r'^  "([^"]+)":', source("strings.js"), re.MULTILINE)) | {"title"}


def array(name, text):
    """The strings of `const NAME = [...]` or `new Set([...])`."""
    found = re.search(rf"const {name} = (?:new Set\()?\[([^\]]*)\]", text)
    assert found, name
    return [str(item) for item in re.findall(r'"([^"]*)"', found[1])]


def number(name, text):
    found = re.search(rf"const {name} = ([\d_]+);", text)
    assert found, name
    return int(found[1].replace("_", ""))


EVERY_WORD = {
    "events": [f"event.{kind}" for kind in LISTS["events"]],
    "items": [f"item.{item}" for name in ("foods", "toys", "gifts") for item in LISTS[name]],
    "stages": [f"stage.{stage}" for stage in LISTS["stages"]],
    "places": [f"place.{place}" for place in LISTS["places"]],
    "weathers": [f"weather.{weather}" for weather in LISTS["weathers"]],
    "actions": [f"action.{action}" for action in LISTS["actions"]],
    "care": [f"care.{care}" for care in LISTS["care"]],
    "offers": [f"offer.{offer}" for offer in LISTS["offers"]],
    "wants": [f"want.{want}" for want in WANTS],
    "chatters": [f"chatter.{chatter}" for chatter in CHATTERS],
    "meters": [f"{part}.{meter}" for part in ("meter", "band") for meter in balance.NEWBORN],
}


@pytest.mark.parametrize("wanted", EVERY_WORD.values(), ids=EVERY_WORD.keys())
def test_every_member_of_the_engines_lists_has_words(wanted):
    assert [] == [key for key in wanted if key not in words()]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_every_key_that_a_module_says_is_in_the_table(module):
    said = re.findall(r'\bsay\(\s*"([^"]+)"', module.read_text(encoding="utf-8"))
    assert [] == [key for key in said if key not in words()]


def test_the_owner_picks_from_the_engines_items_in_their_order():
    text = source("items.js")
    picks = {name: array(name, text) for name in ("FOODS", "TOYS", "GIFTS")}
    assert {name: list(LISTS[name.lower()]) for name in picks} == picks


def test_every_feeling_has_a_face_and_every_stage_a_drawing():
    faces = re.search(r"FACE_OF_FEELING = \{([^}]*)\}", source("snapshot.js"))[1]
    assert list(LISTS["moods"]) == sorted(re.findall(r"(\w+):", faces), key=list(LISTS["moods"]).index)
    stages = re.search(r"const STAGES = \{(.*?)\n\};", source("scene.js"), re.DOTALL)[1]
    assert list(LISTS["stages"][1:]) == re.findall(r"^  (\w+):", stages, re.MULTILINE)


def test_effects_and_events_that_the_page_names_exist():
    sparks = re.search(r"SPARK_OF_EFFECT = \{([^}]*)\}", source("companion.js"))[1]
    assert set() == set(re.findall(r"(\w+):", sparks)) - set(LISTS["effects"])
    named = {*array("OWN_DOINGS", source("events.js")), *array("COUNTED", source("events.js"))}
    assert set() == named - set(LISTS["events"])


def test_the_bands_end_where_the_engines_words_end():
    borders = re.search(r"BAND_BORDERS = \[([^\]]*)\]", source("snapshot.js"))[1]
    assert balance.BANDS == tuple(int(border.replace("_", "")) for border in borders.split(","))


def test_bounds_are_the_engines():
    assert bounds.TEXT_MAX == number("TEXT_MAX", source("talk.js"))
    assert bounds.NAME_MAX == number("NAME_MAX", source("items.js"))
    assert bounds.SAVE_BYTES_MAX == number("SAVE_BYTES_MAX", source("files.js"))


UNSAFE = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "javascript:")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_can_turn_text_into_markup_or_code(module):
    text = module.read_text(encoding="utf-8")
    assert [] == [name for name in UNSAFE if name in text]


def test_the_page_asks_nobody_but_its_own_host():
    outside = {
        path.name: found
        for path in PLAIN.iterdir()
        if (found := [url for url in re.findall(r"https?://[^\s\"'`<)]+", path.read_text()) if "www.w3.org" not in url])
    }
    assert {} == outside


def test_the_document_holds_no_inline_script_or_style():
    text = source("index.html")
    assert [] == re.findall(r"<style|style=|\son\w+=|<script(?![^>]*\bsrc=)", text)


def test_no_drawn_shape_carries_a_style_attribute():
    assert [] == [path.name for path in MODULES if re.search(r"\bstyle:\s|\"style\"", path.read_text())]
