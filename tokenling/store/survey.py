"""What the host, its start and its operator ask about all pets, and what is done to many at once."""

from collections.abc import Callable

import apsw

from tokenling.protocol import BuryRecord, Rebrain, Record, Restore, Status, decide
from tokenling.store import rows
from tokenling.store.errors import PrefixUnknown
from tokenling.store.rows import Unit
from tokenling.store.values import Counts, LivePet, PetSummary, ReplacedSave, counts_of

PREFIX_CHARACTERS_MIN = 8
"""A digest's prefix that may end a pet: short ones are slips of the hand."""


def counts(connection: apsw.Connection) -> Counts:
    """The pets by status and by brain, counted: for a file that is looked through (the host's are in `census`)."""
    return counts_of(
        connection.execute("SELECT status, brain_id, count(*) FROM pets GROUP BY status, brain_id ORDER BY brain_id")
    )


def live_pets(connection: apsw.Connection, brain_id: str, after: int, most: int) -> tuple[LivePet, ...]:
    """The active pets of a brain behind the place `after`, at most so many: a walk along the index by status."""
    found = connection.execute(
        "SELECT pet, pet_id, save FROM pets WHERE status = 'active' AND brain_id = ? AND pet > ? ORDER BY pet LIMIT ?",
        (brain_id, after, most),
    )
    return tuple(LivePet(*row) for row in found)


def list_pets(connection: apsw.Connection) -> tuple[PetSummary, ...]:
    """Each pet as its operator may see it, oldest first."""
    found = connection.execute(
        "SELECT pet_digest, status, prepared_at_ms, changed_at_ms, length(save) FROM pets ORDER BY prepared_at_ms, pet"
    )
    return tuple(PetSummary(digest, Status(status), *rest) for digest, status, *rest in found)


def replaced_saves(connection: apsw.Connection, pet_id: str) -> tuple[ReplacedSave, ...]:
    """The saves that takeovers replaced, oldest first."""
    found = connection.execute(
        "SELECT replaced_saves.save, replaced_saves.epoch, replaced_saves.revision, replaced_at_ms"
        " FROM replaced_saves JOIN pets USING (pet) WHERE pet_id = ? ORDER BY ordinal",
        (pet_id,),
    )
    return tuple(ReplacedSave(*row) for row in found)


def expire_prepared(unit: Unit, before_ms: int) -> int:
    """The prepared pets from before then are gone, without a tombstone; how many there were."""
    unit.connection.execute("DELETE FROM pets WHERE status = 'prepared' AND prepared_at_ms < ?", (before_ms,))
    expired = int(unit.connection.changes())
    unit.removed = expired > 0
    return expired


def purge_replaced(unit: Unit, before_ms: int) -> int:
    """The saves replaced before then are gone; how many there were."""
    unit.connection.execute("DELETE FROM replaced_saves WHERE replaced_at_ms < ?", (before_ms,))
    purged = int(unit.connection.changes())
    unit.removed = purged > 0
    return purged


def forget(unit: Unit, prefix: str) -> str:
    """The one pet whose digest begins so is deleted, tombstone left; its whole digest. Raises `PrefixUnknown`."""
    if len(prefix) < PREFIX_CHARACTERS_MIN:
        raise PrefixUnknown(0)
    found = unit.connection.execute(
        "SELECT pet_id, pet_digest FROM pets WHERE substr(pet_digest, 1, ?) = ?", (len(prefix), prefix.lower())
    ).fetchall()
    if len(found) != 1:
        raise PrefixUnknown(len(found))
    ((pet_id, digest),) = found
    rows.carry_out(unit, str(pet_id), (BuryRecord(),))
    return str(digest)


def highest(connection: apsw.Connection) -> int:
    """The highest epoch or revision of any pet, 0 without pets: the floor for a backup that replaces this database."""
    return int(connection.execute("SELECT coalesce(max(max(epoch, revision)), 0) FROM pets").get)


def park_restored(unit: Unit, now_ms: int, floor: int = 0) -> int:
    """Every pet is parked and fenced off from whatever ran since the backup; how many there are."""
    ids = [pet_id for (pet_id,) in unit.connection.execute("SELECT pet_id FROM pets ORDER BY pet")]
    for pet_id in ids:
        rows.carry_out(unit, pet_id, decide(_held(unit, pet_id), Restore(floor), now_ms=now_ms).effects)
    return len(ids)


def rebrain(unit: Unit, old: str, new: str, rewrite: Callable[[bytes], bytes], now_ms: int) -> int:
    """Each pet that would keep the host from starting has brain `new` and the save that `rewrite` made; how many."""
    query = "SELECT pet_id FROM pets WHERE brain_id = ? AND status IN ('prepared', 'active') ORDER BY pet"
    ids = [pet_id for (pet_id,) in unit.connection.execute(query, (old,))]
    for pet_id in ids:
        held = _held(unit, pet_id)
        rows.carry_out(unit, pet_id, decide(held, Rebrain(new, rewrite(held.save)), now_ms=now_ms).effects)
    return len(ids)


def _held(unit: Unit, pet_id: str) -> Record:
    held = rows.load(unit.connection, pet_id)
    assert isinstance(held, Record), "the row was read in this transaction"
    return held


def apply_tombstones(unit: Unit, digests: frozenset[str]) -> None:
    """No pet of these digests is held, each has its tombstone; of a restored backup's pets, the deleted ones go."""
    for digest in sorted(digests):
        unit.connection.execute("INSERT OR IGNORE INTO tombstones VALUES (?)", (digest,))
    unit.connection.execute("DELETE FROM pets WHERE pet_digest IN (SELECT pet_digest FROM tombstones)")
    unit.removed = unit.connection.changes() > 0


def stored_tombstones(connection: apsw.Connection) -> frozenset[str]:
    """The digests of all deleted pets."""
    return frozenset(digest for (digest,) in connection.execute("SELECT pet_digest FROM tombstones"))
