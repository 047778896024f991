"""The writer: a scene to the ideal reply, its words and its tags.

A reply is: lookup or answer or action, mood, words, memory; each part only where it has a reason.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from tools.train_brain.owners import ENCORES, SORROWS
from tools.train_brain.phrases import Chance
from tools.train_brain.rules import (
    ABOUT_METER,
    ACTION_BY_INTENT,
    ACTION_BY_TRAIT,
    MOOD_BY_INTENT,
    MOOD_BY_NEED,
    MOOD_BY_STATE,
)
from tools.train_brain.scene import LOW_BAND, Scene
from tools.train_brain.writer.book import WORLD, phrases_of, say, words_of, world_words
from tools.train_brain.writer.recollection import memory_of, recalled_words, turned

PLAIN_INTENTS = frozenset(
    (
        "sad", "sad_more", "worried", "ill", "insult", "vile", "joke", "story", "sing", "again", "recall", "recall_any",
        "bye", "night", "ask_last", "more", "more_plain", "foreign",
    )
)  # fmt: skip
"""No aside about the pet's own needs here: it listens, or it is in the middle of something."""
LIKES = "owner likes "
WHOLE_INTENTS = frozenset(("ask_last", "more", "more_plain", "recall_any", "secret", "count", "tell_name", "can_do"))
"""Their second sentence belongs to the first."""
TOLD_OUT = frozenset(("joke", "story", "sing", "recall", "recall_any"))
"""What is told to its end before anything is added."""
GOOD_SCORE = 5
ABOUT_TOPIC = frozenset(("plan", "meal", "cannot_know", "can_you", "what_are_you"))
"""Their answers take up what the owner's line names."""
UNFOLLOWED = frozenset(("play/tired", "play/hungry"))
"""What usually follows an answer would belie these."""
CLOSE_BAND, FULL_BAND = 3, 4
NAMED_PERCENT, LIKED_PERCENT, NEAR_PERCENT = 55, 25, 45
"""How often a greeting takes up the owner's name, a liking, a friendship that it knows of."""
ASIDE_PERCENT, TAIL_PERCENT, OPENER_PERCENT, MOOD_PERCENT = 15, 9, 18, 65
AFTER_PERCENT, ADDED_PERCENT, WORLDLY_PERCENT, FEW_WORDS_PERCENT = 88, 55, 85, 12
"""How often a second sentence is drawn apart, or added, is of the pet's own world, is left out by a hatchling."""
HOURS: Mapping[str, str] = {
    "night": "tonight", "dawn": "at dawn", "morning": "this morning", "noon": "at noon", "afternoon": "this afternoon",
    "evening": "this evening",
}  # fmt: skip
"""A part of the day as a sentence ends with it."""
LEANING = frozenset(("yes", "no", "sad_more", "they_do", "really", "go_on"))
"""Lines that stay with a sorrow told before them."""
END_OF_SENTENCE = re.compile(r"(?<=.{5}[^.\s])[.!?](?=\s|$)")


def compose(scene: Scene, chance: Chance) -> str:
    """The ideal reply to a scene, tags included."""
    scene = replace(scene, slots={**scene.slots, **world_words(chance), "hour": HOURS[scene.part]})
    if scene.cue == "diary":
        return diary_page(scene, chance)
    if scene.asleep:
        return asleep_reply(scene, chance)
    return BY_CUE.get(scene.cue, care_reply)(scene, chance)


# --- parts ----------------------------------------------------------------------------------------------------------


def words(scene: Scene, chance: Chance, file: str, section: str, **more: str) -> str:
    """A phrase of the book in the words of this scene."""
    return say(file, section, chance, slots_of(scene, chance, more))


