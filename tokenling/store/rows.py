"""Effects as SQL, and rows as the protocol's values. Each function runs within a transaction of its caller."""

from dataclasses import dataclass, field

import apsw

from tokenling.protocol import (
    ANSWER_BYTES_MAX,
    FULL_ANSWERS_MAX,
    REPLACED_KEPT_MS,
    REPLACED_MAX,
    TURN_RECEIPT_BYTES_MAX,
    TURN_RECEIPTS_MAX,
    BuryRecord,
    CheckRoom,
    DropRecord,
    Effect,
    ForgetOperations,
    Held,
    KeepOperation,
    KeepReplaced,
    KeepTurnReceipt,
    Record,
    Status,
    StoredOperation,
    Tombstone,
    WriteRecord,
    pet_digest,
)
from tokenling.store import census
from tokenling.store.errors import StaleWrite


@dataclass(slots=True)
class Unit:
    """One call's share of a transaction: the connection, and what it did that matters once it is committed.

    `buried` are digests for the tombstone file, `removed`: there are traces to erase, `probed`: a page was written
    although no row changed.
    """

    connection: apsw.Connection
    buried: list[str] = field(default_factory=list)
    removed: bool = False
    probed: bool = False


def load(connection: apsw.Connection, pet_id: str) -> Held:
    """What is held of a pet: its record, its tombstone, or nothing."""
    row = connection.execute(
        "SELECT pet_id, key_hash, status, epoch, revision, brain_id, save, device_id, error, prepared_at_ms,"
        " changed_at_ms, operations FROM pets WHERE pet_id = ?",
        (pet_id,),
    ).fetchone()
    if row is not None:
        return _record(row)
    digest = pet_digest(pet_id)
    buried = connection.execute("SELECT 1 FROM tombstones WHERE pet_digest = ?", (digest,)).get
    return None if buried is None else Tombstone(digest)


def key_hash(connection: apsw.Connection, pet_id: str) -> bytes | None:
    """The hash of a pet's access key, None for a pet that is not held: one lookup either way."""
    found = connection.execute("SELECT key_hash FROM pets WHERE pet_id = ?", (pet_id,)).get
    return None if found is None else bytes(found)


def _record(row: tuple[object, ...]) -> Record:
    # the columns in the order of the record's fields; its own checks follow
    pet_id, key_hash, status, *rest = row
    return Record(pet_id, key_hash, Status(status), *rest)  # type: ignore[arg-type] # STRICT tables hold the types


def find_operation(connection: apsw.Connection, pet_id: str, operation_id: str) -> StoredOperation | None:
    """The operation receipt for an id, of whichever epoch is still kept."""
    row = connection.execute(
        "SELECT operation_id, operations.epoch, digest, answer, result_epoch, result_revision"
        " FROM operations JOIN pets USING (pet) WHERE pet_id = ? AND operation_id = ?",
        (pet_id, operation_id),
    ).fetchone()
    return None if row is None else StoredOperation(*row)


def turn_receipts(connection: apsw.Connection, pet_id: str) -> tuple[bytes, ...]:
    """The pet's turn receipts, oldest first."""
    rows = connection.execute(
        "SELECT receipt FROM turn_receipts JOIN pets USING (pet) WHERE pet_id = ? ORDER BY ordinal", (pet_id,)
    )
    return tuple(receipt for (receipt,) in rows)


def carry_out(unit: Unit, pet_id: str, effects: tuple[Effect, ...]) -> None:
    """Each effect in its order. Raises `StaleWrite`; the caller's savepoint then undoes what was done."""
    for effect in effects:
        match effect:
            case WriteRecord(record=record, expect_epoch=None):
                _insert(unit.connection, record)
            case WriteRecord():
                _update(unit.connection, effect)
            case CheckRoom():
                _check_room(unit.connection, effect)
            case BuryRecord():
                _bury(unit, pet_id)
            case DropRecord():
                _drop(unit, pet_id, effect)
            case _:
                _keep(unit.connection, _pet(unit.connection, pet_id), effect)


def _keep(
    connection: apsw.Connection, pet: int, effect: KeepOperation | ForgetOperations | KeepReplaced | KeepTurnReceipt
) -> None:
    match effect:
        case KeepOperation(operation=operation):
            _keep_operation(connection, pet, operation)
        case ForgetOperations(before_epoch=epoch):
            connection.execute("DELETE FROM operations WHERE pet = ? AND epoch < ?", (pet, epoch))
        case KeepReplaced():
            _keep_replaced(connection, pet, effect)
        case KeepTurnReceipt():
            _keep_turn_receipt(connection, pet, effect)


def _pet(connection: apsw.Connection, pet_id: str) -> int:
    pet = connection.execute("SELECT pet FROM pets WHERE pet_id = ?", (pet_id,)).get
    if pet is None:
        raise StaleWrite
    return int(pet)


def _insert(connection: apsw.Connection, record: Record) -> None:
    if load(connection, record.pet_id) is not None:
        raise StaleWrite
    connection.execute(
        "INSERT INTO pets (pet_id, pet_digest, key_hash, status, epoch, revision, brain_id, device_id, error,"
        " prepared_at_ms, changed_at_ms, operations, save) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.pet_id, pet_digest(record.pet_id), record.key_hash, record.status.value, record.epoch,
            record.revision, record.brain_id, record.device_id, record.error, record.prepared_at_ms,
            record.changed_at_ms, record.operations, record.save,
        ),
    )  # fmt: skip


