"""Drills: short examples that can only be answered by reading the prompt, beside the lives' long ones.

In a life one turn in many is about a name, a thing told or a meter, so a brain learns late to look there. A drill is
the engine's own prompt for such a turn with little around it, answered by the same writer. Two kinds:

* *told*: the owner's line alone, without a header. The reply, and what it keeps, repeats a word that may be invented:
  it cannot be guessed, only copied.
* *seen*: one header and the questions that it answers; then the same questions to the *flipped* pet, with one fact
  changed. What differs between the two replies is what the header's word is worth. Each of them comes again with that
  one line of the header: what to look at is learned sooner where there is little else.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tokenling.engine import (
    Care,
    Command,
    JsonValue,
    Offer,
    State,
    advance,
    apply_command,
    body_clock_ms,
    dump_save,
    game_of,
    load_save,
    parse_command,
    pending_turn,
)
from tokenling.engine.balance import BANDS
from tokenling.engine.lists import CARE, FOODS, GIFTS, MOODS, OFFERS, PLACES, STAGES, TOYS, WEATHERS
from tools.train_brain.lives import (
    MINUTE_MS,
    ZONES,
    Lived,
    adopted,
    life_words,
    made_ready,
    record_of,
    shaken_meter,
    take_turn,
    until_seen,
    whole,
)
from tools.train_brain.owners import Owner, Said
from tools.train_brain.phrases import Chance
from tools.train_brain.rules import ACTION_BY_TRAIT
from tools.train_brain.scene import METERS
from tools.train_brain.writer.book import invented_word, phrases_of, words_of

TOLD = ("tell_name", "tell_name", "tell_like", "tell_like", "tell_dislike", "tell_fact", "tell_fact", "i_did", "i_did")
"""What an owner tells that a reply takes up; `place_go` and the like are heard well without drills."""
BODILY = (
    "ask_hungry", "ask_sleepy", "ask_clean", "ask_warm", "how_are_you", "play", "feed_text", "where", "my_name",
    "what_see", "recall",
)  # fmt: skip
"""Questions that one line of the header answers."""
SEEN = (*BODILY, "love", "friend_of", "greet", "bye", "night", "weather", "time", "meal", "recall_any")
"""Questions that the header, or what a lookup finds, answers."""
OWN_SELF = ("your_name", "about_you", "favourite", "compliment", "old")
"""The first line answers these."""
UNHEARD = frozenset(
    (
        *SEEN, *OWN_SELF, "place_go", "more", "more_plain", "ask_last", "sad_more", "again", "morning", "like_it",
        "really", "go_on", "critic", "they_do", "want_come",
    )
)  # fmt: skip
"""What a line alone does not tell how to answer."""
ANSWERED_BY: Mapping[str, tuple[str, ...]] = {
    "where": ("Awake ",),
    "my_name": ("Knows: ",),
    "recall": ("Knows: ", "Recall: "),
}
"""The line of the header that answers a question; where none is named, the body's."""
SHORT_ORDER = (
    "ask_hungry", "ask_sleepy", "my_name", "ask_clean", "ask_warm", "recall", "how_are_you", "play", "where",
    "feed_text",
)  # fmt: skip
GRAVE, GRAVE_PERCENT = ("sad", "sad", "worried", "ill", "insult", "vile", "i_did", "plan", "happy_owner"), 35
"""What must not be mistaken for each other, and how much of what is heard alone it is."""
MEMORIES = ("likes <thing>", "dislikes <thing>", "has a <animal>", "is a <job>", "plays the <instrument>")
SHAKES = 6
"""States that one pet is drilled in; a new pet costs more than a new state."""
LOOKED_UP = ("weather", "weather", "time", "time", "sky_told", "ask_warm", "meal", "busy", "night", "doing")
"""What needs a lookup, and what only sounds like it: heard alone they differ by the owner's words."""
TOLD_BRANCHES, HEARD_BRANCHES, LOOKED_UP_BRANCHES, SEEN_BRANCHES, DEEDS = 6, 8, 3, 9, 4
INVENTED_PERCENT, NAME_KNOWN_PERCENT, ASLEEP_PERCENT, EVENTFUL_PERCENT, CHATTED_PERCENT = 50, 60, 6, 30, 45
FLIPPED_FACTS = ("fullness", "energy", "hygiene", "warmth", "mood", "bond", "name", "place")
SATED_PERCENT = 55
"""How often the pets of a pair of deeds are a full one and one that is not: a reason to decline must be seen often."""
FLIPPED_FOR_DEEDS = ("energy", "energy", "fullness", "hygiene", "mood")
GAME_SCORES = 13


