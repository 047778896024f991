"""A database full of pets, written by the store's own task under the protocol's own decisions.

A handful of lives is really lived, minute by minute, and every pet gets one of them under a seed of its own: its slots,
its turns and their seeds are its own, its lists are as full as a life of that many days makes them.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from tokenling import engine
from tokenling.protocol import Activate, Decision, Held, Occupancy, Operation, Park, Prepare, Record, decide
from tokenling.store import Store, open_store
from tools.bench.capacity.people import operation_id, person

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
CHATTER = 4
"""Idle turns in a waking hour: the most that an owner can choose, and what the issue's traffic asks for."""
LIVED_DAYS = (3, 7, 14, 28)
"""Ages of the lives that are lived; saves grow with age until the lists are full (about three weeks)."""
NOON_HOUR = 11
"""The local hour of the pets when they are made: awake for hours to come, which is when idle turns stand."""
WRITERS = 64
"""Pets that are written at once: as many as share a commit."""
WORDS = (
    "[play] I rolled the ball all the way to the window and back.",
    "The rain is tapping on the roof and I like it.",
    "[happy] You came back! I kept a crumb for you.",
    "I found a leaf that looks like a hat.",
    "[remember {day}] That was a good day, I will keep it.",
    "[curious] What is behind the shelf?",
    "My ears are warm now.",
    "I counted four clouds and then I lost count.",
    "[go garden] The grass smells of morning.",
    "I am thinking about soup.",
    "[calm] It is quiet, and quiet is nice.",
    "Shall we look at the stars tonight?",
)
OWNERS_WORDS = ("good morning, little one", "are you hungry?", "how was your day?", "I am glad to see you")


@dataclass(frozen=True, slots=True)
class Population:
    """What was written: how many, and how large their saves are."""

    active: int
    parked: int
    save_bytes_mean: int
    database_bytes: int
    took_s: float


def lived(days: int, number: int, brain_id: str, now_ms: int) -> engine.State:
    """A pet of so many days at full chatter whose owner looks in twice a day, awake and with nothing due now."""
    zone = zone_at_noon(now_ms)
    state = engine.new_pet(
        pet_seed=f"life{number}", name="Pip", time_zone=zone, brain_id=brain_id, weather_seed="w",
        now_ms=now_ms - days * DAY_MS,
    )  # fmt: skip
    state = engine.rehome(state, mode="remote", time_zone=zone, brain_id=brain_id, now_ms=now_ms - days * DAY_MS).state
    state = engine.apply_command(state, engine.Settings(chatter=CHATTER), now_ms - days * DAY_MS).state
    for at_ms in range(now_ms - days * DAY_MS, now_ms + 1, HOUR_MS):
        state = _lived_on(state, at_ms)
        if at_ms // HOUR_MS % 12 == 0:
            said = OWNERS_WORDS[at_ms // HOUR_MS % len(OWNERS_WORDS)]
            state = _lived_on(engine.apply_command(state, engine.Say(said), at_ms).state, at_ms)
    return _lived_on(state, now_ms)


def _lived_on(state: engine.State, at_ms: int) -> engine.State:
    step = engine.advance(state, at_ms)
    while step.turn is not None:
        text = WORDS[step.turn.seed % len(WORDS)].format(day=f"day {step.turn.at_ms // DAY_MS}")
        step = engine.apply_reply(step.state, step.turn, engine.Reply(text, "newline", ()))
        step = engine.advance(step.state, at_ms)
    return step.state


def zone_at_noon(now_ms: int) -> str:
    """A zone in which it is about `NOON_HOUR` now."""
    ahead = (NOON_HOUR - now_ms // HOUR_MS % 24 + 12) % 24 - 12
    return f"Etc/GMT{-ahead:+d}" if ahead else "Etc/UTC"


SEED = "seed-of-the-pet"
"""Stands in a template where each pet has its own."""


def save_of(number: int, templates: Sequence[bytes]) -> bytes:
    """The save of the pet with this number, in the engine's own bytes."""
    return templates[number % len(templates)].replace(SEED.encode(), f"pet{number}".encode())


async def write(path: Path, *, active: int, parked: int, brain_id: str, behind_ms: int = 0) -> Population:
    """A new database at `path`. The first `active` numbers are active pets, the next `parked` are parked ones.

    The pets have lived up to `behind_ms` ago.
    """
    began, now_ms = time.perf_counter(), time.time_ns() // 1_000_000 - behind_ms
    lives = [lived(days, number, brain_id, now_ms) for number, days in enumerate(LIVED_DAYS)]
    templates = tuple(engine.dump_save(_reseeded(life)) for life in lives)
    sizes: list[int] = []
    async with open_store(path, now_ms=now_ms) as store, trio.open_nursery() as nursery:
        numbers = iter(range(active + parked))

        async def writer() -> None:
            for number in numbers:
                save_bytes = await _adopt(store, number, templates, brain_id, now_ms, parks=number >= active)
                sizes.append(save_bytes)

        for _ in range(WRITERS):
            nursery.start_soon(writer)
    mean = sum(sizes) // max(1, len(sizes))
    held_bytes = (await trio.Path(path).stat()).st_size
    return Population(active, parked, mean, held_bytes, time.perf_counter() - began)


def _reseeded(life: engine.State) -> engine.State:
    save = json.loads(engine.dump_save(life))
    return engine.load_save(json.dumps({**save, "petSeed": SEED}).encode())


async def _adopt(
    store: Store, number: int, templates: Sequence[bytes], brain_id: str, now_ms: int, *, parks: bool
) -> int:
    """Prepare and activate one pet, and park it again; the bytes of its save."""
    who, save = person(number), save_of(number, templates)
    room = Occupancy(0, 1_000_000, 0, 1_000_000)
    held: Held = await _carry_out(store, None, Prepare(who.pet_id, who.key_hash, brain_id, save, room), now_ms)
    moved = Activate(_operation(number, 0, 1), who.device_id, brain_id, save, False)
    held = await _carry_out(store, held, moved, now_ms)
    if parks:
        await _carry_out(store, held, Park(_operation(number, 1, 1), who.device_id, None), now_ms)
    return len(save)


def _operation(number: int, at: int, epoch: int) -> Operation:
    return Operation(operation_id(number, -1 - at), epoch, bytes(32))


async def _carry_out(store: Store, held: Held, event: Prepare | Activate | Park, now_ms: int) -> Record:
    decision = decide(held, event, now_ms=now_ms)
    assert isinstance(decision, Decision), "nothing is repeated here"
    assert decision.record is not None, "none of these ends a pet"
    await store.carry_out(decision.record.pet_id, decision.answered(b'{"replayed":false}'))
    return decision.record