def slots_of(scene: Scene, chance: Chance, more: Mapping[str, str]) -> dict[str, str]:
    """What fills a phrase's slots in this scene: the owner's words, the pet's world, and `more`."""
    own = {"item": scene.item, "part": scene.part, "known_name": scene.known_name}
    slots = {**(scene.said.slots if scene.said else {}), **scene.slots, **own, **more}
    if scene.said and slots["snack"] not in scene.said.text.lower():
        slots["snack"] = "more" if scene.bands["fullness"] == FULL_BAND else "a bite"
    slots |= {"trait": scene.traits[0], "trait_two": scene.traits[1]}
    slots |= {"busy": chance.pick(("thinking", "humming", "counting crumbs", "stretching"))}
    slots |= {f"{slot}_cap": text[:1].upper() + text[1:] for slot, text in slots.items()}
    return slots


def tagged(scene: Scene, mood: str, text: str, *, action: str = "", answer_tag: str = "") -> str:
    """The words behind their tags; a tag that is not legal now, or a mood that stands already, is left out."""
    tags = [tag for tag in (answer_tag, action) if tag and f"[{tag}]" in scene.tags]
    if mood and mood != scene.feeling and f"[{mood}]" in scene.tags:
        tags.append(mood)
    return "".join(f"[{tag}]" for tag in tags) + " " + text


def coloured(scene: Scene, chance: Chance, text: str) -> str:
    """The words with what character and body add to them."""
    if scene.stage == "hatchling" and chance.holds(FEW_WORDS_PERCENT):
        text = first_sentence(text)
    if chance.holds(OPENER_PERCENT):
        text = chance.pick(phrases_of("feelings")["opener/" + chance.pick(scene.traits)]) + " " + text
    if scene.need == "fine" or not chance.holds(ASIDE_PERCENT):
        return text + (" " + tail(scene, chance) if chance.holds(TAIL_PERCENT) else "")
    return text + " " + words(scene, chance, "feelings", f"aside/{scene.need}")


def going_on(scene: Scene, chance: Chance, about: str, text: str) -> str:
    """The words with another second sentence on what they are about.

    What might be said by any pet is followed by what only this one can say now: few replies are ever given twice.
    """
    often = ADDED_PERCENT if about in TOLD_OUT else AFTER_PERCENT
    if about not in phrases_of("after") or not chance.holds(often):
        return text
    kept = text if about in TOLD_OUT else first_sentence(text)
    worldly = not any(scene.slots[kind] in kept for kind in WORLD) and chance.holds(WORLDLY_PERCENT)
    return kept + " " + say("after", about, chance, slots_of(scene, chance, {}), worldly=worldly)


def tail(scene: Scene, chance: Chance) -> str:
    """A sentence more: of the place, of the hour, or of what this pet is like."""
    about = chance.pick((scene.place, scene.place, scene.part, *scene.traits))
    return words(scene, chance, "feelings", f"tail/{about}")


def first_sentence(text: str) -> str:
    """Up to the first end mark that has some words in front of it; three dots end nothing."""
    found = END_OF_SENTENCE.search(text)
    return text[: found.end()] if found else text


def level(scene: Scene, meter: str) -> int:
    """0 low, 1 middling, 2 high."""
    band = scene.bands[meter]
    return 0 if band <= LOW_BAND else 1 if band == 2 else 2


# --- what the owner said --------------------------------------------------------------------------------------------


def answer(scene: Scene, chance: Chance) -> str:
    """A reply to the owner's line."""
    assert scene.said is not None
    intent = scene.said.intent
    if intent in ("weather", "time"):
        return looked_up(scene, chance, intent)
    if intent in ("recall", "recall_any", "my_name"):
        text = recalled_words(scene, chance, words)
        unnamed = intent == "my_name" and not scene.known_name
        return going_on(scene, chance, "my_name/unknown" if unnamed else intent, text)
    if intent in ABOUT_METER:
        return about_body(scene, chance, intent)
    section, action, mood = section_of(scene, chance, intent)
    kept = memory_of(scene.said)
    text = words(
        scene,
        chance,
        "answers" if section in phrases_of("answers") else "feelings",
        section,
        **favourite(scene),
        liked=liked(scene),
        memory=turned(kept),
    )
    if section not in UNFOLLOWED and intent not in WHOLE_INTENTS:
        text = going_on(scene, chance, section.partition("/")[0], text)
    if intent not in PLAIN_INTENTS:
        text = coloured(scene, chance, text)
    shown = mood if chance.holds(MOOD_PERCENT) else ""
    fresh = kept and kept not in scene.knows
    return tagged(scene, shown, text, action=action) + (f"[remember {kept}]" if fresh else "")


