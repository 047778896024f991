"""The fifteen closed, ordered lists. An order change is a protocol change: draws and saves name members by them."""

from collections.abc import Mapping
from types import MappingProxyType

FOODS = ("berry", "plum", "carrot", "bread", "soup", "honey", "nut", "apple")
TOYS = ("ball", "kite", "bell", "blocks", "ribbon", "top")
GIFTS = ("shell", "feather", "button", "scarf", "pebble", "flower", "acorn")
PLACES = ("nest", "window", "hearth", "garden", "pond", "attic")
WEATHERS = ("sun", "cloud", "wind", "fog", "rain", "storm", "snow")
SEASONS = ("winter", "spring", "summer", "autumn")
MOODS = ("happy", "calm", "excited", "curious", "sleepy", "shy", "proud", "wistful")
ACTIONS = (
    "eat", "nap", "play", "wash", "explore", "sing", "dance", "watch", "draw", "stretch", "hug", "hide", "wake",
)  # fmt: skip
STAGES = ("egg", "hatchling", "child", "adult")
CARE = ("feed", "wash", "tuck", "stroke", "lamp")
OFFERS = ("food", "toy", "gift", "catch")
LOOKUPS = ("look weather", "look time", "recall")
EVENTS = (
    "hatched", "grew", "came", "habit", "talked", "fed", "washed", "tucked", "stroked", "lamp", "offered", "accepted",
    "declined", "expired", "caught", "game_expired", "slept", "woke", "did", "went", "found", "remembered", "named",
    "moved_house", "new_brain", "quiet", "weather",
)  # fmt: skip
DAY_PARTS = ("night", "dawn", "morning", "noon", "afternoon", "evening")
EFFECTS = (
    "hatch", "grow", "feed", "wash", "tuck", "stroke", "lamp", "hear", "speak", "feel", "go", "act", "offer", "accept",
    "decline", "expire", "game_start", "game_end", "game_expire", "sleep", "wake", "want", "remember", "diary",
)  # fmt: skip

LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "foods": FOODS,
        "toys": TOYS,
        "gifts": GIFTS,
        "places": PLACES,
        "weathers": WEATHERS,
        "seasons": SEASONS,
        "moods": MOODS,
        "actions": ACTIONS,
        "stages": STAGES,
        "care": CARE,
        "offers": OFFERS,
        "lookups": LOOKUPS,
        "events": EVENTS,
        "dayParts": DAY_PARTS,
        "effects": EFFECTS,
    }
)

WANTS = ("food", "wash", "warmth", "company")
"""What a pet may ask for; the alert of the page."""
CHATTERS = (0, 1, 2, 4)
"""Idle slots a waking hour that an owner may choose."""
MODES = ("local", "remote")
