"""The only door for JavaScript: `call(function, arguments_json) -> str`. State crosses as a string, its save.

JavaScript's numbers spoil integers of 2^53 and more and its objects reorder keys, so a state is never an object there.
The answer is JSON: `{"ok": …}`, or `{"refused": {"error", "code", "path"}}` for a typed refusal of the engine. Anything
else is raised: a fault of that pet's rules.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache

from tokenling.engine.bounds import SAVE_BYTES_MAX
from tokenling.engine.codec import canonical
from tokenling.engine.commands import parse_command
from tokenling.engine.errors import CommandRefused, EngineError, SaveRefused
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.life import Step, advance, check_time, due_ms
from tokenling.engine.lists import LISTS
from tokenling.engine.owner import apply_command
from tokenling.engine.pets import new_pet, rehome
from tokenling.engine.prompts import PROMPT_VERSION, build_request
from tokenling.engine.replies import SKIP_REASONS, apply_reply, skip_turn
from tokenling.engine.request import GenerationRequest, Reply, StopReason, first_kept_line
from tokenling.engine.saves import ENGINE_VERSION, SAVE_VERSION, dump_save, load_save
from tokenling.engine.state import State
from tokenling.engine.turns import Turn, TurnKind, pending_turn
from tokenling.engine.views import body_clock_ms, context_revision_of, effects_of, game_of, hosting_of

ARGUMENTS_MAX = 4 * SAVE_BYTES_MAX
"""Characters of one call: a save as a JSON string may double, and a reply comes beside it."""
_STOPS: Mapping[str, StopReason] = {"eos": "eos", "newline": "newline", "length": "length", "cancelled": "cancelled"}
_KINDS: Mapping[str, TurnKind] = {"reactive": "reactive", "idle": "idle", "diary": "diary"}


class BridgeRefused(EngineError):  # noqa: N818 - the name says what happened
    """Raised for a call that is not well formed: an unknown function, a missing or wrong argument."""

    def __init__(self, code: str, path: str) -> None:
        super().__init__(f"call refused: {code} at {path}")
        self.code = code
        self.path = path


def call(function: str, arguments_json: str) -> str:
    """The JSON answer of a function of the engine to a JSON object of arguments."""
    try:
        if function not in _FUNCTIONS:
            raise BridgeRefused("unknown_function", "/function")
        return canonical({"ok": _FUNCTIONS[function](_Arguments(arguments_json))})
    except EngineError as refused:
        path = refused.path if isinstance(refused, SaveRefused | CommandRefused | BridgeRefused) else ""
        return canonical({"refused": {"error": type(refused).__name__, "code": refused.code, "path": path}})


class _Arguments:
    """The arguments of a call, each asked for by name and type."""

    def __init__(self, text: str) -> None:
        try:
            value: object = json.loads(text) if len(text) <= ARGUMENTS_MAX else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise BridgeRefused("not_an_object", "/arguments")
        self._value: dict[str, JsonValue] = value

    def _held(self, name: str) -> JsonValue:
        if name not in self._value:
            raise BridgeRefused("missing", f"/{name}")
        return self._value[name]

    def text(self, name: str) -> str:
        held = self._held(name)
        if not isinstance(held, str):
            raise BridgeRefused("not_a_text", f"/{name}")
        return held

    def integer(self, name: str) -> int:
        held = self._held(name)
        if type(held) is not int:
            raise BridgeRefused("not_an_integer", f"/{name}")
        return held

    def optional_text(self, name: str) -> str | None:
        return None if self._value.get(name) is None else self.text(name)

    def integers(self, name: str) -> list[int]:
        held = self._held(name)
        if not isinstance(held, list):
            raise BridgeRefused("not_a_list", f"/{name}")
        found = [member for member in held if type(member) is int]
        if len(found) != len(held):
            raise BridgeRefused("not_an_integer", f"/{name}")
        return found

    def object(self, name: str) -> "_Arguments":
        held = self._held(name)
        if not isinstance(held, dict):
            raise BridgeRefused("not_an_object", f"/{name}")
        inner = _Arguments("{}")
        inner._value = held
        return inner

    def value(self, name: str) -> JsonValue:
        return self._held(name)

    def state(self) -> State:
        return _read(self.text("state"))

    def now_ms(self) -> int:
        return self.integer("nowMs")

    def turn(self) -> Turn:
        given = self.object("turn")
        kind = given.text("kind")
        if kind not in _KINDS:
            raise BridgeRefused("unknown_member", "/turn/kind")
        unstoppable = given.value("unstoppable")
        if not isinstance(unstoppable, bool):
            raise BridgeRefused("not_a_flag", "/turn/unstoppable")
        return Turn(
            id=given.text("id"),
            kind=_KINDS[kind],
            at_ms=given.integer("atMs"),
            seed=given.integer("seed"),
            context_revision=given.integer("contextRevision"),
            unstoppable=unstoppable,
        )

    def reply(self) -> Reply:
        given = self.object("reply")
        stop = given.text("stop")
        if stop not in _STOPS:
            raise BridgeRefused("unknown_member", "/reply/stop")
        return Reply(given.text("text"), _STOPS[stop], ())


@lru_cache(maxsize=4)
def _read(text: str) -> State:
    """The state in a save; the page hands the same string to several functions in a row."""
    try:
        return load_save(text.encode())
    except UnicodeEncodeError:
        raise SaveRefused("lone_surrogate", "") from None


def _written(state: State) -> str:
    return dump_save(state).decode()


def _turn(turn: Turn | None) -> JsonValue:
    if turn is None:
        return None
    return {
        "id": turn.id,
        "kind": turn.kind,
        "atMs": turn.at_ms,
        "seed": turn.seed,
        "contextRevision": turn.context_revision,
        "unstoppable": turn.unstoppable,
    }


def _step(step: Step) -> JsonValue:
    return {
        "state": _written(step.state),
        "effects": list(step.effects),
        "notices": list(step.notices),
        "turn": _turn(step.turn),
    }


def request_json(request: GenerationRequest) -> JsonObject:
    """A request as the page's brain worker takes it."""
    return {
        "header": request.header,
        "lines": list(request.lines),
        "prefix": request.prefix,
        "mode": request.mode,
        "tags": list(request.tags),
        "answers": dict(request.answers),
        "maxNew": request.max_new,
        "topK": request.top_k,
        "temperatureMilli": request.temperature_milli,
        "topPMilli": request.top_p_milli,
        "ctx": request.ctx,
        "seed": request.seed,
    }


