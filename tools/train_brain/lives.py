"""Simulated lives: an owner and a pet, the real engine between them, the writer in the brain's place.

A life is lived in visits. Between visits time passes and the pet has turns of its own; within one the owner talks,
cares, offers, plays. To see bodies in every state, not only in the usual ones, most visits start from a *shaken* save:
the same pet with other meters, another place, another feeling.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tokenling.engine import (
    Care,
    Command,
    GenerationRequest,
    JsonValue,
    Offer,
    Reply,
    State,
    Turn,
    advance,
    apply_command,
    apply_reply,
    body_clock_ms,
    build_request,
    due_ms,
    dump_save,
    game_of,
    load_save,
    new_pet,
    parse_command,
    pending_turn,
    prompt_text,
    skip_turn,
)
from tokenling.engine.lists import CARE, FOODS, MOODS, OFFERS, PLACES, STAGES
from tokenling.engine.request import StopReason
from tools.train_brain.compose import compose
from tools.train_brain.owners import Owner, Said, going_on
from tools.train_brain.phrases import Chance
from tools.train_brain.scene import METERS, Scene, scene_of
from tools.train_brain.writer.book import invented_word, words_of

MINUTE_MS = 60_000
FIRST_MS = 1_767_225_600_000
"""2026-01-01; lives begin within the year after it."""
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "Africa/Lagos", "America/Sao_Paulo")
BAND_ENDS = (40_000, 150_000, 350_000, 650_000, 880_000, 1_000_000)
"""The engine's five bands, so that a shaken body stands in each equally often."""
SHAKEN_PERCENT, FORGOTTEN_PERCENT, IDLE_KEPT_PERCENT, AWAITED_PERCENT = 75, 45, 40, 93
UNSPOKEN, UNSPOKEN_ASLEEP = 7, 1
"""Other lines that are tried at each thing said; a sleeper's answers differ less."""
WORN_OUT_PERCENT = 40
"""How often a shaken energy may lie in the lowest band: such a pet falls asleep before it has said much."""
SAID_BY_KIND = {"silent": 12.0}
"""How much an owner talks, beside 20 parts of care and 24 of offers; 56 where none is named."""
HERE_PERCENT = 40
"""How often the place where the pet is may be among those that it is sent to."""
SMALL_WORDS = frozenset(("is", "in", "a", "an", "the", "by", "from"))
"""Words of a memory that are about nothing."""
TURNS_AT_ONCE_MAX = 4
"""A command owes at most a few turns; more would be the engine's fault."""


@dataclass(frozen=True, slots=True)
class Lived:
    """One turn of a life: what was asked, and the writer's reply to it.

    The last `fresh` chat lines were said in the body that the header tells of, so the pet's among them are worth
    learning too.
    """

    request: GenerationRequest
    reply: str
    scene: Scene
    fresh: int = 0


def live(owner: Owner, chance: Chance, days: int) -> Iterator[Lived]:
    """The turns of one owner's days with a new pet."""
    state = adopted(chance)
    for _ in range(days * 3):
        state, lived = until_seen(state, chance)
        yield from (one for one in lived if one.scene.cue != "idle" or chance.holds(IDLE_KEPT_PERCENT))
        state = shaken(state, chance)
        since_ms = body_clock_ms(state)
        before: Said | None = None
        for _ in range(2 + chance.below(5)):
            state, before, lived = act(state, owner, chance, before)
            yield from (replace(one, fresh=fresh_lines(one.request, state, since_ms)) for one in lived)


def fresh_lines(request: GenerationRequest, state: State, since_ms: int) -> int:
    """How many of a request's last lines were said since an instant; the very last one, what it is about, counts."""
    said = {line.text for line in state.chat[-len(request.lines) - 2 :] if line.at_ms >= since_ms}
    count = min(1, len(request.lines))
    for line in reversed(request.lines[:-1]):
        if line.partition(": ")[2] not in said:
            break
        count += 1
    return count


