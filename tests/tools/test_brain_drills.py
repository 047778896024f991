"""Drills: what a told word is worth, what a flipped fact changes, and that all of it is the engine's own prompt."""

import json
from itertools import groupby

import pytest

from tokenling.engine import dump_save
from tokenling.engine.lists import FOODS, GIFTS, OFFERS, TOYS
from tools.grade_brain.marks import legal, wanted_actions, words_in
from tools.train_brain import drills
from tools.train_brain.drills import (
    ANSWERED_BY,
    BODILY,
    FLIPPED_FACTS,
    LOOKED_UP,
    OWN_SELF,
    SEEN,
    SHORT_ORDER,
    TOLD,
    UNHEARD,
    drill_lines,
    flipped,
    hatched,
    set_up,
)
from tools.train_brain.habits import habit_lines
from tools.train_brain.owners import held_out_wordings
from tools.train_brain.phrases import Chance, bare_words
from tools.train_brain.writer.book import phrases_of

Record = dict[str, str]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [json.loads(line) for line in drill_lines(pets=6, seed=11)]


def test_the_same_seed_gives_the_same_drills_and_another_seed_others() -> None:
    first, again, other = (list(drill_lines(pets=1, seed=seed)) for seed in (4, 4, 5))
    assert first == again
    assert first != other


def test_a_lone_drill_shows_the_line_and_the_open_prefix_alone(records: list[Record]) -> None:
    told = [r for r in records if r["prompt"].startswith("Owner: ") and r["intent"] not in ("my_name", "recall")]
    assert len(told) > 100
    assert {2} == {len(record["prompt"].split("\n")) for record in told}
    assert {record["intent"] for record in told} > set(TOLD)


def test_a_lone_drill_is_about_nothing_that_the_header_answers(records: list[Record]) -> None:
    lone = {r["intent"] for r in records if r["prompt"].startswith("Owner: ")} - {"my_name", "recall"}
    assert lone & UNHEARD <= set(LOOKED_UP), "but for what only sounds like a lookup's question"
    assert lone <= set(phrases_of("said"))


def test_what_a_told_drill_keeps_stands_in_its_prompt(records: list[Record]) -> None:
    kept = [record for record in records if "[remember owner" in record["reply"]]
    assert len(kept) > 50
    for record in kept:
        last_word = record["reply"].partition("[remember ")[2].removesuffix("]").split()[-1]
        assert last_word.lower() in record["prompt"].lower(), record


def test_a_name_told_is_said(records: list[Record]) -> None:
    named = [record for record in records if record["intent"] == "tell_name" and "[remember" in record["reply"]]
    assert len(named) > 20
    for record in named:
        name = record["reply"].partition("name is ")[2].removesuffix("]")
        assert name in words_in(record["reply"]), record


def test_half_of_what_is_named_no_list_holds(records: list[Record]) -> None:
    told = [record["reply"] for record in records if record["intent"] == "tell_name"]
    names = {reply.partition("name is ")[2].removesuffix("]") for reply in told} - {""}
    listed = {name for name in names if name in drills.words_of("owner")}
    assert len(names) > 10
    assert 0.1 < len(listed) / len(names) < 0.8


def test_a_known_name_is_said_when_asked_for_and_no_other(records: list[Record]) -> None:
    asked = [r for r in records if r["intent"] == "my_name" and not r["reply"].startswith(("[wake]", "[sleepy]"))]
    known = [r for r in asked if "owner's name is " in r["prompt"] and "Zzz" not in r["reply"]]
    assert len(known) > 5
    for record in known:
        name = record["prompt"].partition("owner's name is ")[2].split(";")[0].split(".")[0].split("\n")[0]
        if "Asleep" not in record["prompt"]:
            assert name in record["reply"], record


def test_a_seen_drill_comes_with_the_whole_header_and_with_the_line_that_answers_it(records: list[Record]) -> None:
    whole = {(r["intent"], r["reply"]) for r in records if "\nBody: " in r["prompt"]}
    unheard = [r for r in records if not (r["prompt"].startswith("Owner: ") and r["intent"] in LOOKED_UP)]
    short = [r for r in unheard if r["intent"] in SHORT_ORDER and "\nBody: " not in r["prompt"]]
    assert {*SEEN, *OWN_SELF} <= {intent for intent, _ in whole}
    assert {record["intent"] for record in short} == set(SHORT_ORDER) < set(BODILY)
    assert {(record["intent"], record["reply"]) for record in short} <= whole
    for record in short:
        *told, _, _ = record["prompt"].split("\n")
        wanted = ANSWERED_BY.get(record["intent"], ("Body: ",))
        assert all(line.startswith(wanted) for line in told), record
        assert told or record["intent"] in ("my_name", "recall"), record


