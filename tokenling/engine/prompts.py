"""What a turn asks the brain: a compact header in plain words, the last lines, the open prefix.

The header tells what matters for a choice: who, awake or not, where, the body in words from five bands, what is wanted,
what is offered, what fits from memory, what happened lately. Weather and the exact time are not in it: the brain looks
them up, and the answers travel with the request. Worked example::

    Pip is a shy, dreamy child who loves plum.
    Awake in the garden, evening, autumn, feeling curious.
    Body: hungry, rested, glad, clean, warm, close to owner.
    Snacks: 1. Wants food.
    Offer: plum.
    Knows: Sam likes tea; the pond is deep.
    Recall: bicycle.
    Lately: was fed plum, took a nap.
    Owner: are you hungry?
    Pip:
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tokenling.engine.balance import RETURN_GAP_MINUTES
from tokenling.engine.bounds import (
    DIARY_NEW_TOKENS_MAX,
    LINE_NEW_TOKENS_MAX,
    MINUTES_OF_DAY,
    PROMPT_IDLE_LINES_MAX,
    PROMPT_LATELY_MAX,
    PROMPT_LINES_MAX,
    PROMPT_PET_LINES_IN_A_ROW_MAX,
    PROMPT_TODAY_MAX,
    TICK_MS,
    TIME_MS_MAX,
)
from tokenling.engine.errors import StaleTurn
from tokenling.engine.memories import fitting, topics
from tokenling.engine.owner import away_hours
from tokenling.engine.phrases import away_words, body_words, named, told, where
from tokenling.engine.records import replace
from tokenling.engine.request import CONTEXT_TOKENS_MAX, GenerationRequest
from tokenling.engine.sky import clock_words, day_part
from tokenling.engine.state import Asked, ChatLine, Event, Memory, State
from tokenling.engine.tags import legal_tags
from tokenling.engine.turns import Turn
from tokenling.engine.zones import local_minute

PROMPT_VERSION = 1
"""Moves when the same state and turn would be asked differently: a brain is trained on one version."""

TEMPERATURE_MILLI = 850
TOP_K = 40
TOP_P_MILLI = 920
LATELY_MINUTES = 480
"""How far back "lately" reaches."""
_UNTOLD = frozenset(("talked", "lamp", "offered", "remembered", "quiet", "came"))
"""Events that the lines or another part of the header tell already."""
_UNTOLD_IN_DIARY = frozenset(("quiet", "lamp", "offered", "remembered"))
_CUE: Mapping[str, str] = MappingProxyType(
    {
        "feed": "(Owner feeds {name}: {item}.)",
        "wash": "(Owner washes {name}.)",
        "tuck": "(Owner tucks {name} in.)",
        "stroke": "(Owner strokes {name}.)",
        "offer": "(Owner offers {item}.)",
        "game": "(Catch is over: {n} points.)",
        "return": "(Owner is back.)",
        "hatch": "({name} has hatched.)",
    }
)


def build_request(state: State, turn: Turn) -> GenerationRequest:
    """What the brain is asked for a due turn: a function of the two alone.

    Raises `StaleTurn` for a diary turn whose page is not owed any more.
    """
    diary = turn.kind == "diary"
    if diary and state.owed is None:
        raise StaleTurn(turn.id)
    shown = fitting(state)
    more = topics(state, shown)
    answers = _answers(state, turn, more)
    tags = tuple(f"[{tag}]" for tag in legal_tags(state, turn.kind))
    return GenerationRequest(
        header=_header(state, turn, shown, more),
        lines=_lines(state, turn),
        prefix="Diary:" if diary else f"{state.name}:",
        mode="diary" if diary else "line",
        tags=(*tags, *answers),
        answers=answers,
        max_new=DIARY_NEW_TOKENS_MAX if diary else LINE_NEW_TOKENS_MAX,
        top_k=TOP_K,
        temperature_milli=TEMPERATURE_MILLI,
        top_p_milli=TOP_P_MILLI,
        ctx=CONTEXT_TOKENS_MAX,
        seed=turn.seed,
    )


def lookup_answers(state: State, turn: Turn) -> dict[str, str]:
    """Each lookup that is legal now, as a tag, with its answer."""
    return _answers(state, turn, topics(state, fitting(state)))


def _answers(state: State, turn: Turn, more: Mapping[str, str]) -> dict[str, str]:
    minute = local_minute(state.hosting.time_zone, turn.at_ms // TICK_MS) % MINUTES_OF_DAY
    answers = {"[look weather]": state.weather, "[look time]": clock_words(minute)}
    for topic, text in more.items():
        answers[f"[recall {topic}]"] = text
    return answers


# --- the header ----------------------------------------------------------------------------------------------


def _header(state: State, turn: Turn, shown: Iterable[Memory], more: Iterable[str]) -> str:
    known = _memory(shown, more)
    parts = (_who(state), _how(state, turn), _wants(state), _offer(state), known, _lately(state, turn))
    return "\n".join(part for part in parts if part)


def _who(state: State) -> str:
    return f"{state.name} is a {', '.join(state.character.traits)} {state.stage} who loves {state.character.food}."


def _how(state: State, turn: Turn) -> str:
    minute = local_minute(state.hosting.time_zone, turn.at_ms // TICK_MS) % MINUTES_OF_DAY
    sleeping = "Asleep" if state.asleep else "Awake"
    standing = f"{sleeping} {where(state.place)}, {day_part(minute // 60)}, {state.season}, feeling {state.feeling}."
    return f"{standing}\nBody: {body_words(state.body)}."


def _wants(state: State) -> str:
    parts = [f"Snacks: {state.snacks or 'none'}."]
    if state.want is not None:
        parts.append(f"Wants {state.want.kind}.")
    if state.tucked:
        parts.append("Tucked in.")
    if state.game is not None:
        parts.append("Playing catch.")
    return " ".join(parts)


def _offer(state: State) -> str:
    if state.offer is None or state.asleep:
        return ""
    return f"Offer: {named(state.offer.item or state.offer.kind)}."


def _memory(shown: Iterable[Memory], more: Iterable[str]) -> str:
    known, topic = "; ".join(memory.text for memory in shown), ", ".join(more)
    return "\n".join(part for part in (known and f"Knows: {known}.", topic and f"Recall: {topic}.") if part)


def _lately(state: State, turn: Turn) -> str:
    since_ms = turn.at_ms - LATELY_MINUTES * TICK_MS
    hours = away_hours(state, turn.at_ms)
    back = [f"owner is back after {away_words(hours)}"] if hours * 60 >= RETURN_GAP_MINUTES else []
    # a body that an owner brought past a late page has lived what that page cannot know
    until_ms = turn.at_ms if state.tick > turn.at_ms // TICK_MS else TIME_MS_MAX
    recent = [event for event in state.events if event.kind not in _UNTOLD and since_ms <= event.at_ms <= until_ms]
    parts = back + _told(recent)[-PROMPT_LATELY_MAX:]
    return f"Lately: {', '.join(parts)}." if parts else ""


def _told(events: list[Event]) -> list[str]:
    """The events in words, equal ones as one with their sum, each at its last place."""
    summed: dict[tuple[str, str], Event] = {}
    for event in events:
        key = (event.kind, event.item)
        earlier = summed.pop(key, None)
        summed[key] = event if earlier is None or event.kind == "caught" else replace(event, n=event.n + earlier.n)
    return [told(event) for event in summed.values()]


# --- the lines -------------------------------------------------------------------------------------------------


def _lines(state: State, turn: Turn) -> tuple[str, ...]:
    if turn.kind == "diary":
        return (_today(state),)
    lines = _chat_lines(state, PROMPT_IDLE_LINES_MAX if turn.kind == "idle" else PROMPT_LINES_MAX)
    if turn.kind == "idle":
        lines.append("(Owner is quiet.)")
    elif state.asked is not None and state.asked.cue != "say":
        lines.append(_cue_line(state, state.asked))
    return tuple(lines)


def _chat_lines(state: State, high: int) -> list[str]:
    """The last lines, at most two of the pet's in a row: its own monologue would only teach it to repeat itself."""
    shown: list[ChatLine] = []
    in_a_row = 0
    for line in reversed(state.chat):
        in_a_row = in_a_row + 1 if line.who == "pet" else 0
        if in_a_row <= PROMPT_PET_LINES_IN_A_ROW_MAX:
            shown.append(line)
        if len(shown) == high:
            break
    return [f"{'Owner' if line.who == 'owner' else state.name}: {line.text}" for line in reversed(shown)]


def _cue_line(state: State, asked: Asked) -> str:
    return _CUE[asked.cue].format(name=state.name, item=named(asked.item), n=asked.n)


def _today(state: State) -> str:
    """The day in a line: what happened since the last page, the newest things last."""
    assert state.owed is not None
    today = [
        event
        for event in state.events
        if state.diary_since_ms < event.at_ms <= state.owed.at_ms and event.kind not in _UNTOLD_IN_DIARY
    ]
    return f"(Today: {', '.join(_told(today)[-PROMPT_TODAY_MAX:])}.)"
