"""What every build of the engine must agree on, as one JSON text: lists, states with their prompts, a replay.

CPython and WebAssembly print the same bytes or one of them is wrong. The words that pets say here are in the file
itself (`WORDS`), so no brain is needed; each step of the replay carries its input, so that it can be followed by hand.
"""

from dataclasses import dataclass
from hashlib import sha256

from tokenling.engine.body import wake_chance_ppm
from tokenling.engine.bounds import MINUTES_OF_DAY, TICK_MS
from tokenling.engine.codec import canonical
from tokenling.engine.commands import parse_command
from tokenling.engine.draws import draw
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.life import Step, advance, due_ms, step_of
from tokenling.engine.lists import LISTS
from tokenling.engine.owner import apply_command
from tokenling.engine.pets import new_pet, rehome
from tokenling.engine.prompts import PROMPT_VERSION, build_request
from tokenling.engine.replies import apply_reply, skip_turn
from tokenling.engine.request import Reply, prompt_text
from tokenling.engine.saves import ENGINE_VERSION, SAVE_VERSION, dump_save, load_save
from tokenling.engine.state import State
from tokenling.engine.turns import Turn
from tokenling.engine.zones import local_minute

STATES = 300
PETS = 20
ZONES = ("Europe/Berlin", "Australia/Lord_Howe")
"""The second shifts by half an hour. Both replays begin a day before a shift."""
STARTS_MS = (1_774_650_600_000, 1_775_262_600_000)
SEED = "replay"
REPLAY_STEPS = 60

WORDS = (
    "[happy] Hello! I am glad you are here.",
    "[eat] Yum, that is good.",
    "[go garden] The grass is soft today.",
    "[remember Owner likes the sea] I will think of the sea.",
    "[accept] Oh, for me? Thank you!",
    "[play] Catch me if you can!",
    "[look weather] I wonder what it is like outside.",
    "[nap] So sleepy now.",
    "[decline] Not now, maybe later.",
    "[explore][curious] What is behind the door?",
    "[wash] Splash, splash.",
    "[unknown tag] Half a [bracket and [[sing]] a song.",
    "",
    "[go pond][calm] The water is quiet.",
    "[remember The kite is in the attic] It flew so high.",
    "[draw][proud] Look, a boat with two sails.",
    "[wake] Mmh, good morning.",
    "[dance] One, two, three!",
    "[recall kite] I know where it is.",
    "[go nest][sleepy] My nest is warm.",
)
OWNER_ACTS: tuple[JsonObject, ...] = (
    {"kind": "say", "text": "Good morning, how are you?"},
    {"kind": "care", "action": "feed", "item": "plum"},
    {"kind": "offer", "offer": "toy", "item": "kite"},
    {"kind": "care", "action": "wash"},
    {"kind": "say", "text": "Where is the kite? [eat] \u00e4\u00f6\u00fc \u4f60\u597d \U0001f431"},
    {"kind": "offer", "offer": "catch"},
    {"kind": "care", "action": "stroke"},
    {"kind": "settings", "name": "Momo"},
    {"kind": "offer", "offer": "food"},
    {"kind": "care", "action": "lamp"},
    {"kind": "settings", "chatter": 4},
    {"kind": "care", "action": "tuck"},
    {"kind": "offer", "offer": "gift", "item": "shell"},
)


def _says(minutes: int, kind: str, **more: JsonValue) -> JsonObject:
    return {"do": "command", "minutes": minutes, "command": {"kind": kind, **more}}


