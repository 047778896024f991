"""The corpus: the same seed gives the same lines, and every prompt is the engine's own."""

import hashlib
import json
import re

import pytest

from tokenling.engine import build_request, prompt_text
from tokenling.engine.lists import ACTIONS, CARE, MOODS, OFFERS, PLACES, WEATHERS
from tokenling.engine.state import State
from tokenling.engine.turns import Turn
from tools.grade_brain.marks import legal, lookup_wanted, tags_in, wanted_actions
from tools.train_brain import lives
from tools.train_brain.compose import ABOUT_METER, compose
from tools.train_brain.corpus import corpus_lines
from tools.train_brain.lives import Lived, live
from tools.train_brain.owners import KINDS, USUAL, held_out_wordings, make_owner, misspelt
from tools.train_brain.phrases import Chance, bare_words, chosen, expand, held_out, wordings
from tools.train_brain.rules import ACTION_BY_INTENT, ACTION_BY_TRAIT, MOOD_BY_INTENT
from tools.train_brain.writer.book import phrases_of, words_of
from tools.train_brain.writer.recollection import event_of, turned


def digest(seed: int) -> str:
    lines = corpus_lines(owners=2, days=1, seed=seed, untried=False)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.fixture(scope="module")
def lived() -> list[Lived]:
    return [
        one
        for number in range(4)
        for one in live(make_owner(number, 5, untried=number % 2 == 0), Chance("test", number), days=2)
    ]


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another() -> None:
    assert digest(3) == digest(3)
    assert digest(3) != digest(4)


def test_every_prompt_is_what_the_engine_builds_for_that_very_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def spy(state: State, turn: Turn) -> object:
        request = build_request(state, turn)
        asked.append(prompt_text(request.header, request.lines, request.prefix))
        return request

    monkeypatch.setattr(lives, "build_request", spy)
    lines = [json.loads(line) for line in corpus_lines(owners=1, days=2, seed=9, untried=False)]
    assert lines
    assert {line["prompt"] for line in lines} <= set(asked)


def test_the_writer_writes_legal_tags_only(lived: list[Lived]) -> None:
    assert [one.reply for one in lived if not legal(one.reply, one.scene)] == []


def test_the_writer_does_what_the_rules_ask_for(lived: list[Lived]) -> None:
    marked = [(one, wanted) for one in lived if (wanted := wanted_actions(one.scene)) is not None]
    assert len(marked) > 20
    assert [one.reply for one, wanted in marked if not wanted.intersection(tags_in(one.reply))] == []


def test_the_writer_looks_up_what_it_cannot_know_and_nothing_else(lived: list[Lived]) -> None:
    for one in lived:
        wanted = lookup_wanted(one.scene)
        looked = [tag for tag in tags_in(one.reply) if tag.startswith("look ")]
        assert looked == ([wanted[1:-1]] if wanted else []), one.reply


def test_no_reply_holds_an_unfilled_slot_or_an_open_choice(lived: list[Lived]) -> None:
    for one in lived:
        assert not re.search(r"<[a-z_]+>|[|()]", one.reply.replace("(Owner", "")), one.reply


def test_no_reply_exceeds_what_a_turn_may_write(lived: list[Lived]) -> None:
    line_max, diary_max = 200, 360
    for one in lived:
        assert len(one.reply) <= (diary_max if one.request.mode == "diary" else line_max), one.reply


def test_the_same_scene_composes_differently_by_body(lived: list[Lived]) -> None:
    question = next(one.scene for one in lived if one.scene.said and one.scene.said.intent == "ask_hungry")
    by_band = {}
    for band in (0, 4):
        scene = replace_bands(question, fullness=band)
        by_band[band] = {compose(scene, Chance("body", number)) for number in range(60)}
    assert by_band[0].isdisjoint(by_band[4])


def replace_bands(scene: lives.Scene, **bands: int) -> lives.Scene:
    from dataclasses import replace

    return replace(scene, bands={**scene.bands, "energy": 3, **bands}, asleep=False, traits=("gentle", "quiet"))


