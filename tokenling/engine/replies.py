"""What a reply does: words into chat or diary, legal tags into the body, everything else dropped."""

from tokenling.engine import balance
from tokenling.engine.bounds import DIARY_MAX, DIARY_TEXT_MAX, SNACKS_MAX, TEXT_MAX, TICK_MS
from tokenling.engine.draws import draw
from tokenling.engine.errors import StaleTurn
from tokenling.engine.journal import changed, counted, with_effect, with_event, with_line, with_treasure
from tokenling.engine.keepsakes import keepsake_of
from tokenling.engine.life import Step, asleep_now, offer_put, step_of, woken
from tokenling.engine.memories import fitting, recalled, with_memory
from tokenling.engine.owner import bond_gain
from tokenling.engine.prompts import lookup_answers
from tokenling.engine.records import replace
from tokenling.engine.request import Reply
from tokenling.engine.state import DiaryPage, Game, State
from tokenling.engine.tags import effective, legal_tags, memory_text, parted
from tokenling.engine.turns import Turn, answered, pending_turn
from tokenling.engine.zones import date_text

SKIP_REASONS = ("owner_came", "failed", "stopped")
"""Why an executor gives a turn up: the owner came, the brain failed for good, or it is told to stop."""


def apply_reply(state: State, turn: Turn, reply: Reply) -> Step:
    """The turn done with what the brain wrote, at the turn's own time. Raises `StaleTurn` when it is not due any more.

    Whatever the text, the state stays legal: unknown and illegal tags are dropped, the words stay. An empty reply
    ends the turn without words; nothing is substituted.
    """
    _check_due(state, turn)
    before = state
    words, tags = parted(reply.text, DIARY_TEXT_MAX if turn.kind == "diary" else TEXT_MAX)
    known = lookup_answers(state, turn)
    chosen = effective(tags, legal_tags(state, turn.kind))
    state = _remembered(state, turn, chosen, _looked_up(tags, known))
    state = _written(state, turn, words) if turn.kind == "diary" else _spoken(state, turn, words)
    state = answered(state, turn)
    state = _acted(state, turn, chosen)
    return step_of(before, offer_put(state, turn.at_ms))


def skip_turn(state: State, turn: Turn, reason: str) -> Step:
    """The turn given up without words. Raises `StaleTurn` as `apply_reply`, `ValueError` for an unknown reason."""
    if reason not in SKIP_REASONS:
        raise ValueError(f"reason is not one of {', '.join(SKIP_REASONS)}")
    _check_due(state, turn)
    after = answered(state, turn)
    if turn.kind == "idle" and reason != "owner_came":
        after = with_event(replace(after, quiet_slots=counted(after.quiet_slots)), "quiet", turn.at_ms)
    return step_of(state, offer_put(after, turn.at_ms))


def _check_due(state: State, turn: Turn) -> None:
    due = pending_turn(state)
    if due is None or due != turn:
        raise StaleTurn(turn.id)


# --- words ---------------------------------------------------------------------------------------------------


def _spoken(state: State, turn: Turn, words: str) -> State:
    if not words:
        return state
    return with_effect(with_line(state, "pet", words, turn.at_ms, turn.id), "speak", turn.at_ms)


def _written(state: State, turn: Turn, words: str) -> State:
    assert state.owed is not None
    if not words:
        return state
    page = DiaryPage(date_text(state.owed.day), words, turn.at_ms, keepsake_of(state), turn.id)
    return with_effect(replace(state, diary=(*state.diary, page)[-DIARY_MAX:]), "diary", turn.at_ms, page.keepsake)


def _looked_up(tags: tuple[str, ...], answers: dict[str, str]) -> tuple[str, ...]:
    """The memories that the text recalled, each once."""
    legal = [tag for tag in dict.fromkeys(tags) if tag.startswith("recall ") and f"[{tag}]" in answers]
    return tuple(answers[f"[{tag}]"] for tag in legal)


