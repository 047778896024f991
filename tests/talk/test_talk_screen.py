"""What a person sees and what a program reads: only words that count, every effect in words, tags never."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talk_scenes import DAY, HOUR, NOON, Drawer, Script, egg

from tokenling.cli.talk import Talk
from tokenling.cli.talk_screen import Unfolding
from tokenling.cli.talk_view import ACTS, DEEDS, MASS, WANTED, deeds, many, one
from tokenling.engine import LISTS
from tokenling.engine.lists import WANTS
from tokenling.engine.tags import parted


def talk(tmp_path, text=None, *, as_json=False, fail_with=None):
    clock = [NOON]
    made = Talk(
        egg(), Script(text, fail_with=fail_with), Drawer(tmp_path / "pet.json"), as_json=as_json, clock=lambda: clock[0]
    )
    return made, clock


def test_every_effect_and_action_has_words():
    assert list(LISTS["effects"]) == list(DEEDS)
    assert set(LISTS["actions"]) - {"wake"} == set(ACTS)


THINGS = [
    ("feed", {"item": "plum"}, "gets a plum"),
    ("feed", {"item": "apple"}, "gets an apple"),
    ("feed", {"item": "soup"}, "gets some soup"),
    ("offer", {"item": "catch"}, "is offered a game of catch"),
    ("offer", {"item": "blocks"}, "is offered some blocks"),
    ("accept", {"item": "acorn"}, "takes an acorn"),
    ("decline", {"item": "kite"}, "does not take a kite"),
    ("decline", {"item": "catch"}, "does not want a game of catch"),
    ("accept", {"item": "catch"}, "agrees to a game of catch"),
    ("grow", {"item": "adult"}, "has grown: an adult now"),
    ("want", {"item": "food"}, "would like a meal"),
    ("game_end", {"n": 1}, "played for 1 point"),
    ("game_end", {"n": 0}, "played for 0 points"),
]


@pytest.mark.parametrize(("kind", "members", "told"), THINGS)
def test_a_deed_is_told_in_english(kind, members, told):
    assert (told,) == deeds(({"kind": kind, **members},))


@pytest.mark.parametrize("kind", ["foods", "toys", "gifts", "stages", "offers"])
def test_every_thing_has_an_article_that_fits_it(kind):
    for item in LISTS[kind]:
        article, _, rest = one(item).partition(" ")
        assert article == ("some" if item in MASS else "an" if item[0] in "aeiou" else "a"), item
        assert rest.endswith(item)


def test_every_want_has_words_and_every_food_a_plural():
    assert set(WANTS) == set(WANTED)
    assert ["berries", "plums", "carrots", "bread", "soup", "honey", "nuts", "apples"] == [*map(many, LISTS["foods"])]


def test_a_reply_unfolds_word_by_word_without_its_tags():
    unfolding = Unfolding(400)
    pieces = ["[ha", "ppy", "] Hel", "lo", " ,", " you [ea", "t]", "!"]
    assert "Hello, you!" == "".join(unfolding.push(piece) for piece in pieces)
    assert "" == unfolding.finish("Hello, you!")


@given(
    st.lists(
        st.sampled_from(["[", "]", "a", " ", ",", "happy", "\u202e", "\n", "\U0001f431", ". ", "eat]"]), max_size=20
    )
)
def test_what_unfolds_is_the_words_that_count_or_gives_way_to_them(pieces):
    unfolding = Unfolding(400)
    shown = "".join(unfolding.push(piece) for piece in pieces)
    words = parted("".join(pieces))[0]
    rest = unfolding.finish(words)
    assert words == shown + rest if rest is not None else not words.startswith(shown)


def test_a_person_sees_words_and_deeds(tmp_path, capsys):
    made, _ = talk(tmp_path, "[happy][go garden] The sun is out.")
    assert made.take("hello")
    made.take("/feed plum")
    out = capsys.readouterr().out
    assert "Pip: The sun is out.\n" in out
    assert "(Pip feels happy, goes to the garden)" in out
    assert "(Pip gets a plum)" in out
    assert "[" not in out


def test_silence_is_shown_as_silence(tmp_path, capsys):
    made, _ = talk(tmp_path, "")
    made.take("hello")
    assert "(Pip is quiet)" in capsys.readouterr().out


def test_a_reply_that_failed_leaves_no_half_line(tmp_path, capsys):
    made, _ = talk(tmp_path, "Half a sent", fail_with="not_finite")
    made.take("hello")
    found = capsys.readouterr()
    assert found.out.endswith("Pip: Half a sent\n")
    assert "tokenling: Pip found no words (reactive turn, not_finite)\n" == found.err


def test_waiting_lives_the_time_and_tells_it_in_short(tmp_path, capsys):
    made, _ = talk(tmp_path, "A good day.")
    made.take("hello")
    capsys.readouterr()
    made.take("/wait 1d")
    out = capsys.readouterr().out
    assert out.startswith("1 day went by.\n")
    assert 2 <= out.count("\n") <= 6
    assert NOON + DAY == made.now_ms()
    made.take("/diary")
    assert "2026-06-11  A good day." in capsys.readouterr().out


def test_a_pets_new_name_is_used_at_once(tmp_path, capsys):
    made, _ = talk(tmp_path, "Me!")
    made.take("hello")
    made.take("/name Momo")
    made.take("hello")
    assert "\nMomo: Me!\n" in capsys.readouterr().out


def test_body_memories_and_diary_are_shown(tmp_path, capsys):
    made, _ = talk(tmp_path, "[remember the sea is near] Yes.")
    made.take("hello")
    capsys.readouterr()
    for line in ("/body", "/memories", "/diary"):
        made.take(line)
    out = capsys.readouterr().out
    assert "fullness  ######....  62 %" in out
    assert "the sea is near" in out
    assert "no page yet" in out


def test_a_game_is_played_by_its_score(tmp_path, capsys):
    made, _ = talk(tmp_path, "[accept] Yes!")
    made.take("hello")
    made.take("/catch 3")
    assert 1 == made.refused
    made.take("/offer catch")
    made.take("/catch 9")
    assert 1 == made.refused
    assert "(Pip played for 9 points)" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "code"), [("/dance", "unknown_command"), ("/feed gold", "unknown_value")])
def test_a_refused_line_changes_nothing_and_the_talk_goes_on(tmp_path, capsys, line, code):
    made, _ = talk(tmp_path)
    assert made.take(line)
    assert [] == made.file.saves
    assert f"tokenling: line 1: {code}: " in capsys.readouterr().err
    assert not made.take("/quit")


def test_a_program_reads_one_object_a_line_and_all_of_them_are_kinds_it_knows(tmp_path, capsys):
    made, _ = talk(tmp_path, as_json=True)
    for line in (
        "hello",
        '{"kind":"care","action":"feed"}',
        "/dance",
        "/body",
        "/diary",
        "/memories",
        "/help",
        "/wait 5h",
    ):
        made.take(line)
    found = capsys.readouterr()
    values = [json.loads(line) for line in found.out.splitlines()]
    assert "" == found.err
    assert {"piece", "turn", "step", "refused", "body", "diary", "memories", "help", "catchingUp", "caughtUp"} == {
        value["kind"] for value in values
    }
    assert [3] == [value["line"] for value in values if value["kind"] == "refused"]
    body = next(value for value in values if value["kind"] == "body")
    assert {"fullness", "energy", "mood", "hygiene", "warmth", "bond"} == set(body["body"])


def test_pieces_of_a_turn_are_its_raw_text_and_the_turn_its_words(tmp_path, capsys):
    made, _ = talk(tmp_path, "[happy] Hello you.", as_json=True)
    made.take("hello")
    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    turn = next(value for value in values if value["kind"] == "turn")
    assert "Hello you." == turn["text"]
    pieces = [value["text"] for value in values if value["kind"] == "piece" and value["turn"] == turn["turn"]]
    assert "[happy] Hello you." == "".join(pieces)


def test_a_talk_ahead_of_the_wall_clock_stays_ahead(tmp_path):
    made, clock = talk(tmp_path)
    made.take("/wait 2h")
    clock[0] += HOUR
    assert NOON + 3 * HOUR == made.now_ms()


def test_what_the_pet_says_by_itself_does_not_stand_behind_the_prompt(tmp_path, capsys):
    made, clock = talk(tmp_path, "La la.")
    made.take("hello")
    capsys.readouterr()
    made.screen.prompt()
    made.screen.prompt()
    assert "> " == capsys.readouterr().out
    while not (out := capsys.readouterr().out):
        clock[0] += 60_000
        made.life.catch_up(made.now_ms())
    assert out.startswith("\n")
    made.screen.prompt()
    made.screen.entered()
    made.take("/memories")
    assert "> " + "  nothing yet\n" == capsys.readouterr().out
