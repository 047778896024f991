"""Who lives with the pet: kinds of owners, what they say, and how they type it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tools.train_brain.phrases import Chance, bare_words, chosen, expand, filled, held_out, wordings
from tools.train_brain.writer.book import invented_word, phrases_of, words_of

SLOTS = (
    "thing", "noun", "dish", "animal", "job", "month", "home", "instrument", "spot", "snack", "adj", "number", "gift",
)  # fmt: skip
INVENTED_PERCENT = 12
CONVERSATIONS = Path(__file__).parents[1] / "grade_brain" / "conversations.json"
TOPIC = re.compile(r"\{([^{}]*)\}")
"""What a phrase is about, as the book marks it."""

KINDS: Mapping[str, Mapping[str, float]] = {
    "chatty": {},
    "caring": {"how_are_you": 3, "ask_hungry": 3, "ask_sleepy": 2, "ask_clean": 2, "ask_warm": 2, "love": 2},
    "playful": {"play": 4, "joke": 3, "dance": 3, "sing": 2, "laugh": 2, "scared": 2},
    "sad": {"sad": 5, "worried": 3, "tired_owner": 2, "ill": 2, "thanks": 2},
    "silent": {"greet": 2, "cool": 3, "yes": 2, "no": 2, "gibberish": 2},
    "foreign": {"foreign": 14, "greet": 2, "thanks": 2, "night": 2, "time": 1.5, "weather": 1.5},
    "rude": {"insult": 6, "vile": 4, "sorry": 2, "gibberish": 2},
    "curious": {
        "weather": 3,
        "time": 3,
        "what_are_you": 2,
        "cannot_know": 3,
        "why": 2,
        "favourite": 2,
        "do_you_like": 2,
    },
    "teller": {
        "tell_name": 3,
        "tell_like": 4,
        "tell_dislike": 2,
        "tell_fact": 4,
        "recall": 6,
        "recall_any": 3,
        "my_name": 3,
    },
}
"""By kind, how many times likelier than usual some intents are."""
USUAL: Mapping[str, float] = {
    "greet": 2,
    "how_are_you": 2.5,
    "doing": 1.5,
    "weather": 2.2,
    "time": 2.2,
    "play": 1.8,
    "tell_like": 1.5,
    "i_did": 2,
    "do_you_like": 1.6,
    "recall": 1.5,
    "ask_hungry": 1.8,
    "ask_sleepy": 1.5,
    "favourite": 1.5,
    "compliment": 1.3,
    "love": 1.3,
    "tell_name": 1.3,
    "my_name": 1.2,
    "sad": 1.4,
    "place_go": 1.2,
    "holiday": 0.5,
    "ill": 0.6,
    "angry_owner": 0.7,
    "secret": 0.6,
    "old": 0.7,
    "care_comment": 0.4,
    "about_you": 1.3,
    "cool": 1.5,
    "feed_text": 1.4,
    "can_do": 1.2,
    "bye": 1.6,
    "night": 1.3,
    "give": 0.8,
    "other_pet": 0.6,
    "foreign": 0.5,
    "cannot_know": 1.3,
    "more": 0,
    "more_plain": 0,
    "ask_last": 0.15,
    "sad_more": 0,
    "again": 0,
    "critic": 0.25,
    "they_do": 0.6,
    "own_news": 1.3,
    "want_come": 0.7,
    "go_on": 0.7,
    "really": 0.8,
    "own_hungry": 0.7,
    "own_full": 0.4,
    "guess": 0.7,
    "hear_secret": 0.5,
}
"""How often an intent comes up beside 1."""
FOLLOWS: Mapping[str, float] = {
    "yes": 3,
    "no": 2,
    "why": 2,
    "happy_owner": 1.5,
    "sad": 1,
    "i_did": 1.5,
    "laugh": 1,
    "thanks": 1,
}
"""What an owner tends to say when the pet has just asked something."""
TOPICAL, SORROWS, ENCORES = ("i_did", "plan"), ("sad", "worried", "ill"), ("joke", "story", "sing", "dance")
"""What a chat stays with for some lines: news, sorrow, a performance."""
AFTER_NEWS = {
    "more": 6.0, "more_plain": 3.0, "ask_last": 3.0, "yes": 1.0, "why": 1.0, "cool": 1.0, "they_do": 2.0,
    "like_it": 1.0,
}  # fmt: skip
AFTER_SORROW = {
    "sad_more": 6.0, "they_do": 2.5, "yes": 1.0, "no": 1.0, "thanks": 1.5, "pet_you": 1.0, "sad": 1.5, "worried": 1.0,
}  # fmt: skip
AFTER_A_PERFORMANCE = {
    "again": 4.0, "critic": 3.0, "laugh": 2.5, "thanks": 1.0, "compliment": 1.0, "go_on": 1.0, "really": 0.5,
}  # fmt: skip
AFTER_A_FACT = {"ask_last": 3.0, "do_you_like": 2.0, "why": 1.0, "cool": 1.0, "they_do": 1.0, "like_it": 1.0}
AFTER_OTHERS = {"they_do": 4.0, "like_it": 1.0, "cool": 1.0, "really": 0.5}
AFTER_A_GIFT = {"like_it": 3.0, "care_comment": 1.0, "really": 0.5}
AFTER_A_PLACE = {"what_see": 3.0, "want_come": 2.0, "like_it": 1.5}
GOES_ON: Mapping[str, Mapping[str, float]] = {
    **dict.fromkeys(TOPICAL, AFTER_NEWS),
    **dict.fromkeys(SORROWS, AFTER_SORROW),
    **dict.fromkeys(ENCORES, AFTER_A_PERFORMANCE),
    **dict.fromkeys(("tell_like", "tell_dislike", "tell_fact"), AFTER_A_FACT),
    **dict.fromkeys(("own_news", "other_pet", "they_do"), AFTER_OTHERS),
    **dict.fromkeys(("give", "feed_text", "sky_told"), AFTER_A_GIFT),
    **dict.fromkeys(("where", "place_go", "live_where"), AFTER_A_PLACE),
}
"""By what was said before, what an owner goes on with."""
GOES_ON_PERCENT = 42
STAYING = frozenset(
    (
        "more", "more_plain", "ask_last", "sad_more", "again", "yes", "no", "why", "cool", "laugh", "critic", "like_it",
        "really", "go_on",
    )
)  # fmt: skip
"""Lines that leave the talk where it was."""
OPENINGS = ("so ", "well, ", "hey, ", "um, ", "oh, ", "hm, ", "<name>, ", "hey <name>, ", "listen, ", "ok, ", "and ")
CLOSINGS = (" :)", " lol", " haha", "!!", "...", " :D", " please", " <3", ", <name>", " you know", " tbh", " then")
DRAWS_MAX = 200
"""A guess: in the worst intent five wordings in six may be held out."""
OPENED_PERCENT, CLOSED_PERCENT = 9, 9
"""How often a line gets one of them."""


@dataclass(frozen=True, slots=True)
class Said:
    """A line of the owner's with what was meant: the writer knows, the brain must find out."""

    text: str
    intent: str
    slots: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Owner:
    """`untried` owners speak the held-out phrases."""

    kind: str
    name: str
    untried: bool
    careless: bool

    def says(self, chance: Chance, slots: Mapping[str, str], *, asked: bool, before: "Said | None" = None) -> Said:
        """A line of this owner's; `slots` are the words that the pet's life gives, `before` what the talk is about."""
        if before is not None:
            slots = {**slots, "last": topic_in(before), "after": before.intent}
        if before is not None and before.intent in GOES_ON and chance.holds(GOES_ON_PERCENT):
            intent = chance.weighted(dict(GOES_ON[before.intent]))
        else:
            intent = chance.weighted(dict(FOLLOWS)) if asked and chance.holds(35) else chance.weighted(self.weights())
        return self.means(intent, chance, slots)

    def means(self, intent: str, chance: Chance, slots: Mapping[str, str]) -> Said:
        """A line of this owner's that means `intent`."""
        phrase = self.wording(intent, chance)
        words = {**drawn_words(chance), **slots}
        words["owner"] = self.name if intent == "tell_name" or chance.holds(30) else words["owner"]
        text = filled(phrase, words)
        found = TOPIC.search(text)
        if found is not None:
            words["told"] = words["noun"] = yours(found.group(1))
        elif intent == "i_did":
            words["noun"] = told_thing(phrase, words)
        text = self.typed(dressed(text.replace("{", "").replace("}", ""), chance, words), chance)
        if text in reserved_lines():
            text += "."
        return Said(text, intent, words)

    def weights(self) -> dict[str, float]:
        """How often this owner means what."""
        own = KINDS[self.kind]
        return {intent: USUAL.get(intent, 1.0) * own.get(intent, 1.0) for intent in phrases_of("said")}

    def wording(self, intent: str, chance: Chance) -> str:
        """Words for an intent from this owner's half of the book, their slots open.

        A training owner says nothing that a held-out phrase might have given too: the card's questions stay unheard.
        """
        options = phrases_of("said")[intent]
        fitting = [phrase for phrase in options if held_out(phrase) == self.untried]
        for _ in range(DRAWS_MAX):
            text = chosen(chance.pick(fitting or options), chance)
            if self.untried or bare_words(text) not in held_out_wordings(intent):
                return text
        raise AssertionError(f"{intent}: nearly everything that its phrases give is held out")

    def typed(self, text: str, chance: Chance) -> str:
        """As it comes out of this owner's fingers."""
        if self.careless and chance.holds(35):
            text = misspelt(text, chance)
        style = chance.below(100)
        if style < 40:
            return text[:1].upper() + text[1:]
        return text.upper() if style > 97 else text


