"""More drills: what a pet does in its own time, and how it speaks to a stranger and to a friend.

A life has one such turn in six, and a bond moves in weeks, so both come up seldom. Each habit is the engine's own
prompt for two pets that differ in one fact, whole and with the few lines that answer.
"""

import json
from collections.abc import Iterator

from tokenling.engine import JsonValue, State, Turn, body_clock_ms, build_request, dump_save, load_save
from tokenling.engine.bounds import INTEGER_MAX
from tools.train_brain.compose import compose
from tools.train_brain.drills import SHAKES, answered, hatched, in_life_of, saying, set_up
from tools.train_brain.lives import Lived, record_of, shaken_meter
from tools.train_brain.phrases import Chance
from tools.train_brain.scene import scene_of

NEEDY_METERS = ("fullness", "hygiene", "energy", "warmth", "mood")
"""What a pet looks after by itself."""
BONDED = ("love", "friend_of", "greet", "pet_you")
"""Lines that a stranger and a friend are answered differently."""
ANSWERING = ("Body: ", "Snacks: ")
"""The lines of a header that tell what a pet needs."""
SNACKS = 4
TURN_NUMBERS = 1_000_000


def habit_lines(*, pets: int, seed: int) -> Iterator[str]:
    """The habits of so many pets as lines like the corpus's."""
    for number in range(pets):
        chance = Chance("habit", seed, number)
        base = hatched(chance)
        for _ in range(SHAKES):
            records = [*own_time_records(base, chance), *bond_records(base, chance)]
            yield from (json.dumps(record, ensure_ascii=False, sort_keys=True) for record in records)


def own_time_records(base: State, chance: Chance) -> Iterator[dict[str, JsonValue]]:
    """A turn of its own of a pet that lacks something, and of the same pet when it does not."""
    meter = chance.pick(NEEDY_METERS)
    for lowest in (0, 3):
        state = awake(base, chance, meter, shaken_meter(chance, lowest=lowest) if lowest else chance.below(340_000))
        lived = own_time(state, chance)
        record = record_of(lived)
        yield record
        if lived.scene.need != "fine":
            yield shortened(record)


def awake(base: State, chance: Chance, meter: str, value: int) -> State:
    """The pet in a calm state and awake, but for one meter."""
    save = json.loads(dump_save(set_up(base, chance, needs=False)))
    save["body"][meter] = value
    return load_save(json.dumps(save | {"asleep": False, "snacks": chance.below(SNACKS)}).encode())


def own_time(state: State, chance: Chance) -> Lived:
    """What the pet does when nobody asks it anything now."""
    turn = Turn(
        f"i{state.chatter}.{chance.below(TURN_NUMBERS)}",
        "idle",
        body_clock_ms(state),
        chance.below(INTEGER_MAX),
        state.context_revision,
        unstoppable=False,
    )
    request = build_request(state, turn)
    scene = scene_of(state, turn, request, None)
    return Lived(request, compose(scene, chance), scene)


def bond_records(base: State, chance: Chance) -> Iterator[dict[str, JsonValue]]:
    """What an owner says to a stranger, and the same to a friend."""
    state = set_up(base, chance, needs=False)
    asked = [saying(state, chance, intent) for intent in BONDED]
    save = json.loads(dump_save(state))
    for bond in (chance.below(150_000), shaken_meter(chance, lowest=3)):
        pet = load_save(json.dumps(save | {"body": save["body"] | {"bond": bond}}).encode())
        records = [record_of(one) for said in asked for one in answered(pet, in_life_of(pet, said), chance)]
        yield from records
        yield from (shortened(record) for record in records if "\nAwake " in str(record["prompt"]))


def shortened(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The record with the lines of its header that answer it."""
    *header, last, prefix = str(record["prompt"]).split("\n")
    return record | {"prompt": "\n".join((*(line for line in header if line.startswith(ANSWERING)), last, prefix))}