# --- the functions -----------------------------------------------------------------------------------------------


def _new_pet(given: _Arguments) -> JsonValue:
    state = new_pet(
        pet_seed=given.text("petSeed"),
        name=given.text("name"),
        time_zone=given.text("timeZone"),
        brain_id=given.text("brainId"),
        weather_seed=given.text("weatherSeed"),
        now_ms=_clock(given),
    )
    return {"state": _written(state)}


def _clock(given: _Arguments) -> int:
    now_ms = given.now_ms()
    try:
        check_time(now_ms)
    except ValueError:
        raise BridgeRefused("out_of_range", "/nowMs") from None
    return now_ms


def _rehome(given: _Arguments) -> JsonValue:
    return _step(
        rehome(
            given.state(),
            mode=given.text("mode"),
            time_zone=given.text("timeZone"),
            brain_id=given.text("brainId"),
            now_ms=_clock(given),
            weather_seed=given.optional_text("weatherSeed"),
        )
    )


def _skip_turn(given: _Arguments) -> JsonValue:
    reason = given.text("reason")
    if reason not in SKIP_REASONS:
        raise BridgeRefused("unknown_member", "/reason")
    return _step(skip_turn(given.state(), given.turn(), reason))


def _view(given: _Arguments) -> JsonValue:
    """What an executor asks of a state without changing it."""
    state = given.state()
    hosting = hosting_of(state)
    return {
        "bodyClockMs": body_clock_ms(state),
        "contextRevision": context_revision_of(state),
        "dueMs": due_ms(state),
        "effects": list(effects_of(state)),
        "game": game_of(state),
        "hosting": {"mode": hosting.mode, "brainId": hosting.brain_id, "timeZone": hosting.time_zone},
        "turn": _turn(pending_turn(state)),
    }


def _first_kept_line(given: _Arguments) -> JsonValue:
    try:
        return first_kept_line(
            given.integer("headerTokens"), given.integers("lineTokens"), given.integer("prefixTokens"),
            given.integer("budget"),
        )  # fmt: skip
    except ValueError:
        raise BridgeRefused("does_not_fit", "/budget") from None


def _versions(_: _Arguments) -> JsonValue:
    lists: JsonObject = {name: list(members) for name, members in LISTS.items()}
    return {"engine": ENGINE_VERSION, "prompt": PROMPT_VERSION, "save": SAVE_VERSION, "lists": lists}


_FUNCTIONS: Mapping[str, Callable[[_Arguments], JsonValue]] = {
    "new_pet": _new_pet,
    "load_save": lambda given: {"state": _written(given.state())},
    "advance": lambda given: _step(advance(given.state(), _clock(given))),
    "apply_command": lambda given: _step(
        apply_command(given.state(), parse_command(given.value("command")), _clock(given))
    ),
    "apply_reply": lambda given: _step(apply_reply(given.state(), given.turn(), given.reply())),
    "skip_turn": _skip_turn,
    "build_request": lambda given: request_json(build_request(given.state(), given.turn())),
    "rehome": _rehome,
    "view": _view,
    "first_kept_line": _first_kept_line,
    "versions": _versions,
}
