"""The keepsake on a diary page: a small thing that the day left behind, drawn from what happened."""

from collections.abc import Mapping

from tokenling.engine.draws import draw
from tokenling.engine.lists import FOODS, GIFTS
from tokenling.engine.state import Event, State

_BY_PLACE: Mapping[str, str] = {
    "garden": "a leaf from the garden",
    "pond": "a smooth stone from the pond",
    "attic": "a thread from the attic",
    "window": "a bit of light from the window",
    "hearth": "a warm crumb from the hearth",
    "nest": "a soft bit of the nest",
}
_BY_ACTION: Mapping[str, str] = {
    "draw": "a little drawing",
    "sing": "the end of a song",
    "dance": "a dance step",
    "explore": "a map of a small place",
    "watch": "a cloud it watched",
    "play": "a scuff from playing",
}
_BY_SEASON: Mapping[str, str] = {
    "winter": "a cold morning's breath",
    "spring": "a bud",
    "summer": "a blade of grass",
    "autumn": "a red leaf",
}


def keepsake_of(state: State) -> str:
    """The keepsake for the page that is owed: from the most telling kind of event, a draw among equals."""
    assert state.owed is not None
    today = [event for event in state.events if state.diary_since_ms < event.at_ms <= state.owed.at_ms]
    for kind in ("accepted", "caught", "weather", "fed", "went", "did"):
        found = [text for event in today if event.kind == kind and (text := _of_event(event))]
        if found:
            return found[draw(state.pet_seed, "keepsake", str(state.owed.day), len(found))]
    return _BY_SEASON[state.season]


def _of_event(event: Event) -> str:
    texts: Mapping[str, str] = {
        "accepted": f"the {event.item}" if event.item in GIFTS else "",
        "fed": f"a crumb of {event.item}" if event.item in FOODS else "",
        "caught": f"the score of {event.n}",
        "weather": "a snowflake" if event.item == "snow" else "the sound of thunder",
        "went": _BY_PLACE.get(event.item, ""),
        "did": _BY_ACTION.get(event.item, ""),
    }
    return texts[event.kind]
