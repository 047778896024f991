"""Counterfactuals: one fact of a pet's state flipped, everything else the same, and how far the replies move.

A figure is `share of matching replies when it is so - the same share when it is not`, in points.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tokenling.engine import (
    Command,
    Offer,
    State,
    advance,
    apply_command,
    body_clock_ms,
    dump_save,
    load_save,
    parse_command,
    pending_turn,
)
from tools.grade_brain.lives import SEED
from tools.grade_brain.marks import tags_in, words_in
from tools.grade_brain.tally import Figure
from tools.grade_brain.turns import Answer
from tools.train_brain.lives import MINUTE_MS, Lived, adopted, at_day, shaken, take_turn, until_seen
from tools.train_brain.owners import Said, drawn_words
from tools.train_brain.phrases import Chance
from tools.train_brain.scene import METERS

Question = Callable[[State, bool], Lived]
LOW, EVEN, HIGH = 100_000, 600_000, 960_000
"""A meter in its lowest band, in one that asks for nothing, and in its highest."""
IDLE_HOURS_MAX = 6
"""A waking pet has a turn of its own within them."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A question to a pet of whom the fact holds, or does not, and which replies match the fact."""

    question: Question
    matches: Callable[[str], bool]


def flip_figures(answer: Answer, states: Sequence[State]) -> dict[str, Figure]:
    """By fact, the points that it moves the matching share."""
    return {name: moved(answer, flip, states) for name, flip in FLIPS.items()}


def moved(answer: Answer, flip: Flip, states: Sequence[State]) -> Figure:
    """The points of one fact, with both shares beside them."""
    so, not_so = (
        100 * sum(flip.matches(answer(flip.question(state, fact)).text) for state in states) / len(states)
        for fact in (True, False)
    )
    return Figure(round(so - not_so, 1), "points", f"{so:.0f} % against {not_so:.0f} %")


def grown_states(count: int) -> list[State]:
    """Shaken pets at day, awake, as grading lives have them."""
    return [grown_state(number) for number in range(count)]


def grown_state(number: int) -> State:
    """The pet of that number."""
    chance = Chance("counterfactual", SEED, number)
    state, _ = until_seen(adopted(chance), chance)
    while True:
        state, _ = until_seen(state, chance)
        state = shaken(state, chance)
        if state.stage != "egg" and at_day(state) and pending_turn(state) is None:
            return state


def edited(state: State, **members: object) -> State:
    """The same pet with other members of its save."""
    return load_save(json.dumps(json.loads(dump_save(state)) | members).encode())


def steady(state: State, meter: str, so: bool, **members: object) -> State:
    """A pet that nobody told anything and that needs nothing, but for one meter that may be low."""
    body = dict.fromkeys(METERS, EVEN) | {meter: HIGH if so else LOW}
    return edited(state, **{"chat": [], "memories": [], "body": body, "snacks": 2, **members})


def asked_now(state: State, command: Command, said: Said | None = None) -> Lived:
    """The turn that a command makes due at once, and the writer's answer to it."""
    at_ms = body_clock_ms(state)
    state = apply_command(state, command, at_ms).state
    turn = pending_turn(advance(state, at_ms + MINUTE_MS).state)
    assert turn is not None
    return take_turn(state, turn, said, Chance("flip", turn.seed))[1]


def said_now(state: State, text: str, intent: str) -> Lived:
    """The turn that a line of the owner's makes due."""
    words = drawn_words(Chance("flip", text)) | {"topic": text.rstrip("?").split()[-1]}
    return asked_now(state, parse_command({"kind": "say", "text": text}), Said(text, intent, words))


def offered(offer: str, item: str, meter: str) -> Question:
    """An offer, with one meter high or low."""
    return lambda state, so: asked_now(steady(state, meter, so), Offer(offer, item))


def asked(text: str, intent: str, meter: str) -> Question:
    """A question, with one meter high or low."""
    return lambda state, so: said_now(steady(state, meter, so), text, intent)


def asked_knowing(text: str, intent: str, memory: str) -> Question:
    """A question about what was told before, or never was."""

    def question(state: State, so: bool) -> Lived:
        kept = [{"atMs": body_clock_ms(state), "recalled": 0, "text": memory}] if so else []
        return said_now(steady(state, "mood", so=True, memories=kept), text, intent)

    return question


def asked_under(text: str, so_sky: str, else_sky: str) -> Question:
    """A question about the weather, under one sky or another."""
    return lambda state, so: said_now(
        steady(state, "mood", so=True, weather=so_sky if so else else_sky), text, "weather"
    )


def by_itself(meter: str) -> Question:
    """A turn of the pet's own, with one meter high or low."""

    def question(state: State, so: bool) -> Lived:
        state = steady(state, meter, so)
        for _ in range(IDLE_HOURS_MAX):
            state = advance(state, body_clock_ms(state) + 60 * MINUTE_MS).state
            turn = pending_turn(state)
            if turn is not None and turn.kind == "idle":
                return take_turn(state, turn, None, Chance("flip", turn.seed))[1]
        raise AssertionError(f"no turn of its own within {IDLE_HOURS_MAX} hours")

    return question


def says(*words: str) -> Callable[[str], bool]:
    """Whether a reply holds one of the words."""
    return lambda text: any(word in words_in(text).lower() for word in words)


def does(tag: str) -> Callable[[str], bool]:
    """Whether a reply carries a tag."""
    return lambda text: tag in tags_in(text)


FLIPS: Mapping[str, Flip] = {
    "full, not hungry: offered food is declined": Flip(offered("food", "carrot", "fullness"), does("decline")),
    "lively, not tired: a game of catch is accepted": Flip(offered("catch", "", "energy"), does("accept")),
    "full, not hungry: says so when asked": Flip(
        asked("are you hungry?", "ask_hungry", "fullness"),
        says("full", "stuffed", "no,", "no thank", "not at all", "round", "eaten"),
    ),
    "lively, not tired: says so when asked": Flip(
        asked("are you tired?", "ask_sleepy", "energy"),
        says("awake", "hops", "not a bit", "fresh", "rested", "zoomies", "no!"),
    ),
    "clean, not dirty: says so when asked": Flip(
        asked("are you dirty?", "ask_clean", "hygiene"), says("clean", "shiny", "spotless", "fluffy", "not a speck")
    ),
    "warm, not cold: says so when asked": Flip(
        asked("are you cold?", "ask_warm", "warmth"), says("warm", "toast", "hot", "melt", "too much")
    ),
    "rain, not sun: says so after looking": Flip(
        asked_under("what's the weather like?", "rain", "sun"), says("rain", "umbrella", "puddle", "wet", "drops")
    ),
    "name told, not untold: says it when asked": Flip(
        asked_knowing("what is my name?", "my_name", "owner's name is Ana"), says("ana")
    ),
    "memory there, not missing: tells it when asked": Flip(
        asked_knowing("do you remember the piano?", "recall", "owner plays the piano"), says("you play")
    ),
    "friend, not stranger: says so when asked": Flip(
        asked("are we friends?", "love", "bond"), says("best friend", "best team", "love you", "for ever", "warm heart")
    ),
    "fed, not hungry: leaves its snacks alone": Flip(by_itself("fullness"), lambda text: "eat" not in tags_in(text)),
    "clean, not dirty: washes itself only then": Flip(by_itself("hygiene"), lambda text: "wash" not in tags_in(text)),
}
"""By fact, how it is asked for and seen."""
