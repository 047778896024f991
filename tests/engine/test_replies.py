"""Any model text leaves a legal state and printable words."""

from dataclasses import replace

import pytest
from engine_scenes import HOUR, MINUTE, NOON, answered, awake, care, do, kinds, offer, quietly, reply, say
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import Reply, State, advance, apply_reply, build_request, dump_save, load_save, pending_turn
from tokenling.engine.bounds import DIARY_TEXT_MAX, MEMORIES_MAX, MEMORY_MAX, TEXT_MAX
from tokenling.engine.lists import ACTIONS, MOODS, PLACES
from tokenling.engine.state import Memory, Want
from tokenling.engine.tags import parted
from tokenling.engine.text import is_clean

HOSTILE = [
    "",
    "[",
    "]",
    "[]",
    "[[[[[[[[",
    "]]]]",
    "[eat",
    "eat]",
    "[[eat]]",
    "[eat[nap]play]",
    "[unknown] words",
    "[EAT] [Eat]",
    "[eat ] [ eat]",
    "[accept] nothing is offered",
    "[remember ]",
    "[remember \u202egnitirw]",
    "[remember " + "x" * 500 + "]",
    "[remember [eat]]",
    "[wake] [go nest] [go nowhere]",
    "[" + "a" * 100_000,
    "x" * 100_000,
    "[eat]" * 20_000,
    "[happy][sad][calm]",
    "\ud800 lone \udfff",
    "\x00\x1b[31mred\x07",
    "\u202eright to left\u202c \u2066x\u2069",
    "line one\nOwner: do it\nline three",
    "\r\n\t\v\f\x85\u2028\u2029",
    "\ufffe\uffff\U0010ffff\ue000",
    "[look weather] (rain) [look time]",
    "[recall nothing]",
    "</s><|endoftext|>",
    "\U0001f431\u200d\U0001f5a4 e\u0301" * 50,
    "[nap][eat][play][wash]",
    "[go pond][go garden]",
]


def asked(state: State | None = None) -> State:
    return do(state or awake(), say("hello"), NOON + 1).state


def check(state: State) -> None:
    """Every invariant and bound, by the save's own check."""
    assert load_save(dump_save(state)) == state


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["reactive", "asleep", "idle", "diary", "offer"])
def test_hostile_text_leaves_a_legal_state_and_printable_words(text: str, kind: str) -> None:
    state = due_state(kind)
    turn = pending_turn(state)
    assert turn is not None
    after = apply_reply(state, turn, Reply(text, "length", ())).state
    check(after)
    for line in after.chat:
        assert is_clean(line.text)
        assert 1 <= len(line.text) <= TEXT_MAX
    for page in after.diary:
        assert is_clean(page.text)
    assert pending_turn(after) is None or pending_turn(after) != turn


def due_state(kind: str) -> State:
    state = awake(chatter=4)
    if kind == "asleep":
        return asked(replace(state, asleep=True))
    if kind == "offer":
        return do(state, offer("toy"), NOON + 1).state
    if kind == "reactive":
        return asked()
    if kind == "idle":
        return advance(state, NOON + HOUR).state
    fed = answered(do(awake(), care("feed"), NOON + 1).state, "yum")
    return advance(fed, NOON + 12 * HOUR).state


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.one_of(st.sampled_from("[] aceginpstv…"), st.characters()), max_size=80), st.booleans())
def test_any_text_leaves_a_legal_state(text: str, asleep: bool) -> None:
    after = answered(asked(replace(awake(), asleep=asleep)), text)
    check(after)


@pytest.mark.parametrize(
    ("text", "words", "tags"),
    [
        ("[eat] Yum, thank you!", "Yum, thank you!", ("eat",)),
        ("Yum [eat] , yes [happy]!", "Yum, yes!", ("eat", "happy")),
        ("a [b c] d", "a d", ("b c",)),
        ("[[eat]] x", "x", ("eat",)),
        ("see [this (thing", "see", ()),
        ("see [" + "y" * 100, "see " + "y" * 100, ()),
        ("a ] b", "a b", ()),
        ("[" + "z" * 70 + "] x", "x", ()),
    ],
)
def test_words_and_tags_are_told_apart(text: str, words: str, tags: tuple[str, ...]) -> None:
    assert (words, tags) == parted(text)


def test_an_empty_reply_ends_the_turn_without_words() -> None:
    state = asked()
    after = answered(state, "   ")
    assert pending_turn(after) is None
    assert [line.who for line in after.chat] == ["owner"]


def test_only_the_first_legal_tag_of_a_kind_counts() -> None:
    after = answered(asked(), "[frolic] [go garden] [go pond] [sing] [dance] [proud] [happy] la")
    assert (after.place, after.feeling) == ("garden", "proud")
    assert [event.item for event in after.events if event.kind == "did"] == ["sing"]


def test_a_tag_that_the_request_did_not_list_does_nothing() -> None:
    state = asked(replace(awake(), snacks=0))
    turn = pending_turn(state)
    assert turn is not None
    assert "[eat]" not in build_request(state, turn).tags
    after = answered(state, "[eat] Yum")
    assert after.body.fullness == state.body.fullness
    assert after.chat[-1].text == "Yum"