def section_of(scene: Scene, chance: Chance, intent: str) -> tuple[str, str, str]:
    """Which section answers an intent, with which action and mood: the body's own answer first, then the usual one."""
    found = bodily_section(scene, intent) or remembered_section(scene, chance, intent)
    return found or usual_section(scene, chance, intent)


def bodily_section(scene: Scene, intent: str) -> tuple[str, str, str] | None:
    """The section for an intent that the body or the bond answers in its own way now."""
    tired, fullness = scene.bands["energy"] <= LOW_BAND, scene.bands["fullness"]
    state = ""
    if intent == "feed_text":
        state = {2: "", 3: "fed", 4: "full"}.get(fullness, "hungry")
    elif intent in ("play", "night") and tired:
        state = "tired"
    elif (intent == "play" and fullness == 0) or (intent == "meal" and scene.need == "hungry"):
        state = "hungry"
    elif intent in ("love", "greet", "pet_you", "friend_of") and scene.bands["bond"] == 0:
        state = "new"
    elif intent in ("love", "friend_of") and scene.bands["bond"] >= CLOSE_BAND:
        state = "close"
    elif intent == "how_are_you":
        state = scene.need
    if not state:
        return None
    action = {("night", "tired"): "nap", ("love", "close"): "hug"}.get((intent, state), "")
    return f"{intent}/{state}", action, MOOD_BY_STATE.get((intent, state), "")


def remembered_section(scene: Scene, chance: Chance, intent: str) -> tuple[str, str, str] | None:
    """The section for an intent that what was told before, or just now, answers."""
    assert scene.said is not None
    if intent in ("greet", "bye", "night") and scene.known_name and chance.holds(NAMED_PERCENT):
        return f"{intent}/named", "", MOOD_BY_INTENT.get(intent, "")
    if intent == "greet" and liked(scene) and chance.holds(LIKED_PERCENT):
        return "greet/liked", "", "happy"
    if intent == "greet" and scene.bands["bond"] >= CLOSE_BAND and chance.holds(NEAR_PERCENT):
        return "greet/close", "", "excited"
    if intent in ("tell_like", "tell_dislike", "tell_name") and memory_of(scene.said) in scene.knows:
        return "tell_known", "", "proud"
    return spoken_section(scene, intent)


def spoken_section(scene: Scene, intent: str) -> tuple[str, str, str] | None:
    """The section for a line that goes on with the lines before it."""
    assert scene.said is not None
    after, told = scene.said.slots.get("after", ""), scene.said.slots.get("told", "")
    heard = scene.heard(scene.said.slots.get("last", ""))
    if intent == "ask_last":
        return ("ask_last" if heard else "ask_last_unknown"), "", "proud" if heard else "shy"
    if intent in ("more", "more_plain") and not (told and intent == "more" and heard):
        return ("more_plain" if heard else "cool"), "", "curious"
    if after in SORROWS and (intent == "thanks" or intent in LEANING):
        return ("thanks/sorrow", "", "calm") if intent == "thanks" else ("sad_more", "", "wistful")
    if intent == "again" and after in ENCORES:
        return after, ACTION_BY_INTENT.get(after, ""), MOOD_BY_INTENT.get(after, "happy")
    if intent == "give" and scene.said.slots["gift"] not in scene.said.text.lower():
        return "give/unknown", "", "excited"
    return (f"{intent}/about", "", "curious") if intent in ABOUT_TOPIC and told else None