def _remembered(state: State, turn: Turn, chosen: dict[str, str], looked_up: tuple[str, ...]) -> State:
    """Memories that came to mind are counted, a new one is kept."""
    if turn.kind == "reactive":
        state = recalled(state, tuple(memory.text for memory in fitting(state)))
    state = recalled(state, looked_up)
    text = memory_text(chosen["memory"]) if "memory" in chosen else ""
    if not text:
        return state
    state = with_event(with_memory(state, text, turn.at_ms), "remembered", turn.at_ms)
    return with_effect(state, "remember", turn.at_ms, text)


# --- deeds ---------------------------------------------------------------------------------------------------


def _acted(state: State, turn: Turn, chosen: dict[str, str]) -> State:
    at_ms = turn.at_ms
    if "mood" in chosen:
        state = with_effect(replace(state, feeling=chosen["mood"]), "feel", at_ms, chosen["mood"])
    if turn.kind == "diary":
        return state
    if "answer" in chosen:
        state = _accepted(state, at_ms) if chosen["answer"] == "accept" else _declined(state, at_ms)
    if "place" in chosen:
        place = chosen["place"].removeprefix("go ")
        state = with_event(replace(state, place=place), "went", at_ms, place)
        state = with_effect(state, "go", at_ms, place)
    if "action" in chosen:
        state = _did(state, chosen["action"], at_ms)
    return state


def _did(state: State, action: str, at_ms: int) -> State:
    if action == "wake":
        return woken(state, at_ms)
    fullness, energy, mood, hygiene = balance.ACTION_BODY[action]
    bond = bond_gain(state, balance.HUG_BOND) if action == "hug" else 0
    body = changed(state.body, fullness=fullness, energy=energy, mood=mood, hygiene=hygiene, bond=bond)
    state = with_event(replace(state, body=body), "did", at_ms, action)
    state = with_effect(state, "act", at_ms, action)
    if action == "eat":
        state = replace(state, snacks=state.snacks - 1)
        if state.want is not None and state.want.kind == "food":
            state = replace(state, want=None)
    elif action == "explore":
        state = _explored(state, at_ms)
    elif action == "nap" and state.game is None:
        state = asleep_now(state, at_ms)
    return state


def _explored(state: State, at_ms: int) -> State:
    found = draw(state.pet_seed, "explore", str(at_ms // TICK_MS), 1_000_000) < balance.EXPLORE_FINDS_PPM
    if not found or state.snacks >= SNACKS_MAX:
        return state
    return with_event(replace(state, snacks=state.snacks + 1), "found", at_ms, "snack")


def _accepted(state: State, at_ms: int) -> State:
    offer = state.offer
    assert offer is not None
    named = offer.item or offer.kind
    state = with_event(replace(state, offer=None), "accepted", at_ms, named)
    state = with_effect(state, "accept", at_ms, named)
    favourite = offer.item in (state.character.food, state.character.toy)
    body = changed(
        state.body,
        fullness=balance.ACCEPT_FULLNESS if offer.kind == "food" else 0,
        mood=balance.ACCEPT_MOOD[offer.kind] + favourite * balance.FAVOURITE_MOOD,
        bond=bond_gain(state, balance.ACCEPT_BOND[offer.kind]),
    )
    state = replace(state, body=body)
    if offer.kind == "food" and state.want is not None and state.want.kind == "food":
        state = replace(state, want=None)
    if offer.kind in ("toy", "gift"):
        return with_treasure(state, offer.item)
    return _game_started(state, at_ms) if offer.kind == "catch" else state


def _game_started(state: State, at_ms: int) -> State:
    game = Game(f"g{state.next_effect}", at_ms, at_ms + balance.GAME_MINUTES * TICK_MS)
    return with_effect(replace(state, game=game), "game_start", at_ms, game.id)


def _declined(state: State, at_ms: int) -> State:
    offer = state.offer
    assert offer is not None
    named = offer.item or offer.kind
    state = with_event(replace(state, offer=None), "declined", at_ms, named)
    return with_effect(state, "decline", at_ms, named)