def make_owner(number: int, seed: int, *, untried: bool) -> Owner:
    """The owner of that number."""
    chance = Chance("owner", seed, number, untried)
    name = invented_word(chance).capitalize() if chance.holds(INVENTED_PERCENT) else chance.pick(words_of("owner"))
    return Owner(chance.pick(tuple(KINDS)), name, untried, chance.holds(30))


@lru_cache(maxsize=128)
def held_out_wordings(intent: str) -> frozenset[str]:
    """The words of everything that the held-out phrases of an intent may become."""
    return frozenset().union(*(wordings(phrase) for phrase in phrases_of("said")[intent] if held_out(phrase)))


@lru_cache(maxsize=1)
def reserved_lines() -> frozenset[str]:
    """The owners' lines of the card's conversations: no training owner says one of them as it stands there."""
    talks: list[list[str]] = json.loads(CONVERSATIONS.read_text(encoding="utf-8"))
    return frozenset(line for talk in talks for line in talk)


def drawn_words(chance: Chance) -> dict[str, str]:
    """A word for every open slot; now and then one that no list holds."""
    words = {slot: chance.pick(words_of(slot)) for slot in SLOTS}
    for slot in ("thing", "noun"):
        if chance.holds(INVENTED_PERCENT):
            words[slot] = invented_word(chance)
    words["owner"] = chance.pick(words_of("owner"))
    return words | {"smile": ":)", "frown": ":(", "last": "", "after": "", "told": ""}


