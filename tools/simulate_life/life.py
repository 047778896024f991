"""One simulated life, run by the engine and looked at every half hour."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tokenling.cli.save_view import SaveView, view_of
from tokenling.engine import (
    JsonObject,
    State,
    Step,
    Turn,
    advance,
    apply_command,
    apply_reply,
    build_request,
    new_pet,
    parse_command,
    skip_turn,
)
from tools.simulate_life.owners import START_MS, ZONE, Owner
from tools.simulate_life.words import Writer

METERS = ("fullness", "energy", "mood", "hygiene", "warmth", "bond")
LOOK_EVERY_MS = 30 * 60_000
DEEDS = frozenset(("act", "go"))
"""Effects of an idle turn that carries an action."""


@dataclass(frozen=True, slots=True)
class Look:
    """The pet at an instant; meters in millionths."""

    at_ms: int
    asleep: bool
    meters: dict[str, int]


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn that was answered: its kind, time, whether it had words and a deed."""

    kind: str
    at_ms: int
    spoke: bool
    deed: bool


@dataclass(slots=True)
class Life:
    """What a simulated life showed. `wants` are the times at which the pet asked for something, with what for."""

    owner: Owner
    seed: str
    looks: list[Look] = field(default_factory=list)
    turns: list[Answered] = field(default_factory=list)
    wants: list[tuple[int, str]] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    last: SaveView | None = None


def simulate(
    owner: Owner, seed: str, writer: Writer, *, chatter: int = 2, watch: Callable[[Life], object] | None = None
) -> Life:
    """The life of a new pet with an owner, each turn answered at its own time."""
    life = Life(owner, seed)
    state = new_pet(
        pet_seed=seed, name="Pip", time_zone=ZONE, brain_id="simulated", weather_seed="simulated", now_ms=START_MS
    )
    state = _acted(life, state, {"kind": "settings", "chatter": chatter}, START_MS, writer)
    acts = list(owner.acts())
    for now_ms in range(START_MS + LOOK_EVERY_MS, owner.end_ms + 1, LOOK_EVERY_MS):
        while acts and acts[0][0] <= now_ms:
            at_ms, act = acts.pop(0)
            state = _acted(life, state, act, at_ms, writer)
            life.visits.append(at_ms)
        state = _lived(life, state, now_ms, writer)
        life.looks.append(_look(view_of(state), now_ms))
        if watch is not None:
            watch(life)
    life.last = view_of(state)
    return life


def _acted(life: Life, state: State, act: JsonObject, at_ms: int, writer: Writer) -> State:
    """The owner's act; idle turns that stand in its way are given up."""
    step = advance(state, at_ms)
    while step.turn is not None:
        _note(life, step)
        done = (
            skip_turn(step.state, step.turn, "owner_came") if step.turn.kind == "idle" else _answer(life, step, writer)
        )
        step = advance(done.state, at_ms)
    _note(life, step)
    done = apply_command(step.state, parse_command(act), at_ms)
    _note(life, done)
    return _lived(life, done.state, at_ms, writer)


def _lived(life: Life, state: State, now_ms: int, writer: Writer) -> State:
    step = advance(state, now_ms)
    _note(life, step)
    while step.turn is not None:
        step = advance(_answer(life, step, writer).state, now_ms)
        _note(life, step)
    return step.state


def _answer(life: Life, step: Step, writer: Writer) -> Step:
    turn = step.turn
    assert turn is not None
    done = apply_reply(step.state, turn, writer(build_request(step.state, turn)))
    life.turns.append(_answered(turn, done))
    return done


def _answered(turn: Turn, done: Step) -> Answered:
    kinds = frozenset(str(effect["kind"]) for effect in done.effects)
    return Answered(turn.kind, turn.at_ms, bool(kinds & {"speak", "diary"}), bool(kinds & DEEDS))


def _note(life: Life, step: Step) -> None:
    for effect in step.effects:
        if effect["kind"] == "want":
            at_ms = effect["atMs"]
            assert isinstance(at_ms, int)
            life.wants.append((at_ms, str(effect["item"])))


def _look(pet: SaveView, now_ms: int) -> Look:
    body = pet.inner("body")
    assert body is not None
    return Look(now_ms, pet.flag("asleep"), {name: body.number(name) for name in METERS})