def liked(scene: Scene) -> str:
    """Something that the header says the owner likes, or ""."""
    return next((known[len(LIKES) :] for known in scene.knows if known.startswith(LIKES)), "")


def usual_section(scene: Scene, chance: Chance, intent: str) -> tuple[str, str, str]:
    """The section for an intent by what was said alone."""
    assert scene.said is not None
    mood = MOOD_BY_INTENT.get(intent, "")
    if intent == "place_go" and scene.said.slots["place"] == scene.place:
        return "place_here", "", "happy"
    if intent == "place_go":
        return intent, f"go {scene.said.slots['place']}", "curious"
    if intent == "do_you_like":
        liked = scene.said.slots["thing"] not in words_of("like_no")
        return ("like_yes", "", "happy") if liked else ("like_no", "", "shy")
    if intent == "compliment" and "shy" in scene.traits:
        return "compliment/shy", "", "shy"
    action = ACTION_BY_INTENT.get(intent, "")
    if action in ("hug", "hide") and not chance.holds(60):
        action = ""
    return intent, action, MOOD_BY_NEED.get(scene.need, mood) if chance.holds(40) else mood


def favourite(scene: Scene) -> dict[str, str]:
    """What this pet loves, by the kind that was asked for: the header's food, or what goes with its first trait."""
    asked = scene.said.text.lower() if scene.said else ""
    at = sorted(ACTION_BY_TRAIT).index(scene.traits[0])

    def by_trait(options: tuple[str, ...]) -> str:
        return options[at % len(options)]

    lists = {
        "colo": words_of("colour"),
        "toy": ("the ball", "the bell", "the ribbon", "the kite"),
        "song": words_of("song"),
        "place": ("the garden", "the window", "the pond", "the attic", "my nest", "the hearth"),
        "animal": words_of("beast"),
        "season": ("spring", "summer", "autumn", "winter"),
        "weather": ("rain on the roof", "sun", "snow", "wind"),
        "game": words_of("game"),
    }
    found = next((by_trait(options) for word, options in lists.items() if word in asked), scene.food)
    return {"fav": found}


def about_body(scene: Scene, chance: Chance, intent: str) -> str:
    """An answer about a meter: the words tell how it stands, and a tired pet may lie down, a hungry one eat."""
    assert scene.said is not None
    meter, names = ABOUT_METER[intent]
    low = level(scene, meter) == 0
    told_to_sleep = intent == "ask_sleepy" and any(
        word in scene.said.text.lower() for word in ("take", "have a", "go ", "off to")
    )
    if told_to_sleep:
        rested = level(scene, meter) == 2
        text = words(scene, chance, "answers", "nap/rested" if rested else "nap")
        return tagged(scene, "" if rested else "sleepy", text, action="" if rested else "nap")
    if intent == "ask_hungry" and low and "[eat]" in scene.tags and chance.holds(60):
        return tagged(scene, "", words(scene, chance, "answers", "eat_now"), action="eat")
    text = words(scene, chance, "feelings", f"{intent}/{names[level(scene, meter)]}")
    text = going_on(scene, chance, intent, text)
    if chance.holds(OPENER_PERCENT):
        text = chance.pick(phrases_of("feelings")["opener/" + chance.pick(scene.traits)]) + " " + text
    mood = "sleepy" if low and intent == "ask_sleepy" else ""
    return tagged(scene, mood, text)


def looked_up(scene: Scene, chance: Chance, what: str) -> str:
    """A lookup first, then words that use its answer."""
    tag = f"[look {what}]"
    found = scene.answers[tag]
    if what == "weather":
        sky = f"weather/{found}/night" if scene.part == "night" else f"weather/{found}"
        section = sky if sky in phrases_of("skies") else f"weather/{found}"
        return f"{tag} " + going_on(scene, chance, what, words(scene, chance, "skies", section))
    section = "time/night" if scene.part == "night" else "time"
    return f"{tag} " + going_on(scene, chance, what, words(scene, chance, "skies", section, clock=found))


