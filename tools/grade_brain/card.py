"""The figures of a report card, over held-out owners and states."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tokenling.engine import (
    GenerationRequest,
    Offer,
    Reply,
    State,
    advance,
    apply_command,
    body_clock_ms,
    build_request,
    dump_save,
    load_save,
    parse_command,
    pending_turn,
)
from tools.grade_brain.marks import (
    distinct,
    legal,
    lookup_wanted,
    memory_wanted,
    tags_in,
    wanted_actions,
    word_told,
    words_in,
)
from tools.train_brain.lives import MINUTE_MS, Lived, adopted, live, shaken, until_seen
from tools.train_brain.owners import make_owner
from tools.train_brain.phrases import Chance

MARKS = (
    "fitting actions", "right lookups", "false lookups", "told words said", "right memories", "legal tags",
    "empty replies", "verbatim the writer's",
)  # fmt: skip
Ask = Callable[[GenerationRequest], Reply]
LOW, HIGH = 100_000, 960_000
"""A meter in its lowest and in its highest band."""
SEED = 1_000_003
"""Grading lives are other lives than any training's."""


@dataclass
class Tally:
    """So many of so many."""

    right: int = 0
    total: int = 0

    def count(self, right: bool) -> None:
        """One more."""
        self.total += 1
        self.right += right

    def __str__(self) -> str:
        return f"{100 * self.right / max(1, self.total):.1f} % of {self.total}"


def held_out_turns(count: int) -> Iterator[Lived]:
    """Turns of owners whose phrases no training saw, as the writer lived them; one turn in three is taken."""
    taken = number = 0
    while taken < count:
        chance = Chance("grade", SEED, number)
        for lived in live(make_owner(number, SEED, untried=True), chance, 3):
            if taken < count and chance.holds(33):
                taken += 1
                yield lived
        number += 1


def grade(ask: Ask, turns: int) -> dict[str, str]:
    """The figures by name."""
    tallies = {name: Tally() for name in MARKS}
    spoken: list[str] = []
    for lived in held_out_turns(turns):
        reply = ask(lived.request).text
        spoken.append(words_in(reply))
        mark(tallies, lived, reply)
    figures = {name: str(tally) for name, tally in tallies.items()}
    return figures | {"distinct-1": f"{distinct(spoken, 1):.2f}", "distinct-2": f"{distinct(spoken, 2):.2f}"}


def mark(tallies: dict[str, Tally], lived: Lived, reply: str) -> None:
    """One reply's marks."""
    scene, tags = lived.scene, tags_in(reply)
    wanted = wanted_actions(scene)
    if wanted is not None:
        tallies["fitting actions"].count(bool(wanted.intersection(tags)))
    lookup = lookup_wanted(scene)
    if lookup:
        tallies["right lookups"].count(lookup[1:-1] in tags)
    elif scene.said is not None and scene.said.intent not in ("recall", "recall_any", "my_name", "weather", "time"):
        tallies["false lookups"].count(any(tag.startswith(("look ", "recall ")) for tag in tags))
    if word := word_told(lived):
        tallies["told words said"].count(word in words_in(reply).lower())
    if memory := memory_wanted(lived):
        tallies["right memories"].count(memory in reply)
    tallies["legal tags"].count(legal(reply, scene))
    tallies["empty replies"].count(not words_in(reply))
    tallies["verbatim the writer's"].count(words_in(reply) == words_in(lived.reply))


# --- counterfactuals --------------------------------------------------------------------------------------------------


def counterfactuals(ask: Ask, count: int) -> dict[str, str]:
    """How far one flipped fact moves the share of matching replies: `share when so - share when not so`, in points."""
    pairs: dict[str, tuple[Callable[[State, bool], GenerationRequest], Callable[[str], bool]]] = {
        "full: food is declined": (offered("food", "carrot", "fullness"), lambda text: "decline" in tags_in(text)),
        "lively: catch is accepted": (offered("catch", "", "energy"), lambda text: "accept" in tags_in(text)),
        "full: says so when asked": (asked("are you hungry?", "fullness"), says("full", "stuffed", "no,", "round")),
        "lively: says so when asked": (
            asked("are you tired?", "energy"),
            says("awake", "hops", "not a bit", "fresh", "rested"),
        ),
        "clean: says so when asked": (asked("are you dirty?", "hygiene"), says("clean", "shiny", "spotless", "fluffy")),
        "name known: says it": (named(), says("ana")),
    }
    states = [grown_state(number) for number in range(count)]
    told: dict[str, str] = {}
    for name, (question, holds) in pairs.items():
        shares = [sum(holds(ask(question(state, so)).text) for state in states) for so in (True, False)]
        told[name] = f"{100 * shares[0] / count:.0f} % against {100 * shares[1] / count:.0f} %"
    return told


def grown_state(number: int) -> State:
    """A shaken pet at day, awake."""
    chance = Chance("counterfactual", SEED, number)
    state, _ = until_seen(adopted(chance), chance)
    while True:
        state, _ = until_seen(state, chance)
        state = shaken(state, chance)
        if not state.asleep and state.stage != "egg" and pending_turn(state) is None:
            return state


def edited(state: State, **members: object) -> State:
    """The same pet with other members of its save."""
    save = json.loads(dump_save(state))
    for name, value in members.items():
        if isinstance(value, dict):
            save[name] |= value
        else:
            save[name] = value
    return load_save(json.dumps(save).encode())


def offered(offer: str, item: str, meter: str) -> Callable[[State, bool], GenerationRequest]:
    """An offer, with one meter high or low and the others unremarkable."""
    return lambda state, so: asked_now(steady(state, meter, so), Offer(offer, item))


def asked(text: str, meter: str) -> Callable[[State, bool], GenerationRequest]:
    """A question, with one meter high or low and the others unremarkable."""
    command = parse_command({"kind": "say", "text": text})
    return lambda state, so: asked_now(steady(state, meter, so), command)


def named() -> Callable[[State, bool], GenerationRequest]:
    """The question for the owner's name, told before or not."""
    command = parse_command({"kind": "say", "text": "what is my name?"})

    def question(state: State, so: bool) -> GenerationRequest:
        kept = [{"atMs": body_clock_ms(state), "recalled": 0, "text": "owner's name is Ana"}] if so else []
        return asked_now(edited(steady(state, "mood", so=True), memories=kept), command)

    return question


def steady(state: State, meter: str, so: bool) -> State:
    """A pet that needs nothing, but for one meter that may be low."""
    body = dict.fromkeys(("fullness", "energy", "mood", "hygiene", "warmth", "bond"), 600_000)
    return edited(state, chat=[], memories=[], body=body | {meter: HIGH if so else LOW})


def asked_now(state: State, command: Offer | object) -> GenerationRequest:
    """The request of the turn that a command makes due at once."""
    at_ms = body_clock_ms(state)
    state = apply_command(state, command, at_ms).state  # type: ignore[arg-type]  # one of the engine's commands
    turn = pending_turn(advance(state, at_ms + MINUTE_MS).state)
    assert turn is not None
    return build_request(state, turn)


def says(*words: str) -> Callable[[str], bool]:
    """Whether a reply holds one of the words."""
    return lambda text: any(word in words_in(text).lower() for word in words)
