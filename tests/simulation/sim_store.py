"""Two stores for the simulated host: a dictionary, and the real database on a real file, called synchronously."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from sim_disk import quiet_vfs

from tokenling.protocol import (
    BuryRecord,
    CheckRoom,
    DropRecord,
    Effect,
    Held,
    KeepOperation,
    Occupancy,
    Record,
    Restore,
    Status,
    StoredOperation,
    Tombstone,
    WriteRecord,
    decide,
    pet_digest,
)
from tokenling.protocol.effects import ForgetOperations
from tokenling.store import StaleWrite, rows, survey
from tokenling.store.database import Database, Done, open_database
from tokenling.store.rows import Unit

T = TypeVar("T")
PETS_MAX, PREPARED_MAX = 4, 2


class SimulatedStore(Protocol):
    """What the simulated host asks of a store. `carry_out` is all or nothing and raises `StaleWrite`."""

    def load(self, pet_id: str) -> Held: ...
    def find_operation(self, pet_id: str, operation_id: str) -> StoredOperation | None: ...
    def carry_out(self, pet_id: str, effects: tuple[Effect, ...]) -> None: ...
    def occupancy(self) -> Occupancy: ...
    def expire_prepared(self, before_ms: int) -> None: ...
    def reopen(self) -> None: ...
    def back_up(self) -> None: ...
    def restore(self, now_ms: int) -> None: ...
    def close(self) -> None: ...


class ModelStore:
    """The promises of docs/store.md in dictionaries: fast, and an oracle for the real one."""

    def __init__(self) -> None:
        self._held: dict[str, Record | Tombstone] = {}
        self._operations: dict[str, dict[str, StoredOperation]] = {}
        self._backup: tuple[dict[str, Record], dict[str, dict[str, StoredOperation]]] = ({}, {})

    def load(self, pet_id: str) -> Held:
        return self._held.get(pet_id)

    def find_operation(self, pet_id: str, operation_id: str) -> StoredOperation | None:
        return self._operations.get(pet_id, {}).get(operation_id)

    def carry_out(self, pet_id: str, effects: tuple[Effect, ...]) -> None:
        before = self._held.get(pet_id), dict(self._operations.get(pet_id, {}))
        try:
            for effect in effects:
                self._carry_out(pet_id, effect)
        except StaleWrite:
            self._held.pop(pet_id, None)
            if before[0] is not None:
                self._held[pet_id] = before[0]
            self._operations[pet_id] = before[1]
            raise

    def _carry_out(self, pet_id: str, effect: Effect) -> None:
        held = self._held.get(pet_id)
        match effect:
            case WriteRecord(record, epoch, revision):
                found = (held.epoch, held.revision) if isinstance(held, Record) else (None, None)
                if found != (epoch, revision) or isinstance(held, Tombstone):
                    raise StaleWrite
                self._held[pet_id] = record
            case CheckRoom(pets_max, prepared_max):
                room = self.occupancy()
                if room.pets > pets_max or room.prepared > prepared_max:
                    raise StaleWrite
            case KeepOperation(operation):
                self._operations.setdefault(pet_id, {})[operation.operation_id] = operation
            case ForgetOperations(before_epoch):
                kept = {
                    name: one for name, one in self._operations.get(pet_id, {}).items() if one.epoch >= before_epoch
                }
                self._operations[pet_id] = kept
            case BuryRecord():
                self._held[pet_id] = Tombstone(pet_digest(pet_id))
                self._operations.pop(pet_id, None)
            case DropRecord():
                raise AssertionError("prepared pets expire by the store's own sweep")
            case _:
                pass  # replaced saves and turn receipts are told to the owner, no rule reads them

    def occupancy(self) -> Occupancy:
        records = [held for held in self._held.values() if isinstance(held, Record)]
        prepared = sum(record.status is Status.PREPARED for record in records)
        return Occupancy(len(records), PETS_MAX, prepared, PREPARED_MAX)

    def expire_prepared(self, before_ms: int) -> None:
        for pet_id, held in list(self._held.items()):
            if isinstance(held, Record) and held.status is Status.PREPARED and held.prepared_at_ms < before_ms:
                del self._held[pet_id]
                self._operations.pop(pet_id, None)

    def reopen(self) -> None:
        pass

    def back_up(self) -> None:
        records = {pet_id: held for pet_id, held in self._held.items() if isinstance(held, Record)}
        self._backup = records, {pet_id: dict(kept) for pet_id, kept in self._operations.items()}

    def restore(self, now_ms: int) -> None:
        floor = max((max(one.epoch, one.revision) for one in self._held.values() if isinstance(one, Record)), default=0)
        buried = {pet_id: held for pet_id, held in self._held.items() if isinstance(held, Tombstone)}
        records, operations = self._backup
        self._held = {**records, **buried}
        self._operations = {pet_id: dict(kept) for pet_id, kept in operations.items() if pet_id not in buried}
        for pet_id, held in list(self._held.items()):
            if isinstance(held, Record):
                self.carry_out(pet_id, decide(held, Restore(floor), now_ms=now_ms).effects)

    def close(self) -> None:
        pass


class RealStore:
    """The store's synchronous half on a file in `folder`; syncs are left out, nothing here pulls the plug."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "pets.sqlite"
        self._backup = folder / "backup.sqlite"
        self._now_ms = 1_800_000_000_000
        self._database: Database = open_database(self._path, self._now_ms, quiet_vfs())

    def _read(self, work: Callable[[Unit], T]) -> T:
        outcome = self._database.read(work)
        if isinstance(outcome, Done):
            return outcome.value
        raise outcome.error

    def _write(self, work: Callable[[Unit], object]) -> None:
        (outcome,) = self._database.write_group([work])
        if not isinstance(outcome, Done):
            raise outcome.error

    def load(self, pet_id: str) -> Held:
        return self._read(lambda unit: rows.load(unit.connection, pet_id))

    def find_operation(self, pet_id: str, operation_id: str) -> StoredOperation | None:
        return self._read(lambda unit: rows.find_operation(unit.connection, pet_id, operation_id))

    def carry_out(self, pet_id: str, effects: tuple[Effect, ...]) -> None:
        self._write(lambda unit: rows.carry_out(unit, pet_id, effects))

    def occupancy(self) -> Occupancy:
        counts = self._read(lambda unit: survey.counts(unit.connection))
        return Occupancy(counts.pets, PETS_MAX, counts.by_status[Status.PREPARED], PREPARED_MAX)

    def expire_prepared(self, before_ms: int) -> None:
        self._write(lambda unit: survey.expire_prepared(unit, before_ms))

    def reopen(self) -> None:
        self._database.close()
        self._database = open_database(self._path, self._now_ms, quiet_vfs())

    def back_up(self) -> None:
        self._backup.unlink(missing_ok=True)
        self._database.back_up(self._backup)

    def restore(self, now_ms: int) -> None:
        """An older database under the tombstone file of today, as an operator puts it there."""
        floor = self._read(lambda unit: survey.highest(unit.connection))
        self._database.close()
        if self._backup.exists():
            shutil.copy(self._backup, self._path)
        else:
            self._path.unlink()
        self._database = open_database(self._path, self._now_ms, quiet_vfs())
        self._write(lambda unit: survey.park_restored(unit, now_ms, floor))

    def close(self) -> None:
        self._database.close()