def drill_lines(*, pets: int, seed: int) -> Iterator[str]:
    """The drills of so many pets as lines like the corpus's."""
    for number in range(pets):
        chance = Chance("drill", seed, number)
        base = hatched(chance)
        for _ in range(SHAKES):
            yield from (json.dumps(record, ensure_ascii=False, sort_keys=True) for record in drills_of(base, chance))


def drills_of(base: State, chance: Chance) -> Iterator[dict[str, JsonValue]]:
    """Lines heard alone, two seen trees that differ in a fact, and deeds done to both pets, of one shaken state."""
    calm = set_up(base, chance, needs=False)
    heard = [one for intent in lone_intents(chance) for one in answered(calm, saying(calm, chance, intent), chance)]
    heard = [one for one in heard if not one.scene.asleep and not (lookups_in(one.reply) and one.scene.part == "night")]
    yield from (headless(record_of(one)) for one in heard)
    plain = set_up(base, chance, needs=True)
    state = with_chat(plain, heard, chance)
    other = flipped(state, chance.pick(FLIPPED_FACTS), chance)
    intents = (*some_of(SEEN, SEEN_BRANCHES, chance), "recall", chance.pick(OWN_SELF), chance.pick(TOLD))
    asked = [saying(state, chance, intent) for intent in intents]
    for pet in (state, other):
        records = [record_of(one) for said in asked for one in answered(pet, in_life_of(pet, said), chance)]
        yield from records
        yield from shortened(records)
    commands = [deed(chance) for _ in range(DEEDS)]
    for pet in contrasted(plain, chance):
        records = [siblings(record_of(one)) for command in commands for one in done(pet, command, chance)]
        yield from records
        yield from (short_deed(record) for record in records if "favourite" not in str(record["reply"]))


def lone_intents(chance: Chance) -> list[str]:
    """What is said without a header: things told, and lines that anybody would answer alike."""
    anybody = tuple(intent for intent in phrases_of("said") if intent not in UNHEARD)
    told = [chance.pick(TOLD) for _ in range(TOLD_BRANCHES)]
    heard = [chance.pick(GRAVE if chance.holds(GRAVE_PERCENT) else anybody) for _ in range(HEARD_BRANCHES)]
    return told + heard + [chance.pick(LOOKED_UP) for _ in range(LOOKED_UP_BRANCHES)]


def lookups_in(reply: str) -> bool:
    """Whether a reply asks for something; by night its words take up the hour too, which a line alone does not tell."""
    return "[look " in reply


def some_of(options: tuple[str, ...], count: int, chance: Chance) -> list[str]:
    """So many different ones, in their order."""
    left = list(options)
    while len(left) > count:
        left.pop(chance.below(len(left)))
    return left


# --- the pets -------------------------------------------------------------------------------------------------------


def hatched(chance: Chance) -> State:
    """A pet that is out of its egg."""
    state = adopted(chance)
    while state.stage == "egg":
        state, _ = until_seen(state, chance)
    return state