def test_held_out_owners_use_phrases_that_no_other_owner_uses() -> None:
    tried, untried = make_owner(1, 1, untried=False), make_owner(1, 1, untried=True)
    for intent, options in phrases_of("said").items():
        kept = held_out_wordings(intent)
        spoken = {bare_words(tried.wording(intent, Chance(intent, number))) for number in range(60)}
        if not all(held_out(phrase) for phrase in options):
            assert spoken.isdisjoint(kept), intent
        if kept:
            assert bare_words(untried.wording(intent, Chance(intent))) in kept


def test_the_wordings_of_a_phrase_are_all_that_it_may_become() -> None:
    phrase = "(what|which) (hour|part of (the day|night)) is it, <name>(?|)"
    drawn = {bare_words(chosen(phrase, Chance(number))) for number in range(400)}
    assert wordings(phrase) == drawn
    assert len(drawn) == 6


def test_every_intent_that_a_table_names_has_phrases() -> None:
    said = set(phrases_of("said"))
    named = set(MOOD_BY_INTENT) | set(ACTION_BY_INTENT) | set(USUAL) | set(ABOUT_METER)
    named |= {intent for own in KINDS.values() for intent in own}
    assert named - said == set()


def test_the_book_has_words_for_all_that_the_engine_can_bring() -> None:
    deeds, skies = phrases_of("deeds"), phrases_of("skies")
    assert {f"act/{action}" for action in ACTIONS} <= set(deeds)
    assert {f"go/{place}" for place in PLACES} <= set(deeds)
    assert {f"weather/{weather}" for weather in WEATHERS} <= set(skies)
    assert {f"accept/{offer}" for offer in OFFERS} <= set(deeds)
    assert {f"cared/{care}/any" for care in CARE} <= set(deeds)
    assert set(MOOD_BY_INTENT.values()) <= set(MOODS)
    assert {action for actions in ACTION_BY_TRAIT.values() for action in actions} <= set(ACTIONS)


@pytest.mark.parametrize(
    ("phrase", "slots", "expected"),
    [
        ("plain", {}, {"plain"}),
        ("(a|b) c", {}, {"a c", "b c"}),
        ("(a(1|2)|b)", {}, {"a1", "a2", "b"}),
        ("x(|!)", {}, {"x", "x!"}),
        ("hi <name>", {"name": "Pip"}, {"hi Pip"}),
        ("a <noun>", {"noun": "owl"}, {"an owl"}),
        ("<smile>", {"smile": ":)"}, {":)"}),
    ],
)
def test_a_phrase_expands_to_each_of_its_choices(phrase: str, slots: dict[str, str], expected: set[str]) -> None:
    assert {expand(phrase, Chance(number), slots) for number in range(40)} == expected


def test_an_unknown_slot_is_an_error_not_a_word() -> None:
    with pytest.raises(KeyError):
        expand("hi <nobody>", Chance(1), {})


def test_a_slip_of_the_fingers_changes_a_line_by_little() -> None:
    slips = {misspelt("what's the weather like", Chance(number)) for number in range(40)}
    assert len(slips) > 10
    assert all(abs(len(slip) - len("what's the weather like")) <= 1 for slip in slips)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("was fed plum twice", ("fed", "plum")),
        ("took acorn", ("accepted", "an acorn")),
        ("took a game of catch", ("accepted", "a game of catch")),
        ("did not take ball", ("declined", "the ball")),
        ("explored 4 times", ("did", "exploring")),
        ("took a nap", ("slept", "")),
        ("lamp went on", None),
    ],
)
def test_a_told_event_finds_its_diary_section(told: str, expected: tuple[str, str] | None) -> None:
    assert event_of(told) == expected


def test_a_memory_is_said_to_its_owner_in_the_second_person() -> None:
    assert turned("owner likes tea") == "you like tea"
    assert turned("owner's birthday is in may") == "your birthday is in may"
    assert turned("the pond is deep") == "the pond is deep"


def test_word_lists_have_no_doubles_and_no_choices() -> None:
    for kind in phrases_of("words"):
        words = words_of(kind)
        assert not any(mark in word for word in words for mark in "(|)<>[]")
        assert kind == "noun" or len(set(words)) == len(words), kind