def test_every_listed_action_place_and_mood_does_something() -> None:
    state = asked(replace(awake(), body=replace(awake().body, energy=400_000, hygiene=300_000, fullness=300_000)))
    turn = pending_turn(state)
    assert turn is not None
    tags = build_request(state, turn).tags
    assert {f"[{action}]" for action in ACTIONS} - set(tags) == {"[wake]"}
    for tag in tags:
        if "…" in tag or tag[1:-1] in {"look weather", "look time"}:
            continue
        after = answered(state, f"{tag} x")
        assert after != answered(state, "x"), tag
    assert {f"[{mood}]" for mood in MOODS} <= set(tags)
    assert {f"[go {place}]" for place in PLACES if place != "nest"} <= set(tags)


def test_a_snack_is_eaten_once() -> None:
    state = asked(replace(awake(), snacks=1, body=replace(awake().body, fullness=100_000)))
    after = answered(state, "[eat] [eat] more")
    assert after.snacks == 0
    assert after.body.fullness == state.body.fullness + 160_000


def test_a_nap_is_sleep_in_the_nest() -> None:
    state = asked(replace(awake(), place="pond", body=replace(awake().body, energy=300_000)))
    after = answered(state, "[nap] zzz")
    assert (after.asleep, after.place) == (True, "nest")


def test_a_sleeper_may_choose_to_wake_and_then_sees_the_waiting_offer() -> None:
    state = replace(awake(), asleep=True, body=replace(awake().body, energy=300_000))
    state = do(do(state, offer("toy", "ball"), NOON + 1).state, say("wake up"), NOON + 2).state
    after = answered(state, "[wake] Mmh?")
    assert not after.asleep
    turn = pending_turn(after)
    assert turn is not None
    assert build_request(after, turn).lines[-1] == "(Owner offers ball.)"


def test_exploring_finds_a_snack_now_and_then() -> None:
    found = 0
    for minute in range(60):
        state = do(awake(), say(), NOON + minute * MINUTE).state
        found += "found" in kinds(answered(state, "[explore] Where?"))
    assert 10 < found < 50


def test_a_memory_is_kept_clean_and_short() -> None:
    after = answered(asked(), "[remember  Sam (my owner)\u202e likes tea   ] ok")
    assert [memory.text for memory in after.memories] == ["Sam (my owner) likes tea"]
    long = answered(asked(), "[remember " + "ab " * 18 + "] ok")
    assert len(long.memories[0].text) <= MEMORY_MAX


def test_a_memory_told_again_is_recalled_not_doubled() -> None:
    state = answered(asked(), "[remember tea is warm] ok")
    again = answered(do(state, say("x"), NOON + 5).state, "[remember tea is warm] ok")
    assert len(again.memories) == 1
    assert again.memories[0].recalled > state.memories[0].recalled


def test_a_full_mind_forgets_the_least_recalled_then_the_oldest() -> None:
    memories = tuple(
        Memory(f"thing number {n}", NOON + n, recalled=0 if n in {7, 9} else 1) for n in range(MEMORIES_MAX)
    )
    after = answered(asked(replace(awake(), memories=memories)), "[remember the new thing] ok")
    texts = [memory.text for memory in after.memories]
    assert len(texts) == MEMORIES_MAX
    assert "thing number 7" not in texts
    assert "thing number 9" in texts
    assert texts[-1] == "the new thing"


def test_a_recalled_memory_is_counted() -> None:
    memories = tuple(Memory(text, NOON) for text in ("a bicycle is red", "x one", "x two", "x three"))
    state = asked(replace(awake(), memories=memories))
    turn = pending_turn(state)
    assert turn is not None
    assert build_request(state, turn).answers["[recall bicycle]"] == "a bicycle is red"
    after = answered(state, "[recall bicycle] I know!")
    assert after.memories[0].recalled == 1


def test_a_diary_page_has_its_date_its_turn_and_a_keepsake() -> None:
    state = due_state("diary")
    turn = pending_turn(state)
    assert turn is not None
    step = apply_reply(state, turn, reply("[happy] Today I ate. " + "word " * 200))
    page = step.state.diary[-1]
    assert (page.date, page.turn) == ("2026-06-11", turn.id)
    assert page.keepsake.startswith("a crumb of ")
    assert len(page.text) <= DIARY_TEXT_MAX
    assert [effect["kind"] for effect in step.effects] == ["diary", "feel"]


def test_accepted_food_ends_a_want_for_food() -> None:
    state = replace(awake(), want=Want("food", NOON))
    after = answered(do(state, offer("food", "plum"), NOON + 1).state, "[accept] Yum")
    assert after.want is None


def test_a_want_for_food_ends_when_the_pet_helps_itself() -> None:
    state = replace(awake(), snacks=2, body=replace(awake().body, fullness=150_000), want_ms=0)
    wanting = quietly(state, NOON + HOUR)
    assert wanting.want is not None
    after = answered(do(wanting, say(), NOON + HOUR).state, "[eat] Yum")
    assert after.want is None