def set_up(state: State, chance: Chance, *, needs: bool) -> State:
    """The same pet by another name and character, in another state, with nothing said yet."""
    save = json.loads(dump_save(state))
    save["name"] = new_name(chance, "pet")
    save["character"]["food"] = chance.pick(FOODS)
    save["character"]["traits"] = two_of(tuple(sorted(ACTION_BY_TRAIT)), chance)
    for meter in METERS:
        save["body"][meter] = shaken_meter(chance, lowest=0 if needs else 2)
    asleep = needs and chance.holds(ASLEEP_PERCENT)
    save |= {
        "stage": chance.pick(STAGES[1:]),
        "place": "nest" if asleep else chance.pick(PLACES),
        "feeling": "sleepy" if asleep else chance.pick(MOODS),
        "snacks": chance.below(4),
        "asleep": asleep,
        "chat": [],
        "memories": memories(chance, body_clock_ms(state)) if needs else [],
        "weather": chance.pick(WEATHERS),
        "hosting": save["hosting"] | {"timeZone": chance.pick(ZONES)},
    }
    if not chance.holds(EVENTFUL_PERCENT):
        save["events"] = []
    return load_save(json.dumps(save).encode())


def contrasted(state: State, chance: Chance) -> tuple[State, State]:
    """Two of the same pet: most often one that is full and one that is not."""
    if not chance.holds(SATED_PERCENT):
        return state, flipped(state, chance.pick(FLIPPED_FOR_DEEDS), chance)
    save = json.loads(dump_save(state))
    sated, other = (
        load_save(json.dumps(save | {"body": save["body"] | {"fullness": fullness}}).encode())
        for fullness in (shaken_meter(chance, lowest=4), chance.below(BANDS[-1]))
    )
    return sated, other


def with_chat(state: State, heard: Sequence[Lived], chance: Chance) -> State:
    """The same pet, often after some small talk: what a question needs then stands farther off."""
    save = json.loads(dump_save(state))
    said = [one for one in heard if one.scene.said and one.scene.said.intent not in (*TOLD, "insult", "vile")]
    if not said or save["asleep"] or not chance.holds(CHATTED_PERCENT):
        return state
    chat: list[dict[str, JsonValue]] = []
    for number in range(1 + chance.below(3)):
        one = chance.pick(said)
        at_ms = body_clock_ms(state) - (4 - number) * MINUTE_MS
        words = " ".join(re.sub(r"\[[^\]]*\]", "", one.reply).split())
        heard_as = one.request.lines[-1].removeprefix("Owner: ")  # the engine's own cleaning of what was typed
        chat.append({"who": "owner", "text": heard_as, "turn": "", "atMs": at_ms})
        chat.append({"who": "pet", "text": words, "turn": "", "atMs": at_ms})
    return load_save(json.dumps(save | {"chat": chat}).encode())


def flipped(state: State, fact: str, chance: Chance) -> State:
    """The same pet with one fact of its header changed."""
    save = json.loads(dump_save(state))
    if fact == "name":
        save["memories"] = [] if save["memories"] and chance.holds(50) else memories(chance, body_clock_ms(state))
    elif fact == "place":
        save["place"] = save["place"] if save["asleep"] else chance.pick(PLACES)
    else:
        save["body"][fact] = shaken_meter(chance, lowest=3) if save["body"][fact] < 500_000 else chance.below(340_000)
    return load_save(json.dumps(save).encode())


def memories(chance: Chance, at_ms: int) -> list[JsonValue]:
    """What the pet was told before: often a name, and a few facts."""
    texts = [f"owner's name is {new_name(chance, 'owner')}"] if chance.holds(NAME_KNOWN_PERCENT) else []
    for _ in range(chance.below(5)):
        kind = chance.pick(MEMORIES)
        slot = kind[kind.index("<") + 1 : -1]
        word = (
            invented_word(chance) if slot == "thing" and chance.holds(INVENTED_PERCENT) else chance.pick(words_of(slot))
        )
        texts.append("owner " + kind.replace(f"<{slot}>", word))
    return [{"atMs": at_ms, "recalled": 0, "text": text} for text in dict.fromkeys(texts)]


