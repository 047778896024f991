"""Pets and stores for the store's tests: real files, the protocol's own decisions."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import apsw

from tokenling.protocol import (
    Activate,
    Apply,
    Decision,
    Delete,
    Event,
    Occupancy,
    Operation,
    Park,
    Prepare,
    Record,
    Replay,
    StoredOperation,
    decide,
)
from tokenling.store import Store

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
KEY = hashlib.sha256(b"key").digest()
ROOMY = Occupancy(pets=0, pets_max=10_000, prepared=0, prepared_max=10_000)
DEVICE, OTHER_DEVICE = "device-a", "device-b"


def pet_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def save_of(word: str, size: int = 2000) -> bytes:
    """A save of about `size` bytes that holds `word` often."""
    return b'{"words":"' + (word.encode() + b" ") * (size // (len(word) + 1)) + b'"}'


def prepare(number: int = 1, save: bytes = b'{"prepared":1}', *, room: Occupancy = ROOMY) -> Prepare:
    return Prepare(pet_id(number), KEY, "sprout-0", save, room)


def operation(record: Record, name: str) -> Operation:
    return Operation(name, record.epoch, hashlib.sha256(name.encode()).digest())


async def happen(store: Store, number: int, event: Event, *, answer: bytes = b"{}", now_ms: int = NOW_MS) -> Decision:
    """What the host does with an event: load, decide, carry out. Gives the decision, which must be none of a repeat."""
    held = await store.load(pet_id(number))
    sent = getattr(event, "operation", None)
    found = await store.find_operation(pet_id(number), sent.operation_id) if sent else None
    decision = decide(held, event, found=found, now_ms=now_ms)
    assert not isinstance(decision, Replay)
    await store.carry_out(pet_id(number), decision.answered(answer))
    return decision


async def held(store: Store, number: int = 1) -> Record:
    record = await store.load(pet_id(number))
    assert isinstance(record, Record)
    return record


async def receipt_of(store: Store, name: str, number: int = 1) -> StoredOperation | None:
    return await store.find_operation(pet_id(number), name)


async def adopt(store: Store, number: int = 1, save: bytes = b'{"active":1}', *, now_ms: int = NOW_MS) -> Record:
    """An active pet."""
    await happen(store, number, prepare(number), now_ms=now_ms)
    record = await held(store, number)
    await happen(store, number, Activate(operation(record, "adopt"), DEVICE, "sprout-0", save), now_ms=now_ms)
    return await held(store, number)


async def command(store: Store, name: str, save: bytes, number: int = 1, *, answer: bytes = b"{}") -> None:
    record = await held(store, number)
    await happen(store, number, Apply(operation(record, name), save), answer=answer)


async def park(store: Store, name: str = "park", number: int = 1, *, answer: bytes = b"{}") -> None:
    await happen(store, number, Park(operation(await held(store, number), name), DEVICE), answer=answer)


async def delete(store: Store, number: int = 1) -> None:
    await happen(store, number, Delete())


def raw_files(path: Path) -> dict[str, bytes]:
    """Every byte that lies in the database's directory."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Rows straight from the file, past the store."""
    connection = apsw.Connection(str(path))
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


def modes(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in paths}
