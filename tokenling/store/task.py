"""The store task and its callers: one task owns the connection, everybody else queues up and waits.

    callers ──► bounded queue ──► store task ──► one thread hop per group ──► answers
    (any task)   QUEUE_MAX         up to GROUP_MAX calls share one commit

While one group is on its way to the disk the next one gathers: nobody waits for company, and a busy host commits in
few transactions. A write is answered after its commit, a read after the writes that were queued beside it. A caller
that is cancelled before its group began leaves no trace; after that its call is committed whole.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import anyio
import anyio.to_thread
import trio

from tokenling.store.database import Database, Done, Failed, Work, open_database
from tokenling.store.errors import FailureCode, StoreFailed
from tokenling.store.values import Statistics

QUEUE_MAX = 256
"""Calls that wait at once; more wait for a place. 256 calls of 1 MiB are what the host's memory has to spare."""
GROUP_MAX = 64
"""Calls in one transaction: larger groups gained nothing (docs/store.md) and make the first caller wait."""
PROBE_AFTER_S = 1.0
"""While writes fail and nobody calls, the store tries by itself this often, so that it is seen to recover."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Call:
    """One caller's work and, later, its outcome."""

    work: Work[object]
    writes: bool
    wanted: bool = True
    answered: trio.Event = field(default_factory=trio.Event)
    outcome: Done[object] | Failed | None = None

    def answer(self, outcome: Done[object] | Failed) -> None:
        self.outcome = outcome
        self.answered.set()


class StoreTask:
    """The queue and the task behind it. `open_task` makes one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._limiter = anyio.CapacityLimiter(1)
        self._send, self._receive = trio.open_memory_channel[Call](QUEUE_MAX)
        self._writes = self._reads = self._commits = self._failed_commits = self._largest_group = 0
        self._cpu_s = 0.0

    @property
    def database(self) -> Database:
        """The synchronous half, for what runs before or after the task."""
        return self._database

    def statistics(self) -> Statistics:
        """What was done so far."""
        return Statistics(
            writes=self._writes,
            reads=self._reads,
            commits=self._commits,
            failed_commits=self._failed_commits,
            largest_group=self._largest_group,
            queued=self._send.statistics().current_buffer_used,
            cpu_s=self._cpu_s,
        )

    async def call(self, work: Work[T], *, writes: bool) -> T:
        """What `work` gives back, for a write after its commit. Raises what it raises, or `StoreFailed`.

        Cancelled, it is either committed whole or not at all; a caller that must know asks again.
        """
        call = Call(work, writes)
        try:
            try:
                self._send.send_nowait(call)  # nearly always: a round of the event loop less
            except trio.WouldBlock:
                await self._send.send(call)
            await call.answered.wait()
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            raise StoreFailed(FailureCode.CLOSED) from None
        finally:
            call.wanted = False
        match call.outcome:
            case Done(value):
                return cast("T", value)
            case Failed(error):
                raise error
            case None:
                raise AssertionError("an answered call has an outcome")

    async def run(self) -> None:
        """Serve until `close`, then commit what is queued. Not to be cancelled: the caller shields it.

        Should it end otherwise (a fault of ours), whoever waits is told that the store is closed: no caller hangs.
        """
        async with self._receive:
            try:
                while (calls := await self._gather()) is not None:
                    await self._serve(calls)
            finally:
                self._refuse_the_rest()

    def close(self) -> None:
        """No more calls are taken; those in the queue are still served."""
        self._send.close()

    def _refuse_the_rest(self) -> None:
        with contextlib.suppress(trio.WouldBlock, trio.EndOfChannel):
            while True:
                _refuse([self._receive.receive_nowait()])

    async def _gather(self) -> list[Call] | None:
        """The next group: whoever waits now. Empty when it is time to probe, None when all is served and closed."""
        calls: list[Call] = []
        with trio.move_on_after(PROBE_AFTER_S if self._database.failing else float("inf")):
            try:
                calls.append(await self._receive.receive())
                while len(calls) < GROUP_MAX:
                    calls.append(self._receive.receive_nowait())
            except trio.WouldBlock:
                pass
            except trio.EndOfChannel:
                return calls or None
        return calls

    async def _serve(self, calls: list[Call]) -> None:
        calls = [call for call in calls if call.wanted] if calls else [Call(Database.probe, writes=True)]
        if not calls:
            return
        try:
            done = await in_thread(partial(run_group, self._database, calls), self._limiter)
        except BaseException:
            _refuse(calls)
            raise
        outcomes, cpu_s = done
        self._cpu_s += cpu_s
        self._count(calls, outcomes)
        for call, outcome in zip(calls, outcomes, strict=True):
            call.answer(outcome)

    def _count(self, calls: Sequence[Call], outcomes: Sequence[Done[object] | Failed]) -> None:
        writes = [outcome for call, outcome in zip(calls, outcomes, strict=True) if call.writes]
        self._writes += len(writes)
        self._reads += len(calls) - len(writes)
        self._largest_group = max(self._largest_group, len(writes))
        failed = bool(writes) and all(isinstance(one, Failed) and isinstance(one.error, StoreFailed) for one in writes)
        self._commits += bool(writes) and not failed
        self._failed_commits += failed


def _refuse(calls: Sequence[Call]) -> None:
    for call in calls:
        call.answer(Failed(StoreFailed(FailureCode.CLOSED)))


def run_group(database: Database, calls: Sequence[Call]) -> tuple[list[Done[object] | Failed], float]:
    """In the thread: the writes of a group in one transaction, then its reads; and the processor time of both."""
    began_s = time.thread_time()
    written = iter(database.write_group(works) if (works := [call.work for call in calls if call.writes]) else ())
    outcomes = [next(written) if call.writes else database.read(call.work) for call in calls]
    return outcomes, time.thread_time() - began_s


async def in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
    """What `work` gives back, from a thread. Where the system gives none (its limit, or memory, is used up) it is done
    here: everybody waits for the disk then, which is better than that the host ends."""
    has_begun = False

    def begin() -> T:
        nonlocal has_begun
        has_begun = True
        return work()

    try:
        return await anyio.to_thread.run_sync(begin, limiter=limiter)
    except RuntimeError:
        if has_begun:
            raise
    return work()


@asynccontextmanager
async def open_task(path: Path, now_ms: int, vfs: str | None = None) -> AsyncIterator[StoreTask]:
    """A running store task; at the end of the block, cancelled or not, what is queued is committed and all closed.

    Raises `StoreRefused`. An exception of the block itself leaves it as it is, not within a group.
    """
    database = await in_thread(partial(open_database, path, now_ms, vfs))
    task = StoreTask(database)
    raised: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_shielded, task)
            try:
                yield task
            except BaseException as error:
                raised = error
                raise
            finally:
                task.close()
    except BaseExceptionGroup as group:
        if raised is not None and group.exceptions == (raised,):
            raise raised from raised.__cause__
        raise
    finally:
        with trio.CancelScope(shield=True):
            await in_thread(database.close)


async def _run_shielded(task: StoreTask) -> None:
    with trio.CancelScope(shield=True):
        await task.run()