def _update(connection: apsw.Connection, effect: WriteRecord) -> None:
    record = effect.record
    connection.execute(
        "UPDATE pets SET key_hash = ?, status = ?, epoch = ?, revision = ?, brain_id = ?, device_id = ?, error = ?,"
        " changed_at_ms = ?, operations = ?, save = ? WHERE pet_id = ? AND epoch = ? AND revision = ?",
        (
            record.key_hash, record.status.value, record.epoch, record.revision, record.brain_id, record.device_id,
            record.error, record.changed_at_ms, record.operations, record.save, record.pet_id, effect.expect_epoch,
            effect.expect_revision,
        ),
    )  # fmt: skip
    if connection.changes() != 1:
        raise StaleWrite


def _check_room(connection: apsw.Connection, room: CheckRoom) -> None:
    # asked in the transaction that writes: two prepares decided side by side cannot both take the last room
    pets, prepared = census.room(connection)
    if pets > room.pets_max or prepared > room.prepared_max:
        raise StaleWrite


def _bury(unit: Unit, pet_id: str) -> None:
    digest = pet_digest(pet_id)
    unit.connection.execute("DELETE FROM pets WHERE pet_id = ?", (pet_id,))
    unit.connection.execute("INSERT OR IGNORE INTO tombstones VALUES (?)", (digest,))
    unit.buried.append(digest)
    unit.removed = True


def _drop(unit: Unit, pet_id: str, effect: DropRecord) -> None:
    unit.connection.execute(
        "DELETE FROM pets WHERE pet_id = ? AND epoch = ? AND revision = ?",
        (pet_id, effect.expect_epoch, effect.expect_revision),
    )
    if unit.connection.changes() != 1:
        raise StaleWrite
    unit.removed = True


def _keep_operation(connection: apsw.Connection, pet: int, operation: StoredOperation) -> None:
    assert operation.answer is None or len(operation.answer) <= ANSWER_BYTES_MAX, "an answer is bounded"
    ordinal = (
        1
        + connection.execute(
            "SELECT coalesce(max(ordinal), 0) FROM operations WHERE pet = ? AND epoch = ?", (pet, operation.epoch)
        ).get
    )
    connection.execute(
        "INSERT INTO operations (pet, operation_id, epoch, ordinal, digest, result_epoch, result_revision, answer)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            pet, operation.operation_id, operation.epoch, ordinal, operation.digest, operation.result_epoch,
            operation.result_revision, operation.answer,
        ),
    )  # fmt: skip
    _drop_answer(connection, pet, operation.epoch, ordinal - FULL_ANSWERS_MAX)


def _drop_answer(connection: apsw.Connection, pet: int, epoch: int, ordinal: int) -> None:
    """Keep of an old operation only where it led.

    The row goes and comes back, small, under its number. Emptied where it lies, its room in the page would stay
    empty for ever, 850 bytes for each thing that an owner ever did instead of 200: SQLite joins pages that have become
    empty when rows go, not when they shrink.
    """
    row = connection.execute(
        "DELETE FROM operations WHERE pet = ? AND epoch = ? AND ordinal = ?"
        " RETURNING rowid, pet, operation_id, epoch, ordinal, digest, result_epoch, result_revision",
        (pet, epoch, ordinal),
    ).fetchone()
    if row is not None:
        connection.execute(
            "INSERT INTO operations (rowid, pet, operation_id, epoch, ordinal, digest, result_epoch, result_revision)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def _keep_replaced(connection: apsw.Connection, pet: int, effect: KeepReplaced) -> None:
    ordinal = _next_ordinal(connection, "replaced_saves", pet)
    connection.execute(
        "INSERT INTO replaced_saves (pet, ordinal, epoch, revision, replaced_at_ms, save) VALUES (?, ?, ?, ?, ?, ?)",
        (pet, ordinal, effect.epoch, effect.revision, effect.replaced_at_ms, effect.save),
    )
    connection.execute(
        "DELETE FROM replaced_saves WHERE pet = ? AND (ordinal <= ? OR replaced_at_ms < ?)",
        (pet, ordinal - REPLACED_MAX, effect.replaced_at_ms - REPLACED_KEPT_MS),
    )


def _keep_turn_receipt(connection: apsw.Connection, pet: int, effect: KeepTurnReceipt) -> None:
    assert len(effect.receipt) <= TURN_RECEIPT_BYTES_MAX, "a turn receipt is bounded"
    ordinal = _next_ordinal(connection, "turn_receipts", pet)
    connection.execute(
        "INSERT INTO turn_receipts (pet, ordinal, made_at_ms, receipt) VALUES (?, ?, ?, ?)",
        (pet, ordinal, effect.made_at_ms, effect.receipt),
    )
    connection.execute("DELETE FROM turn_receipts WHERE pet = ? AND ordinal <= ?", (pet, ordinal - TURN_RECEIPTS_MAX))


def _next_ordinal(connection: apsw.Connection, table: str, pet: int) -> int:
    # the table's name is ours; only it cannot be bound
    query = f"SELECT coalesce(max(ordinal), 0) FROM {table} WHERE pet = ?"  # noqa: S608
    return 1 + int(connection.execute(query, (pet,)).get)
