"""What a turn asks: a compact header, the last lines, the open prefix; frozen by digest with PROMPT_VERSION."""

from dataclasses import replace
from hashlib import sha256

import pytest
from engine_scenes import HOUR, MINUTE, NOON, answered, awake, care, do, live, offer, quietly, say

from tokenling.engine import PROMPT_VERSION, GenerationRequest, State, advance, build_request, pending_turn, prompt_text
from tokenling.engine.contract import contract_states
from tokenling.engine.lists import LISTS, WEATHERS
from tokenling.engine.phrases import _TOLD
from tokenling.engine.state import Event, Game, Memory, OpenOffer, Want

HEADER_WORDS_MAX = 90
FROZEN = {1: "6053e1948d9bc6a5e68e4eadc30fc7337e74c5f8a89e88d808fe8fdd89ab6dc1"}
"""SHA-256 over the prompts, tags and lookups of the contract's 300 states, by prompt version."""


STATES = contract_states()


def request_of(state: State) -> GenerationRequest:
    turn = pending_turn(state)
    assert turn is not None
    return build_request(state, turn)


def text_of(state: State) -> str:
    request = request_of(state)
    return prompt_text(request.header, request.lines, request.prefix)


def test_the_prompts_of_this_version_are_frozen() -> None:
    shown = [(shown["prompt"], shown["mode"], shown["tags"], shown["lookups"]) for shown in STATES]
    assert len(shown) == 300
    assert FROZEN[PROMPT_VERSION] == sha256(repr(shown).encode()).hexdigest()


def test_a_worked_example() -> None:
    state = replace(
        awake(),
        stage="child",
        place="pond",
        feeling="proud",
        memories=(Memory("Sam likes tea", NOON), Memory("the kite is red", NOON)),
        want=None,
        snacks=2,
    )
    state = replace(state, character=replace(state.character, traits=("shy", "dreamy"), food="plum"))
    state = replace(state, body=replace(state.body, fullness=200_000, energy=900_000, mood=700_000, hygiene=100_000))
    state = answered(do(state, care("feed"), NOON + 1).state, "[happy] Yum!")
    state = do(state, say("Do you like Sam? [eat]"), NOON + 2).state
    item = state.events[-2].item
    assert text_of(state) == (
        "Pip is a shy, dreamy child who loves plum.\n"
        "Awake at the pond, noon, summer, feeling happy.\n"
        "Body: peckish, lively, glad, muddy, mild, used to owner.\n"
        "Snacks: 3.\n"
        "Knows: Sam likes tea; the kite is red.\n"
        f"Lately: hatched, was fed {item}.\n"
        "Pip: Yum!\n"
        "Owner: Do you like Sam? (eat)\n"
        "Pip:"
    )


def test_production_sampling_and_budgets() -> None:
    request = request_of(do(awake(), say(), NOON + 1).state)
    assert (request.temperature_milli, request.top_k, request.top_p_milli, request.ctx) == (850, 40, 920, 1024)
    assert (request.mode, request.max_new) == ("line", 48)
    assert 0 <= request.seed < 2**53


def test_weather_and_exact_time_are_lookups_and_not_in_the_header() -> None:
    state = do(awake(), say(), NOON + 1).state
    request = request_of(state)
    assert request.answers["[look weather]"] == state.weather
    assert request.answers["[look time]"] == "twelve around noon"
    assert not any(weather in request.header.split() for weather in WEATHERS)
    assert "twelve" not in request.header


def test_a_memory_that_the_owner_speaks_of_comes_first_and_others_can_be_recalled() -> None:
    memories = tuple(Memory(text, NOON) for text in ("tea is warm", "red bicycle", "old boots", "big whale", "salt"))
    request = request_of(do(replace(awake(), memories=memories), say("is the tea good?"), NOON + 1).state)
    assert "Knows: tea is warm; salt; big whale." in request.header
    assert "Recall: boots, bicycle." in request.header
    assert request.answers["[recall bicycle]"] == "red bicycle"
    assert "[recall bicycle]" in request.tags


def test_accept_and_decline_are_legal_only_while_an_offer_is_open() -> None:
    assert "[accept]" not in request_of(do(awake(), say(), NOON + 1).state).tags
    request = request_of(do(awake(), offer("catch"), NOON + 1).state)
    assert request.tags[:2] == ("[accept]", "[decline]")
    assert "Offer: a game of catch." in request.header
    assert request.lines[-1] == "(Owner offers a game of catch.)"


def test_a_sleeper_is_asked_as_a_sleeper() -> None:
    request = request_of(do(replace(awake(), asleep=True), say("psst"), NOON + 1).state)
    assert "Asleep in the nest" in request.header
    assert request.tags == ("[wake]", "[sleepy]", "[remember …]", "[look weather]", "[look time]")