SCENES: tuple[JsonObject, ...] = (
    {"do": "live", "until": 600},
    _says(1, "offer", offer="catch"), {"do": "reply", "text": "[accept][excited] Ready!"},
    _says(1, "game", score=7), {"do": "skip"},
    _says(1, "offer", offer="catch"), {"do": "reply", "text": "[accept] Again!"}, {"do": "live", "minutes": 30},
    _says(1, "say", text="One."), _says(1, "say", text="Two."), _says(1, "say", text="Three."),
    _says(1, "say", text="Four."), {"do": "reply", "text": "[curious] Three?"},
    {"do": "reply", "text": "[remember Owner can count] Four!"},
    {"do": "advance", "minutes": -180},
    {"do": "live", "minutes": 25_920}, {"do": "live", "until": 630},
    _says(0, "care", action="lamp"), {"do": "reply", "text": "[go window] You are back!"},
    _says(1, "settings", timeZone="Asia/Kathmandu"),
    _says(2_880, "care", action="wash"),
    {"do": "live", "until": 1430}, _says(1, "offer", offer="gift", item="acorn"), {"do": "live", "until": 480},
    {"do": "rehome", "brainId": "contract-2"},
)  # fmt: skip
"""What draws seldom meet: a game with a score and one left alone, a turn given up, words that replace words until a
turn is unstoppable, a clock set back, eighteen days away, a return, a zone of quarter hours, an act past a page that is
two days late, an offer to a sleeper, another brain."""


def contract() -> str:
    """The canonical JSON text."""
    lists: JsonObject = {name: list(members) for name, members in LISTS.items()}
    return canonical(
        {
            "versions": {"save": SAVE_VERSION, "engine": ENGINE_VERSION, "prompt": PROMPT_VERSION},
            "lists": lists,
            "states": list(contract_states()),
            "replays": [_replay(zone, start_ms) for zone, start_ms in zip(ZONES, STARTS_MS, strict=True)],
        }
    )


def words_for(seed: str, turn: Turn) -> Reply:
    """What a pet of the contract says in a turn: a draw keyed by the turn's id."""
    text = WORDS[draw(seed, "words", turn.id, len(WORDS))]
    return Reply(text, "newline", ())


# --- states with their prompts ------------------------------------------------------------------------------------


