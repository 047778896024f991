"""The engine's rules as the dispatch calls them: a typed refusal passes, any other exception becomes `RulesFailed`.

Every call of the engine on a pet's state goes through here, so nothing that a save makes the rules do can reach
another pet.
"""

from dataclasses import dataclass
from types import TracebackType

from tokenling import engine
from tokenling.engine import Command, JsonObject, State, Step, Turn
from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.dispatch_faults import RulesFailed
from tokenling.protocol import SAVE_BYTES_MAX

SKIPPED_MAX = 1000
"""Pending turns that one command may skip: 48 slots, and one a day for the 400 days of a gap, with margin."""
OWNER_CAME = "owner_came"
FAILED = "failed"
TYPED = (engine.SaveRefused, engine.CommandRefused, engine.TurnsPending, engine.StaleTurn)


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What an owner sees of a pet, beside its record."""

    save: bytes
    effects: tuple[JsonObject, ...]
    game: JsonObject | None


class _OwnFault:
    """Turns whatever is not one of the engine's refusals into `RulesFailed`. A class, since a turn is many calls."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, TYPED):
            raise RulesFailed from error


own_fault = _OwnFault()


def load_stored(save: bytes) -> State:
    """The state of a committed row. A row that the engine refuses is a fault of the pet, too."""
    try:
        with own_fault:
            return engine.load_save(save)
    except engine.SaveRefused as fault:
        raise RulesFailed from fault


def load_uploaded(save: bytes) -> State:
    """The state of a save that an owner sends; raises the engine's `SaveRefused`."""
    with own_fault:
        return engine.load_save(save)


def dump(state: State) -> bytes:
    """The canonical save. One that has outgrown the bound is the pet's own fault, before it is the store's."""
    with own_fault:
        save = engine.dump_save(state)
        assert len(save) <= SAVE_BYTES_MAX, "a save stays within its bound"
        return save


def brain_of(state: State) -> str:
    """The brain that a save selects."""
    with own_fault:
        return engine.hosting_of(state).brain_id


def move_in(state: State, *, brain_id: str, weather_seed: str | None, now_ms: int) -> State:
    """The state as it begins its life here: remote, in its own zone, no time replayed."""
    with own_fault:
        zone = engine.hosting_of(state).time_zone
        step = engine.rehome(
            state, mode="remote", time_zone=zone, brain_id=brain_id, now_ms=now_ms, weather_seed=weather_seed
        )
        return step.state


def check_house(*, brain_id: str, weather_seed: str, now_ms: int) -> None:
    """Raise the engine's `CommandRefused` when no pet could move into a house of these names."""
    with own_fault:
        engine.new_pet(
            pet_seed="p", name="p", time_zone="UTC", brain_id=brain_id, weather_seed=weather_seed, now_ms=now_ms
        )


def live(state: State, now_ms: int) -> Step:
    """Time passes, up to `now_ms` or the next due turn."""
    with own_fault:
        return engine.advance(state, now_ms)


def wake_ms(state: State) -> int:
    """When the pet is due next."""
    with own_fault:
        return engine.due_ms(state)


def is_ahead(state: State, now_ms: int) -> bool:
    """Whether the wall clock was set back behind the body clock."""
    with own_fault:
        return now_ms < engine.body_clock_ms(state)


def gap_ms(state: State, now_ms: int) -> int:
    """How far the body clock is behind the wall clock."""
    with own_fault:
        return now_ms - engine.body_clock_ms(state)


def ask(state: State, turn: Turn) -> GenerationRequest:
    """What the turn asks of the brain."""
    with own_fault:
        return engine.build_request(state, turn)


def hear(state: State, turn: Turn, reply: Reply) -> Step:
    """The reply becomes part of the pet's life; raises the engine's `StaleTurn`."""
    with own_fault:
        return engine.apply_reply(state, turn, reply)


def give_up(state: State, turn: Turn) -> Step:
    """The turn ends without words since the brain failed on it for good; raises the engine's `StaleTurn`."""
    with own_fault:
        return engine.skip_turn(state, turn, FAILED)


def obey(state: State, command: Command, now_ms: int) -> Step:
    """An owner's command, with the idle turns that were pending skipped; raises the engine's `CommandRefused`."""
    with own_fault:
        for _ in range(SKIPPED_MAX):
            try:
                return engine.apply_command(state, command, now_ms)
            except engine.TurnsPending:
                step = engine.advance(state, now_ms)
                assert step.turn is not None, "the engine says that turns are pending"
                assert step.turn.kind == "idle", "only idle turns stand in a command's way"
                state = engine.skip_turn(step.state, step.turn, OWNER_CAME).state
        raise AssertionError("more pending turns than a gap can hold")


def still_wanted(state: State, turn: Turn) -> bool:
    """Whether the reply to a turn that was asked earlier may still be applied: what `apply_reply` will ask, too."""
    with own_fault:
        return engine.pending_turn(state) == turn


def owes(state: State) -> bool:
    """Whether the pet has a turn to think about as it stands."""
    with own_fault:
        return engine.pending_turn(state) is not None


def glimpse(state: State, save: bytes, now_ms: int) -> Glimpse:
    """The pet as it is at `now_ms` or at its next due turn; `state`, whose save is `save`, stays as it is."""
    with own_fault:
        seen = engine.advance(state, now_ms).state
        if seen is not state:  # within the minute of a commit no time has passed
            save = engine.dump_save(seen)
        return Glimpse(save, engine.effects_of(seen), engine.game_of(seen))