def adopted(chance: Chance) -> State:
    """A new egg with a name that may be one of ours or one that nobody has."""
    name = invented_word(chance).capitalize() if chance.holds(30) else chance.pick(words_of("pet"))
    return new_pet(
        pet_seed=f"{chance.below(1 << 48):012x}",
        name=name,
        time_zone=chance.pick(ZONES),
        brain_id="simulated",
        weather_seed=f"{chance.below(1 << 48):012x}",
        now_ms=FIRST_MS + chance.below(365 * 24 * 60) * MINUTE_MS,
    )


def shaken(state: State, chance: Chance) -> State:
    """The same pet in a state that it might as well be in; an egg stays an egg."""
    save = json.loads(dump_save(state))
    if save["stage"] == "egg" or not chance.holds(SHAKEN_PERCENT) or pending_turn(state) is not None:
        return state
    for meter in METERS:
        spared = meter == "energy" and not chance.holds(WORN_OUT_PERCENT)
        save["body"][meter] = shaken_meter(chance, lowest=1 if spared else 0)
    save |= {
        "stage": chance.pick(STAGES[1:]),
        "place": chance.pick(PLACES),
        "feeling": chance.pick(MOODS),
        "snacks": chance.below(4),
        "asleep": chance.holds(5),
    }
    if save["asleep"]:
        save |= {"place": "nest", "feeling": "sleepy"}
    if chance.holds(FORGOTTEN_PERCENT):
        save["chat"] = []
    return load_save(json.dumps(save).encode())


def shaken_meter(chance: Chance, lowest: int) -> int:
    """A value in one of the five bands from `lowest` on, each as likely."""
    band = lowest + chance.below(5 - lowest)
    low, high = BAND_ENDS[band], BAND_ENDS[band + 1]
    return low + chance.below(high - low)


def until_seen(state: State, chance: Chance) -> tuple[State, list[Lived]]:
    """The state at the owner's next visit: some hours later, and mostly while the pet is awake."""
    state, lived = pass_time(state, chance, minutes=40 + chance.below(600))
    while state.stage != "egg" and not at_day(state) and chance.holds(AWAITED_PERCENT):
        state, more = pass_time(state, chance, minutes=60)
        lived += more
    return state, lived


def at_day(state: State) -> bool:
    """Awake, at an hour when most owners are."""
    return not state.asleep and 7 <= state.local_hour % 24 <= 18


def pass_time(state: State, chance: Chance, minutes: int) -> tuple[State, list[Lived]]:
    """The state after so many minutes with nobody there, and the turns that the pet had meanwhile."""
    until = body_clock_ms(state) + minutes * MINUTE_MS
    lived: list[Lived] = []
    while True:
        state = advance(state, until).state
        turn = pending_turn(state)
        if turn is None or due_ms(state) > until:
            return state, lived
        state, one = take_turn(state, turn, None, chance)
        lived.append(one)


def take_turn(state: State, turn: Turn, said: Said | None, chance: Chance) -> tuple[State, Lived]:
    """The writer answers a due turn."""
    request = build_request(state, turn)
    scene = scene_of(state, turn, request, said)
    reply = compose(scene, chance)
    used = tuple(tag for tag in request.answers if tag in reply)
    stop: StopReason = "eos" if request.mode == "diary" else "newline"
    return apply_reply(state, turn, Reply(reply, stop, used)).state, Lived(request, reply, scene)


def act(state: State, owner: Owner, chance: Chance, before: Said | None) -> tuple[State, Said | None, list[Lived]]:
    """One act of the owner's, what the talk is about then, and what the pet answers."""
    now_ms = body_clock_ms(state) + (1 + chance.below(3)) * MINUTE_MS
    state, lived = made_ready(state, chance, now_ms)
    command, said = chosen_command(state, owner, chance, now_ms, before)
    if said is not None:
        lived += unspoken(state, owner, chance, now_ms, before)
    state = apply_command(state, command, now_ms).state
    for _ in range(TURNS_AT_ONCE_MAX):
        state = advance(state, now_ms).state  # a diary page that came first held the owner's own minute up
        turn = pending_turn(state)
        if turn is None or turn.kind == "idle":
            break
        state, one = take_turn(state, turn, said if turn.kind == "reactive" else None, chance)
        lived.append(one)
    return state, going_on(said, before), lived