def contract_states() -> list[JsonObject]:
    """Three hundred states at their turns: a digest of the save, the prompt, tags, lookups, the wake chance."""
    shown: list[JsonObject] = []
    for pet in range(PETS):
        shown.extend(_life(f"contract-{pet}", ZONES[pet % 2], STATES // PETS))
    assert len(shown) == STATES
    return shown


def _life(seed: str, zone: str, wanted: int) -> list[JsonObject]:
    """States of one pet at its turns, an owner's act every now and then."""
    now_ms = STARTS_MS[0] + draw(seed, "contract", "start", MINUTES_OF_DAY) * TICK_MS
    state = new_pet(pet_seed=seed, name="Pip", time_zone=zone, brain_id="contract", weather_seed="sky", now_ms=now_ms)
    shown: list[JsonObject] = []
    while len(shown) < wanted:
        now_ms += (40 + draw(seed, "contract", f"wait {now_ms}", 160)) * TICK_MS
        state = _act(state, OWNER_ACTS[draw(seed, "contract", f"act {now_ms}", len(OWNER_ACTS))], now_ms).state
        step = advance(state, now_ms)
        while step.turn is not None and len(shown) < wanted:
            shown.append(_shown(step.state, step.turn))
            step = advance(apply_reply(step.state, step.turn, words_for(seed, step.turn)).state, now_ms)
        state = step.state
    return shown


def _act(state: State, act: JsonObject, now_ms: int) -> Step:
    """The owner's act, with the idle turns that stand in its way given up."""
    step = advance(state, now_ms)
    while step.turn is not None and step.turn.kind == "idle":
        step = advance(skip_turn(step.state, step.turn, "owner_came").state, now_ms)
    return apply_command(step.state, parse_command(act), now_ms)


def _shown(state: State, turn: Turn) -> JsonObject:
    request = build_request(state, turn)
    hour = local_minute(state.hosting.time_zone, state.tick) // 60 % 24
    return {
        "save": _digest(state),
        "turn": [turn.id, turn.kind, turn.at_ms, turn.seed, turn.context_revision, turn.unstoppable],
        "prompt": prompt_text(request.header, request.lines, request.prefix),
        "mode": request.mode,
        "tags": list(request.tags),
        "lookups": dict(request.answers),
        "wakeChancePpm": wake_chance_ppm(state.body.energy, hour, state.disturbance, tucked=state.tucked),
    }


def _digest(state: State) -> str:
    return sha256(dump_save(state)).hexdigest()


# --- the replay -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """A step done: at what time, with what given beside it, and what came of it."""

    step: Step
    now_ms: int
    given: JsonObject


def _replay(zone: str, start_ms: int) -> JsonValue:
    """One pet over a daylight shift, sixty drawn steps and the scenes; after each it is written and read again."""
    state = new_pet(pet_seed=SEED, name="Nia", time_zone=zone, brain_id="contract", weather_seed="", now_ms=start_ms)
    steps: list[JsonValue] = []
    now_ms = start_ms
    for number in range(REPLAY_STEPS + len(SCENES)):
        if number < REPLAY_STEPS:
            done = _drawn_step(state, number, now_ms)
        else:
            done = _scene(state, SCENES[number - REPLAY_STEPS], now_ms)
        before, now_ms = state, done.now_ms
        data = dump_save(done.step.state)
        state = load_save(data)
        effects = step_of(before, state).effects
        shown: JsonObject = {
            "nowMs": now_ms,
            "effects": list(effects),
            "notices": list(done.step.notices),
            "dueMs": due_ms(state),
        }
        steps.append(done.given | shown | {"save": sha256(data).hexdigest()})
    return {"zone": zone, "steps": steps, "last": dump_save(state).decode()}


def _drawn_step(state: State, number: int, now_ms: int) -> Done:
    now_ms += (1 + draw(SEED, "replay", str(number), 170)) * TICK_MS // 2
    if number % 20 == 19:
        mode = "remote" if number % 40 == 19 else "local"
        zone = state.hosting.time_zone
        step = rehome(state, mode=mode, time_zone=zone, brain_id="contract", now_ms=now_ms)
        return Done(step, now_ms, {"do": "rehome", "mode": mode})
    if number % 3 == 1:
        act = OWNER_ACTS[number // 3 % len(OWNER_ACTS)]
        return Done(_act(state, act, now_ms), now_ms, {"do": "command", "command": act})
    step = advance(state, now_ms)
    if step.turn is None:
        return Done(step, now_ms, {"do": "advance"})
    text = words_for(SEED, step.turn).text
    return Done(apply_reply(step.state, step.turn, Reply(text, "newline", ())), now_ms, {"do": "reply", "text": text})


def _scene(state: State, scene: JsonObject, now_ms: int) -> Done:
    """A step as the scene says; a result is that of the running game."""
    now_ms += _later_ms(state, scene, now_ms)
    match scene:
        case {"do": "live"}:
            step = _lived(state, now_ms)
        case {"do": "command", "command": dict(act)}:
            act = act | ({"gameId": state.game.id} if act["kind"] == "game" and state.game is not None else {})
            scene = scene | {"command": act}
            step = _act(state, act, now_ms)
        case {"do": "rehome", "brainId": str(brain_id)}:
            hosting = state.hosting
            step = rehome(state, mode=hosting.mode, time_zone=hosting.time_zone, brain_id=brain_id, now_ms=now_ms)
        case {"do": "reply", "text": str(text)}:
            step = _answered(advance(state, now_ms), text)
        case {"do": "skip"}:
            step = _answered(advance(state, now_ms), None)
        case _:
            step = advance(state, now_ms)
    return Done(step, now_ms, scene)


def _later_ms(state: State, scene: JsonObject, now_ms: int) -> int:
    """How long before a scene: so many minutes, or until the pet's clock next shows a minute of the day."""
    match scene:
        case {"until": int(until)}:
            local = local_minute(state.hosting.time_zone, now_ms // TICK_MS)
            return (until - local) % MINUTES_OF_DAY * TICK_MS
        case {"minutes": int(minutes)}:
            return minutes * TICK_MS
    return 0


def _answered(step: Step, text: str | None) -> Step:
    """The due turn answered, given up without a text."""
    assert step.turn is not None, "a scene of the contract that answers comes behind one that asks"
    if text is None:
        return skip_turn(step.state, step.turn, "failed")
    return apply_reply(step.state, step.turn, Reply(text, "newline", ()))


def _lived(state: State, to_ms: int) -> Step:
    """The pet at a later time, each turn on the way answered."""
    step = advance(state, to_ms)
    while step.turn is not None:
        step = advance(apply_reply(step.state, step.turn, words_for(SEED, step.turn)).state, to_ms)
    return step