# --- offers, care, sleep, own time ----------------------------------------------------------------------------------


def offer_kind(scene: Scene) -> str:
    """food, toy, gift or catch."""
    from tokenling.engine.lists import FOODS, GIFTS, TOYS

    kinds = {"food": FOODS, "toy": TOYS, "gift": GIFTS}
    return next((kind for kind, items in kinds.items() if scene.item in items), "catch")


def reason_to_decline(scene: Scene, kind: str) -> str:
    """Why this offer is declined now, or ""."""
    if kind == "food":
        return "full" if scene.bands["fullness"] == 4 else ""
    if kind in ("toy", "catch") and scene.bands["energy"] <= LOW_BAND:
        return "tired"
    return "hungry" if kind == "catch" and scene.bands["fullness"] == 0 else ""


def offer_reply(scene: Scene, chance: Chance) -> str:
    """Accepted with joy, or declined for a reason that the body gives."""
    kind = offer_kind(scene)
    reason = reason_to_decline(scene, kind)
    if reason:
        text = words(scene, chance, "deeds", f"decline/{kind}/{reason}")
        return tagged(scene, "sleepy" if reason == "tired" else "", text, answer_tag="decline")
    section = accepted_section(scene, kind)
    return tagged(scene, chance.pick(("happy", "excited")), words(scene, chance, "deeds", section), answer_tag="accept")


def accepted_section(scene: Scene, kind: str) -> str:
    """The section for an offer that is taken: joy in the thing, or in what the body makes of it."""
    if kind == "food" and level(scene, "fullness") == 0:
        return "accept/food/hungry"
    if kind == "catch" and scene.bands["energy"] >= CLOSE_BAND:
        return "accept/catch/lively"
    return "accept/favourite" if scene.item == scene.food else f"accept/{kind}"


def game_reply(scene: Scene, chance: Chance) -> str:
    """Words for a game that is over."""
    kind = "none" if scene.score == 0 else "good" if scene.score >= GOOD_SCORE else "low"
    return tagged(scene, "excited", words(scene, chance, "skies", f"game/{kind}", score=str(scene.score)))


def return_reply(scene: Scene, chance: Chance) -> str:
    """The pet speaks first when its owner comes back."""
    section = "returns/low" if scene.need == "low" else "returns"
    if section == "returns" and scene.known_name and chance.holds(NAMED_PERCENT):
        section = "returns/named"
    return tagged(scene, "happy", words(scene, chance, "deeds", section))


def hatch_reply(scene: Scene, chance: Chance) -> str:
    """First words."""
    return tagged(scene, "curious", words(scene, chance, "deeds", "hatch"))


def care_reply(scene: Scene, chance: Chance) -> str:
    """Words for a meal, a wash, a blanket, a stroke."""
    section = f"cared/{scene.cue}/any"
    if scene.cue == "feed" and level(scene, "fullness") != 1:
        section = "cared/feed/full" if scene.bands["fullness"] == 4 else "cared/feed/any"
    elif scene.cue == "feed":
        section = "cared/feed/hungry"
    if scene.cue == "feed" and scene.item == scene.food:
        section = "cared/feed/favourite"
    mood = {"feed": "happy", "wash": "proud", "tuck": "calm", "stroke": "happy"}.get(scene.cue, "")
    if scene.cue == "tuck" and scene.bands["energy"] <= 2:
        mood = "sleepy"
    return tagged(scene, mood if chance.holds(MOOD_PERCENT) else "", words(scene, chance, "deeds", section))