def new_name(chance: Chance, kind: str) -> str:
    """A name of the book, or one that nobody has."""
    return invented_word(chance).capitalize() if chance.holds(INVENTED_PERCENT) else chance.pick(words_of(kind))


def two_of(options: tuple[str, ...], chance: Chance) -> list[JsonValue]:
    """Two different ones."""
    first = chance.below(len(options))
    return [options[first], options[(first + 1 + chance.below(len(options) - 1)) % len(options)]]


# --- what is said and done ------------------------------------------------------------------------------------------


def saying(state: State, chance: Chance, intent: str) -> Said:
    """A line of a careful owner's, about things that half of the time no list holds."""
    slots = life_words(state, chance)
    for slot in ("thing", "noun"):
        if chance.holds(INVENTED_PERCENT):
            slots[slot] = invented_word(chance)
    return Owner("chatty", new_name(chance, "owner"), untried=False, careless=False).means(intent, chance, slots)


def in_life_of(state: State, said: Said) -> Said:
    """The same line, said to this pet."""
    return replace(said, slots={**said.slots, "name": state.name})


def deed(chance: Chance) -> Command:
    """A care, an offer of a thing with a name (of food most often, for which a full pet has no room), or a game."""
    if chance.holds(20):
        action = chance.pick(CARE)
        return Care(action, chance.pick(FOODS) if action == "feed" else "")
    kind = "food" if chance.holds(25) else chance.pick(OFFERS)
    return Offer(kind, chance.pick({"food": FOODS, "toy": TOYS, "gift": GIFTS, "catch": ("",)}[kind]))


def answered(state: State, said: Said, chance: Chance) -> Iterator[Lived]:
    """The writer's answer to a line."""
    yield from done(state, parse_command({"kind": "say", "text": said.text}), chance, said)


def done(state: State, command: Command, chance: Chance, said: Said | None = None) -> Iterator[Lived]:
    """The writer's answer to what the owner does; a game that it begins is played to its end."""
    now_ms = body_clock_ms(state) + MINUTE_MS
    state, _ = made_ready(state, chance, now_ms)
    state = advance(apply_command(state, command, now_ms).state, now_ms).state
    turn = pending_turn(state)
    if turn is None or turn.kind != "reactive":
        return
    state, lived = take_turn(state, turn, said, chance)
    yield lived
    game = game_of(state)
    if game is not None and now_ms < whole(game["expiresMs"]):
        score = chance.below(GAME_SCORES)
        yield from done(state, parse_command({"kind": "game", "gameId": game["id"], "score": score}), chance)


def siblings(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The record of a deed as one of several to the same pet: they share who it is and how it feels."""
    lines = str(record["prompt"]).split("\n")
    return record | {"shared": next(at for at, line in enumerate(lines) if line.startswith("Body: ")) + 1}


def short_deed(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A deed's record with the body alone of its header."""
    *header, cue, prefix = str(record["prompt"]).split("\n")
    body = [line for line in header if line.startswith("Body: ")]
    return record | {"prompt": "\n".join((*body, cue, prefix)), "shared": 0}


def shortened(records: Sequence[dict[str, JsonValue]]) -> Iterator[dict[str, JsonValue]]:
    """The records of a waking pet again, each with the one line of its header that answers it.

    Their order keeps neighbours apart that would share a trunk, so that a batch holds many bodies.
    """
    by_intent = {str(record["intent"]): record for record in records if "\nAwake " in str(record["prompt"])}
    for intent in SHORT_ORDER:
        if (record := by_intent.get(intent)) is not None:
            *header, said, prefix = str(record["prompt"]).split("\n")
            told = [line for line in header if line.startswith(ANSWERED_BY.get(intent, ("Body: ",)))]
            yield record | {"prompt": "\n".join((*told, said, prefix))}


def headless(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A record whose prompt is the owner's line and the open prefix alone."""
    lines = str(record["prompt"]).split("\n")
    return record | {"prompt": "\n".join(lines[-2:])}
