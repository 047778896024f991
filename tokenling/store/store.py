"""`Store`: what the rest of the house calls. Thin: each method queues one function of `rows` or `survey`."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tokenling.protocol import REPLACED_KEPT_MS, Effect, Held, StoredOperation
from tokenling.store import census, rows, survey
from tokenling.store.errors import FailureCode, StoreFailed
from tokenling.store.rows import Unit
from tokenling.store.task import StoreTask, open_task
from tokenling.store.values import Counts, LivePet, PetSummary, Rebrained, ReplacedSave, Statistics


class Store:
    """An open store. Every call is answered after the commit that holds it.

    Each may raise `StoreFailed`: nothing of it may be taken as done, and repeating it is safe. Cancelled, a call is
    committed whole or not at all.
    """

    def __init__(self, task: StoreTask) -> None:
        self._task = task

    @property
    def path(self) -> Path:
        """The database file."""
        return self._task.database.path

    @property
    def failing(self) -> str | None:
        """The code of the failure that the last commit or read met; None again once a commit succeeds. Files that were
        moved away are noticed when it is asked, though nobody writes."""
        database = self._task.database
        return database.failing or (None if database.in_place else FailureCode.MOVED)

    def statistics(self) -> Statistics:
        """What the store did since it opened."""
        return self._task.statistics()

    async def load(self, pet_id: str) -> Held:
        """What is held of a pet: its record, its tombstone, or None."""
        return await self._task.call(lambda unit: rows.load(unit.connection, pet_id), writes=False)

    async def key_hash(self, pet_id: str) -> bytes | None:
        """The hash of the pet's access key, and nothing else of it: who knocks is not yet known."""
        return await self._task.call(lambda unit: rows.key_hash(unit.connection, pet_id), writes=False)

    async def find_operation(self, pet_id: str, operation_id: str) -> StoredOperation | None:
        """The operation receipt for an id that this epoch or the one before has seen."""
        return await self._task.call(
            lambda unit: rows.find_operation(unit.connection, pet_id, operation_id), writes=False
        )

    async def carry_out(self, pet_id: str, effects: tuple[Effect, ...]) -> None:
        """All effects of one decision are on disk, or none of them: `StaleWrite` when the fence does not fit."""
        if effects:
            await self._task.call(lambda unit: rows.carry_out(unit, pet_id, effects), writes=True)

    async def turn_receipts(self, pet_id: str) -> tuple[bytes, ...]:
        """The last turn receipts of a pet, oldest first."""
        return await self._task.call(lambda unit: rows.turn_receipts(unit.connection, pet_id), writes=False)

    async def replaced_saves(self, pet_id: str) -> tuple[ReplacedSave, ...]:
        """The saves that takeovers replaced in the last days, oldest first."""
        return await self._task.call(lambda unit: survey.replaced_saves(unit.connection, pet_id), writes=False)

    async def live_pets(self, brain_id: str, *, after: int = 0, most: int) -> tuple[LivePet, ...]:
        """The next active pets of a brain behind the place `after` in the table; none is the end of them."""
        return await self._task.call(
            lambda unit: survey.live_pets(unit.connection, brain_id, after, most), writes=False
        )

    async def counts(self) -> Counts:
        """How many pets there are, by status and by brain. Counts none of them."""
        return await self._task.call(lambda unit: census.counts(unit.connection), writes=False)

    async def list_pets(self) -> tuple[PetSummary, ...]:
        """Digest, status, ages and size of every pet, for the operator."""
        return await self._task.call(lambda unit: survey.list_pets(unit.connection), writes=False)

    async def expire_prepared(self, before_ms: int) -> int:
        """The pets that were prepared before then and never activated are gone; how many there were."""
        return await self._task.call(lambda unit: survey.expire_prepared(unit, before_ms), writes=True)

    async def purge_replaced(self, before_ms: int) -> int:
        """The saves that were replaced before then are gone; how many there were."""
        return await self._task.call(lambda unit: survey.purge_replaced(unit, before_ms), writes=True)

    async def forget(self, digest_prefix: str) -> str:
        """The one pet whose digest begins so is deleted; its whole digest. Raises `PrefixUnknown`."""
        return await self._task.call(lambda unit: survey.forget(unit, digest_prefix), writes=True)

    async def highest(self) -> int:
        """The highest epoch or revision of any pet: the `floor` for a backup that is to replace this database."""
        return await self._task.call(lambda unit: survey.highest(unit.connection), writes=False)

    async def park_restored(self, now_ms: int, *, floor: int = 0) -> int:
        """After a restore: every pet is parked, without a destination, beyond every lost epoch; how many there are.

        `floor` is what `highest` said of the database that was replaced, where there was one to ask.
        """
        return await self._task.call(lambda unit: survey.park_restored(unit, now_ms, floor), writes=True)

    async def rebrain(self, old: str, new: str, rewrite: Callable[[bytes], bytes], *, now_ms: int) -> Rebrained:
        """Every active or prepared pet of brain `old` has brain `new` and the save that `rewrite` made of its own.

        A backup is made first, beside the database. All pets or none: what `rewrite` raises is raised here.
        """
        backup = self.path.with_name(f"{self.path.name}.before-rebrain-{now_ms}")
        await self.back_up(backup)

        def work(unit: Unit) -> int:
            return survey.rebrain(unit, old, new, rewrite, now_ms)

        return Rebrained(await self._task.call(work, writes=True), backup)

    async def back_up(self, out: Path) -> None:
        """`out` is a new file (0600) with everything that was committed before; `FileExistsError` for an old one."""
        await self._task.call(lambda unit: self._task.database.back_up(out), writes=False)


@asynccontextmanager
async def open_store(path: Path, *, now_ms: int, vfs: str | None = None) -> AsyncIterator[Store]:
    """The store at `path`, made when there is none, held by this process alone. Raises `StoreRefused`.

    At the end of the block what is queued is committed. Replaced saves past their week are purged at once. `vfs`
    names an apsw VFS to run on (fault tests).
    """
    async with open_task(path, now_ms, vfs) as task:
        store = Store(task)
        with suppress(StoreFailed):  # a full disk must not keep the host from starting; `failing` tells
            await store.purge_replaced(now_ms - REPLACED_KEPT_MS)
        yield store
