"""What others may read of a state: it is opaque otherwise."""

from tokenling.engine.jsonvalue import JsonObject
from tokenling.engine.saves import EFFECT, GAME, value_of
from tokenling.engine.state import Hosting, State


def hosting_of(state: State) -> Hosting:
    """Where the pet lives and what it thinks with."""
    return state.hosting


def context_revision_of(state: State) -> int:
    """The revision that `say`, offers, names and settings move."""
    return state.context_revision


def body_clock_ms(state: State) -> int:
    """How far the state has lived."""
    return state.body_clock_ms


def effects_of(state: State) -> tuple[JsonObject, ...]:
    """The last 32 effects, oldest first: `{id, kind, atMs, item?, n?}`."""
    return tuple(value_of(EFFECT, effect) for effect in state.effects)


def game_of(state: State) -> JsonObject | None:
    """The running game of catch, `{id, startedMs, expiresMs}`, or None."""
    return None if state.game is None else value_of(GAME, state.game)
