"""What every build of the engine must agree on, as one JSON text: lists, states with their prompts, a replay.

CPython and WebAssembly print the same bytes or one of them is wrong. The words that pets say here are in the file
itself (`WORDS`), so no brain is needed; each step of the replay carries its input, so that it can be followed by hand.
"""

from hashlib import sha256

from tokenling.engine.body import wake_chance_ppm
from tokenling.engine.bounds import MINUTES_OF_DAY, TICK_MS
from tokenling.engine.codec import canonical
from tokenling.engine.commands import parse_command
from tokenling.engine.draws import draw
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.life import Step, advance
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


def _replay(zone: str, start_ms: int) -> JsonValue:
    """Sixty steps of one pet over a daylight shift; after each step it is written and read again."""
    seed = "replay"
    state = new_pet(pet_seed=seed, name="Nia", time_zone=zone, brain_id="contract", weather_seed="", now_ms=start_ms)
    steps: list[JsonValue] = []
    now_ms = start_ms
    for number in range(REPLAY_STEPS):
        now_ms += (1 + draw(seed, "replay", str(number), 170)) * TICK_MS // 2
        step, given = _replay_step(state, number, now_ms)
        data = dump_save(step.state)
        state = load_save(data)
        steps.append({**given, "nowMs": now_ms, "effects": list(step.effects), "save": sha256(data).hexdigest()})
    return {"zone": zone, "steps": steps, "last": dump_save(state).decode()}


def _replay_step(state: State, number: int, now_ms: int) -> tuple[Step, JsonObject]:
    if number % 20 == 19:
        mode = "remote" if number % 40 == 19 else "local"
        zone = state.hosting.time_zone
        return rehome(state, mode=mode, time_zone=zone, brain_id="contract", now_ms=now_ms), {"do": "rehome"}
    if number % 3 == 1:
        act = OWNER_ACTS[number // 3 % len(OWNER_ACTS)]
        return _act(state, act, now_ms), {"do": "command", "command": act}
    step = advance(state, now_ms)
    if step.turn is None:
        return step, {"do": "advance"}
    reply = words_for("replay", step.turn)
    return apply_reply(step.state, step.turn, reply), {"do": "reply", "text": reply.text}