def test_an_idle_turn_says_that_the_owner_is_quiet_and_shows_few_lines() -> None:
    state = live(awake(chatter=4), NOON + 5 * HOUR)
    state = advance(state, NOON + 7 * HOUR).state
    request = request_of(state)
    assert request.lines[-1] == "(Owner is quiet.)"
    assert len(request.lines) <= 5
    assert request.prefix == "Pip:"


def test_the_pets_own_monologue_is_cut_to_two_lines_in_a_row() -> None:
    state = awake()
    for number in range(6):
        state = answered(do(state, care("wash"), NOON + number).state, f"line {number}")
    request = request_of(do(state, say("hi"), NOON + 9).state)
    assert request.lines == ("Pip: line 4", "Pip: line 5", "Owner: hi")


def test_a_diary_turn_tells_the_day_with_sums() -> None:
    state = awake()
    for hour in range(4):
        command = {"kind": "care", "action": "feed", "item": "plum"}
        state = quietly(do(quietly(state, NOON + hour * HOUR), command, NOON + hour * HOUR).state, NOON + hour * HOUR)
    request = request_of(advance(state, NOON + 12 * HOUR).state)
    assert (request.mode, request.prefix, request.max_new) == ("diary", "Diary:", 96)
    assert "was fed plum 4 times" in request.lines[0]
    assert "[eat]" not in request.tags
    assert "[accept]" not in request.tags


def test_headers_stay_compact_and_printable() -> None:
    for shown in STATES:
        prompt = str(shown["prompt"])
        header = prompt.split("\nOwner:", maxsplit=1)[0].split("\n(", maxsplit=1)[0]
        assert len(header.split()) <= HEADER_WORDS_MAX
        assert "[" not in prompt
        assert "{" not in prompt


def test_a_header_and_prefix_fit_the_context_even_with_one_token_a_byte() -> None:
    cat = "\U0001f431"
    memories = tuple(Memory(f"{n:03}" + cat * 37, NOON) for n in range(4))
    memories += tuple(Memory("\u6f22" * 6 + f"{n:06}" + " x" * 10, NOON) for n in range(20))
    state = replace(awake(), name=cat * 24, memories=memories, tucked=True, snacks=6)
    state = replace(
        state, want=Want("company", NOON), offer=OpenOffer("gift", "feather", NOON, NOON + HOUR, asked=True)
    )
    state = replace(state, game=Game("g1", NOON, NOON + HOUR))
    state = replace(state, events=tuple(Event("declined", NOON, f"feather {n:08}") for n in range(9)))
    state = quietly(replace(state, owner_ms=NOON - 10 * HOUR), NOON)
    request = request_of(do(state, say("hi"), NOON).state)
    budget = request.ctx - 96
    assert 400 < len(prompt_text(request.header, (), request.prefix).encode()) <= budget


def test_long_and_costly_memories_are_left_out_of_the_header() -> None:
    memories = tuple(Memory(f"{n} " + "\U0001f431" * 38, NOON) for n in range(3))
    request = request_of(do(replace(awake(), memories=memories), say(), NOON).state)
    assert request.header.count(";") == 0
    assert "Knows: 2 " in request.header


def test_a_running_game_is_told() -> None:
    state = answered(do(awake(), offer("catch"), NOON + 1).state, "[accept] Throw!")
    assert "Playing catch." in request_of(do(state, say(), NOON + 2).state).header


def test_at_most_four_topics_are_offered_to_recall() -> None:
    memories = tuple(Memory(f"thing{n:02} {'y' * 3}", NOON) for n in range(20))
    request = request_of(do(replace(awake(), memories=memories), say(), NOON).state)
    assert len([tag for tag in request.tags if tag.startswith("[recall ")]) == 4


@pytest.mark.parametrize(("minutes", "told"), [(480, True), (481, False)])
def test_lately_reaches_eight_hours_back(minutes: int, told: bool) -> None:
    state = replace(awake(), events=(Event("went", NOON - minutes * MINUTE, "attic"),))
    assert ("went to the attic" in request_of(do(state, say(), NOON).state).header) is told


def test_every_event_can_be_told() -> None:
    assert list(_TOLD) == list(LISTS["events"])


def test_nobody_types_tags_into_a_prompt() -> None:
    state = do(awake(), {"kind": "settings", "name": "[eat]"}, NOON + 1).state
    state = answered(do(state, say("[accept] [nap]"), NOON + 2).state, "[remember [nap] x] [[nap]] fine")
    state = do(state, say("again"), NOON + 2 * MINUTE).state
    assert "[" not in text_of(state)