def dressed(text: str, chance: Chance, words: Mapping[str, str]) -> str:
    """The line as people put it: now and then something before it, something behind it."""
    if chance.holds(OPENED_PERCENT):
        text = expand(chance.pick(OPENINGS), chance, words) + text
    if chance.holds(CLOSED_PERCENT):
        text += expand(chance.pick(CLOSINGS).replace("<3", "♥"), chance, words).replace("♥", "<3")
    return text


def yours(topic: str) -> str:
    """What is the owner's own, as the pet says it."""
    return "your " + topic[3:] if topic.startswith("my ") else topic


def topic_in(said: Said) -> str:
    """What a line was about, as a later one takes it up: `the fox`; "" where it is about nothing that has a name."""
    if said.intent in ("tell_like", "tell_dislike"):
        return said.slots["thing"]
    topic = said.slots.get("told", "") or (said.slots["noun"] if said.intent == "i_did" else "")
    for article in ("a ", "an "):
        topic = "the " + topic[len(article) :] if topic.startswith(article) else topic
    return topic


def going_on(said: Said | None, before: Said | None) -> Said | None:
    """What the talk is about after a line: itself, unless it only goes on with what was before."""
    return before if said is None or (before is not None and said.intent in STAYING) else said


def told_thing(phrase: str, words: Mapping[str, str]) -> str:
    """What a told deed was about, as a sentence takes it: `a fox`, `pancakes`, `the park`."""
    if "<dish>" in phrase:
        return words["dish"]
    return f"the {words['spot']}" if "<spot>" in phrase else f"a {words['noun']}"


def misspelt(text: str, chance: Chance) -> str:
    """One slip: a letter lost, doubled or swapped, or no apostrophes."""
    if len(text) < 4:
        return text
    at = 1 + chance.below(len(text) - 2)
    match chance.below(4):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + text[at] + text[at:]
        case 2:
            return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        case _:
            return text.replace("'", "")