def asleep_reply(scene: Scene, chance: Chance) -> str:
    """A sleeper that is worn out mumbles on; one that slept a little wakes when it is spoken to, and answers."""
    intent = scene.said.intent if scene.said else ""
    if intent in ("morning", "scared", "back") or (intent == "greet" and scene.bands["energy"] > LOW_BAND):
        return tagged(scene, "", words(scene, chance, "skies", "asleep/wake"), action="wake")
    if scene.cue != "say" or scene.bands["energy"] <= LOW_BAND or intent in ("night", "ask_sleepy"):
        return tagged(scene, "sleepy", words(scene, chance, "skies", "asleep"))
    lookup, _, rest = answer(scene, chance).rpartition("] ")
    start = chance.pick(("*yawns*", "Mmh...", "*blinks*", "Yawn..."))
    kept = lookup + "]" if lookup.startswith(("[look", "[recall")) else ""
    return f"[wake]{kept} {start} {without_tags(rest)}"


def without_tags(text: str) -> str:
    """The words alone; `[remember …]` stays, it is legal asleep too."""
    return re.sub(r"\[(?!remember )[^\]]*\]", "", text).strip()


def own_action(scene: Scene, chance: Chance) -> str:
    """What the pet does by itself: first what the body asks for, then what its character likes."""
    by_need = {
        "hungry": "eat" if "[eat]" in scene.tags else "explore",
        "tired": "nap",
        "dirty": "wash",
        "cold": "go hearth",
        "low": "sing",
    }
    if scene.need != "fine":
        wanted = by_need[scene.need]
        if f"[{wanted}]" in scene.tags:
            return wanted
    if chance.holds(25):
        places = sorted(tag[1:-1] for tag in scene.tags if tag.startswith("[go "))
        return chance.pick(places)
    liked = [action for trait in scene.traits for action in ACTION_BY_TRAIT[trait] if f"[{action}]" in scene.tags]
    return chance.pick(liked) if liked and chance.holds(75) else ""


def own_time(scene: Scene, chance: Chance) -> str:
    """An idle turn: a deed or a place with its words, or a thought."""
    action = own_action(scene, chance)
    if action.startswith("go "):
        text = words(scene, chance, "deeds", f"go/{action[3:]}")
    elif action:
        text = words(scene, chance, "deeds", f"act/{action}", place=scene.place)
    else:
        text = words(scene, chance, "deeds", chance.pick((f"muse/{scene.part}", f"idle/{scene.need}")))
    if action and scene.need != "fine" and chance.holds(25):
        text += " " + words(scene, chance, "feelings", f"aside/{scene.need}")
    mood = MOOD_BY_NEED.get(scene.need, "") or chance.pick(("happy", "calm", "curious", "excited", ""))
    return tagged(scene, mood if chance.holds(50) else "", text, action=action)


# --- the diary ------------------------------------------------------------------------------------------------------


def diary_page(scene: Scene, chance: Chance) -> str:
    """A page of three to five sentences about what the day's line tells."""
    from tools.train_brain.writer.recollection import event_of

    moods = ("a quiet day", "a low day", "a calm day", "a good day", "a happy day")
    mood_word = moods[scene.bands["mood"]].split()[1]
    events = list({found[0]: found for text in scene.today if (found := event_of(text)) is not None}.values())
    chosen = events if len(events) <= 3 else sorted_sample(events, chance)
    parts = [words(scene, chance, "deeds", "diary/open", mood_word=mood_word)]
    parts += [words(scene, chance, "deeds", f"diary/{kind}", item=item) for kind, item in chosen]
    if not chosen:
        parts.append(words(scene, chance, "deeds", "diary/any"))
    parts.append(words(scene, chance, "deeds", "diary/close", mood_word=mood_word))
    return " " + " ".join(parts)


def sorted_sample(events: list[tuple[str, str]], chance: Chance) -> list[tuple[str, str]]:
    """Three of the day's events, in order."""
    left = list(range(len(events)))
    picked = sorted(left.pop(chance.below(len(left))) for _ in range(3))
    return [events[at] for at in picked]


BY_CUE: Mapping[str, Callable[[Scene, Chance], str]] = {
    "say": answer,
    "offer": offer_reply,
    "idle": own_time,
    "game": game_reply,
    "return": return_reply,
    "hatch": hatch_reply,
}
"""What answers which cue; any other one is a care."""