def test_the_deeds_to_one_pet_share_who_it_is_and_how_it_feels(records: list[Record]) -> None:
    deeds = [r for r in records if r.get("shared")]
    assert len(deeds) > 50
    runs = [list(run) for _, run in groupby(deeds, trunk_of)]
    assert sum(len(run) for run in runs) / len(runs) > 1.3
    for record in deeds:
        assert record["prompt"].split("\n")[int(record["shared"]) - 1].startswith("Body: ")


def trunk_of(record: Record) -> tuple[str, ...]:
    return tuple(record["prompt"].split("\n")[: int(record["shared"])])


def test_a_full_pet_is_offered_food_and_declines_it_and_a_hungry_one_takes_it(records: list[Record]) -> None:
    offers = [r for r in records if any(f"(Owner offers {food}.)" in r["prompt"] for food in FOODS)]
    full = [r["reply"] for r in offers if "Body: full, " in r["prompt"]]
    empty = [r["reply"] for r in offers if "Body: empty, " in r["prompt"]]
    assert len(full) > 5
    assert len(empty) > 5
    assert all(reply.startswith("[decline]") for reply in full)
    assert all(reply.startswith("[accept]") for reply in empty)


def test_both_pets_of_a_pair_are_asked_the_same(records: list[Record]) -> None:
    by_header: dict[str, set[str]] = {}
    for record in records:
        header, _, last = record["prompt"].rpartition("\nOwner: ")
        if "\nBody: " in header and record["intent"] in SEEN:
            by_header.setdefault(header, set()).add(last.split("\n")[0])
    pairs = [one for one in by_header.values() if sum(one == other for other in by_header.values()) >= 2]
    assert len(pairs) > 0.8 * len(by_header)


@pytest.mark.parametrize("number", range(6))
def test_a_flip_changes_one_fact(number: int) -> None:
    chance = Chance("flip", number)
    save = json.loads(dump_save(state := set_up(hatched(chance), chance, needs=True)))
    for _ in range(12):
        other = json.loads(dump_save(flipped(state, chance.pick(FLIPPED_FACTS), chance)))
        changed = [name for name in save if save[name] != other[name]]
        meters = [meter for meter in save["body"] if save["body"][meter] != other["body"][meter]]
        assert changed in ([], ["body"], ["memories"], ["place"])
        assert len(meters) == (changed == ["body"])


def test_drills_hold_no_held_out_phrase() -> None:
    for intent in (*TOLD, *SEEN, *OWN_SELF):
        spoken = drills.Owner("chatty", "Ana", untried=False, careless=False)
        drawn = {bare_words(spoken.wording(intent, Chance(intent, number))) for number in range(40)}
        assert drawn.isdisjoint(held_out_wordings(intent))


def test_every_offer_and_item_comes_up() -> None:
    deeds = [drills.deed(Chance("deed", number)) for number in range(400)]
    offers = {(deed.offer, deed.item) for deed in deeds if isinstance(deed, drills.Offer)}
    assert {offer for offer, _ in offers} == set(OFFERS)
    assert {item for _, item in offers} == {*FOODS, *TOYS, *GIFTS, ""}


def test_the_writer_answers_drills_by_its_own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    lived = []

    def spy(one: drills.Lived) -> dict[str, object]:
        lived.append(one)
        return {"prompt": "a\nBody: b\nc", "reply": ""}

    monkeypatch.setattr(drills, "record_of", spy)
    list(drill_lines(pets=2, seed=21))
    assert len(lived) > 200
    assert [one.reply for one in lived if not legal(one.reply, one.scene)] == []
    marked = [(one, wanted) for one in lived if (wanted := wanted_actions(one.scene)) is not None]
    assert [one.reply for one, wanted in marked if not any(f"[{tag}]" in one.reply for tag in wanted)] == []


def test_habits_are_pairs_that_differ_in_one_fact_and_follow_the_writers_rules() -> None:
    records = [json.loads(line) for line in habit_lines(pets=2, seed=5)]
    own_time = [r for r in records if r["cue"] == "idle"]
    assert len(own_time) > 20
    assert {line for r in own_time for line in r["prompt"].split("\n")[-2:-1]} == {"(Owner is quiet.)"}
    weary = [r["reply"] for r in own_time if any(f", {word}, " in r["prompt"] for word in ("weary", "tired"))]
    assert weary
    assert all("[nap]" in reply for reply in weary)
    strangers = [r["reply"] for r in records if r["intent"] == "friend_of" and "new to owner" in r["prompt"]]
    friends = [r["reply"] for r in records if r["intent"] == "friend_of" and "devoted to owner" in r["prompt"]]
    assert strangers
    assert not any("best friend" in reply.lower() for reply in strangers)
    assert all("friend" in reply.lower() for reply in friends)


def test_the_same_seed_gives_the_same_habits() -> None:
    assert list(habit_lines(pets=1, seed=4)) == list(habit_lines(pets=1, seed=4)) != list(habit_lines(pets=1, seed=5))
