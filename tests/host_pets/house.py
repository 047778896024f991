"""A real store, the real rules and an injected clock, with a scripted brain on the lanes; and an owner to knock."""

import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import trio

from tokenling import engine
from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.envelopes import Envelope, KeyChange, Prepared, TransferRequest, View
from tokenling.host.pets import Pets, PetsSettings
from tokenling.host.ports import Generated, Generator, Gpu
from tokenling.store import Store, open_store

BRAIN_ID = "scripted-1"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
NOON_MS = 1_780_315_200_000
"""2026-06-01 12:00 UTC."""
PATIENCE_S = 20.0


class Wall:
    """A wall clock that moves when it is told to."""

    def __init__(self, ms: int = NOON_MS) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms


def words_of(turn_id: str, request: GenerationRequest) -> str:
    """Words that depend on the turn and nothing else, with one of its legal tags, so that the pet acts, too."""
    digest = hashlib.sha256(turn_id.encode()).digest()
    closed = [tag for tag in request.tags if "…" not in tag]
    tag = closed[digest[0] % len(closed)] if closed else ""
    return f"hm {digest.hex()[:6]} {tag}".strip()


@dataclass
class ScriptedBrain:
    """A generator keyed by turn id. While `gate` is closed it thinks without end; what it was asked is kept."""

    script: Callable[[str, GenerationRequest], str | Exception] = words_of
    brain_id: str = BRAIN_ID
    prompt_version: int = engine.PROMPT_VERSION
    features: tuple[str, ...] = ()
    provider: str = "ScriptedProvider"
    asked: list[tuple[str, GenerationRequest]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    dropped: list[GenerationRequest] = field(default_factory=list)
    stubborn: bool = False
    running: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self.gate = trio.Event()
        self.gate.set()
        self.begun = trio.Event()

    def close_gate(self) -> None:
        if self.gate.is_set():
            self.gate = trio.Event()
        self.begun = trio.Event()

    @property
    def turn_ids(self) -> list[str]:
        return [turn_id for turn_id, _request in self.asked]

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        self.asked.append((turn_id, request))
        self.running += 1
        self.most = max(self.most, self.running)
        self.begun.set()
        try:
            # a stubborn brain finishes its turn although nobody wants it any more: a late reply
            with trio.CancelScope(shield=self.stubborn):
                await self.gate.wait()
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            self.cancelled.append(turn_id)
            self.dropped.append(request)
            raise
        finally:
            self.running -= 1
        said = self.script(turn_id, request)
        if isinstance(said, Exception):
            raise said
        return Generated(Reply(said, "eos", ()), json.dumps({"turn": turn_id}).encode())


@dataclass
class House:
    """A running host without HTTP."""

    store: Store
    pets: Pets
    wall: Wall
    brain: ScriptedBrain

    async def settle(self) -> None:
        """Everything that is due by now has happened."""
        self.pets.executor.clock.run_due()
        with trio.fail_after(PATIENCE_S):
            await self.pets.executor.quiet()

    async def begin(self) -> None:
        """What is due has begun, and the brain is thinking about it."""
        self.pets.executor.clock.run_due()
        with trio.fail_after(PATIENCE_S):
            await self.brain.begun.wait()

    async def pass_ms(self, ms: int) -> None:
        self.wall.ms += ms
        await self.settle()


@asynccontextmanager
async def open_house(
    folder: Path,
    *,
    wall: Wall | None = None,
    brain: ScriptedBrain | None = None,
    lanes: int = 1,
    generators: Sequence[Generator] | None = None,
    gpu: Gpu | None = None,
    **settings: Any,
) -> AsyncIterator[House]:
    wall, brain = wall or Wall(), brain or ScriptedBrain()
    async with open_store(folder / "pets.sqlite", now_ms=wall()) as store:
        pets = Pets(store, generators or [brain] * lanes, now_ms=wall, settings=PetsSettings(**settings), gpu=gpu)
        await pets.start()
        async with trio.open_nursery() as nursery:
            await nursery.start(pets.serve)
            yield House(store, pets, wall, brain)
            pets.close()


@cache
def grown(seed: str, brain_id: str, now_ms: int) -> bytes:
    """A hatched pet that has lived three days, with nothing due: it has said nothing so far."""
    began_ms = now_ms - 3 * DAY_MS
    step = engine.advance(
        engine.new_pet(
            pet_seed=seed, name="Pip", time_zone="Europe/Berlin", brain_id=brain_id, weather_seed="w", now_ms=began_ms
        ),
        began_ms,
    )
    for at_ms in range(began_ms, now_ms + 1, HOUR_MS):
        step = engine.advance(step.state, at_ms)
        while step.turn is not None:
            step = engine.advance(engine.skip_turn(step.state, step.turn, "failed").state, at_ms)
    return engine.dump_save(step.state)


def new_save(wall: Wall, *, seed: str = "seed-1", brain_id: str = BRAIN_ID, **changes: Any) -> bytes:
    save = grown(seed, brain_id, wall())
    return json.dumps({**json.loads(save), **changes}).encode() if changes else save


@dataclass
class Owner:
    """Knows a pet's key and knocks at the house with it."""

    house: House
    pet_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    key_hash: bytes = field(default_factory=lambda: hashlib.sha256(uuid.uuid4().bytes).digest())
    device_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 1

    def operation(self, operation_id: str | None, body: object) -> tuple[str, bytes]:
        return operation_id or str(uuid.uuid4()), hashlib.sha256(repr(body).encode()).digest()

    async def prepare(self, save: bytes) -> Prepared:
        return await self.house.pets.prepare(self.key_hash, self.pet_id, save)

    async def activate(self, save: bytes, *, operation_id: str | None = None, takeover: bool = False) -> dict[str, Any]:
        operation_id, digest = self.operation(operation_id, ("remote", self.epoch, save, takeover))
        request = TransferRequest("remote", operation_id, self.epoch, self.device_id, save, takeover, digest)
        return json.loads(await self.house.pets.transfer(self.pet_id, self.key_hash, request))

    async def move_in(self, save: bytes | None = None) -> "Owner":
        save = save or new_save(self.house.wall)
        await self.prepare(save)
        await self.activate(save)
        return self

    async def park(self, *, operation_id: str | None = None) -> dict[str, Any]:
        operation_id, digest = self.operation(operation_id, ("local", self.epoch))
        request = TransferRequest("local", operation_id, self.epoch, self.device_id, None, False, digest)
        return json.loads(await self.house.pets.transfer(self.pet_id, self.key_hash, request))

    async def command(self, command: Mapping[str, Any], *, operation_id: str | None = None) -> dict[str, Any]:
        operation_id, digest = self.operation(operation_id, (self.epoch, command))
        envelope = Envelope(self.epoch, operation_id, dict(command), digest)
        return json.loads(await self.house.pets.command(self.pet_id, self.key_hash, envelope))

    async def say(self, text: str, *, operation_id: str | None = None) -> dict[str, Any]:
        return await self.command({"kind": "say", "text": text}, operation_id=operation_id)

    async def change_key(self, new: bytes, *, operation_id: str | None = None) -> dict[str, Any]:
        operation_id, digest = self.operation(operation_id, (self.epoch, new))
        change = KeyChange(self.epoch, operation_id, new, digest)
        return json.loads(await self.house.pets.change_key(self.pet_id, self.key_hash, change))

    async def delete(self) -> None:
        await self.house.pets.delete(self.pet_id, self.key_hash)

    async def look(self, *, etag: str | None = None, wait_s: int = 0) -> View | None:
        return await self.house.pets.view(self.pet_id, self.key_hash, etag=etag, wait_s=wait_s)

    async def see(self) -> dict[str, Any]:
        view = await self.look()
        assert view is not None
        return json.loads(view.body)

    async def receipts(self) -> list[dict[str, Any]]:
        return json.loads(await self.house.pets.receipts(self.pet_id, self.key_hash))["receipts"]

    async def stored(self) -> Any:
        return await self.house.store.load(self.pet_id)


def chat_of(seen: Mapping[str, Any], who: str) -> list[str]:
    """What one side said, oldest first."""
    return [line["text"] for line in seen["save"]["chat"] if line["who"] == who]