def unspoken(state: State, owner: Owner, chance: Chance, now_ms: int, before: Said | None) -> list[Lived]:
    """What else the owner might have said now, and the pet's answers: they share one trunk (pieces.py)."""
    found: list[Lived] = []
    for _ in range(UNSPOKEN_ASLEEP if state.asleep else UNSPOKEN):
        said = owner.says(chance, life_words(state, chance), asked=was_asked(state), before=before)
        other = apply_command(state, parse_command({"kind": "say", "text": said.text}), now_ms).state
        turn = pending_turn(other)
        if turn is not None and turn.kind == "reactive":
            found.append(take_turn(other, turn, said, chance)[1])
    return found


def made_ready(state: State, chance: Chance, now_ms: int) -> tuple[State, list[Lived]]:
    """The state at the owner's act: what is due before it is skipped when idle, lived when it is a diary page."""
    lived: list[Lived] = []
    while (turn := pending_turn(state := advance(state, now_ms).state)) is not None:
        if turn.kind == "idle":
            state = skip_turn(state, turn, "owner_came").state
        else:
            state, one = take_turn(state, turn, None, chance)
            lived.append(one)
    return state, lived


def chosen_command(
    state: State, owner: Owner, chance: Chance, now_ms: int, before: Said | None
) -> tuple[Command, Said | None]:
    """What the owner does now; while a game runs, it is finished."""
    game = game_of(state)
    if game is not None and now_ms < whole(game["expiresMs"]):
        return parse_command({"kind": "game", "gameId": game["id"], "score": chance.below(13)}), None
    what = chance.weighted({"say": SAID_BY_KIND.get(owner.kind, 56.0), "care": 20.0, "offer": 24.0})
    if what == "care":
        action = chance.pick(CARE)
        return Care(action, chance.pick(FOODS) if action == "feed" else ""), None
    if what == "offer":
        return Offer(chance.pick(OFFERS)), None
    said = owner.says(chance, life_words(state, chance), asked=was_asked(state), before=before)
    return parse_command({"kind": "say", "text": said.text}), said


def whole(value: JsonValue) -> int:
    """A number of a save."""
    assert isinstance(value, int)
    return value


def was_asked(state: State) -> bool:
    """Whether the pet's last line was a question."""
    return bool(state.chat) and state.chat[-1].who == "pet" and state.chat[-1].text.endswith("?")


def life_words(state: State, chance: Chance) -> dict[str, str]:
    """Slots that the pet's life fills: its name, another place, something told or never told."""
    others = [place for place in PLACES if place != state.place or chance.holds(HERE_PERCENT)]
    told = [word for memory in state.memories for word in memory.text.split()[2:] if word not in SMALL_WORDS]
    untold = chance.pick(words_of("noun"))
    topic = chance.pick(told) if told and chance.holds(70) else untold
    return {"name": state.name, "here": state.place, "place": chance.pick(others), "topic": topic}


def record_of(lived: Lived) -> dict[str, JsonValue]:
    """A turn as a line of the corpus: only the answers that its reply uses."""
    request = lived.request
    used: dict[str, JsonValue] = {tag: answer for tag, answer in request.answers.items() if tag in lived.reply}
    return {
        "prompt": prompt_text(request.header, request.lines, request.prefix),
        "reply": lived.reply,
        "mode": request.mode,
        "answers": used,
        "fresh": lived.fresh,
        "cue": lived.scene.cue,
        "intent": lived.scene.said.intent if lived.scene.said else "",
    }
