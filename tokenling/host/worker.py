"""A worker: lanes that take turns from the queue and answer them, one at a time each.

The task of a worker never ends by itself. A generator that raises fails its turn, not the host: the error is logged by
its class and frames, without its message, which may quote a prompt. A CUDA worker is expendable: when a turn fails
there for another reason than the turn itself, the worker serves no more and the turn waits for the CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
import trio

from tokenling.host.envelopes import WorkerHealth
from tokenling.host.executor_queue import Cancelled, Failed, Job, Outcome, Queue
from tokenling.host.faults import shown_frames
from tokenling.host.ports import Generated, Generator, TurnRefused
from tokenling.host.routing import Device

GENERATION_S_MAX = 120.0
"""A turn on a lane for longer than this has failed: some hundred times a turn of the shipped brain (a guess)."""

log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LaneLost:
    """The lane failed, not the turn; `reason` names a class or a bound."""

    reason: str


class Worker:
    """One lane for each generator. The generators of a worker share a brain and a provider."""

    def __init__(self, name: str, generators: Sequence[Generator], queue: Queue, *, device: Device = "cpu") -> None:
        assert generators, "a worker has a lane"
        self.name = name
        self.device = device
        self._generators = tuple(generators)
        self._queue = queue
        self._busy = 0
        self._lost = False

    def health(self) -> WorkerHealth:
        """What health shows of this worker."""
        busy = self._busy == len(self._generators)
        state = "disabled" if self._lost else "busy" if busy else "ready"
        return WorkerHealth(self.name, self._generators[0].provider, state)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with trio.open_nursery() as nursery:
            for generator in self._generators:
                nursery.start_soon(self._run_lane, generator)

    async def _run_lane(self, generator: Generator) -> None:
        while True:
            job = await self._queue.take(self.name)
            self._busy += 1
            try:
                await self._serve(generator, job)
            finally:
                self._busy -= 1

    async def _serve(self, generator: Generator, job: Job) -> None:
        began_s = trio.current_time()
        outcome = await answer(generator, job)
        if isinstance(outcome, LaneLost) and self.device != "cpu":
            self._lost = True
            log.error("a worker is lost; its turns go on elsewhere", worker=self.name, reason=outcome.reason)
            self._queue.lost(self.name, job)
            return
        whole = isinstance(outcome, Generated) and not job.unwanted
        self._queue.finished(self.name, job, took_s=trio.current_time() - began_s if whole else None)
        job.resolve(Failed(outcome.reason) if isinstance(outcome, LaneLost) else outcome)


async def answer(generator: Generator, job: Job) -> Outcome | LaneLost:
    """The outcome of one job. Cancelling `job.scope` makes it `Cancelled`; only the lane's own cancellation raises."""
    job.scope.deadline = trio.current_time() + GENERATION_S_MAX
    try:
        with job.scope:
            return await generator.generate(job.request, turn_id=job.turn_id)
    except TurnRefused as refused:
        log.warning("a turn was refused", code=refused.code)
        return Failed(refused.code)
    except Exception as error:
        # outside the scope, so that a group that holds a cancellation is split by trio before it gets here
        log.warning("generation failed", frames=shown_frames(error))
        return LaneLost(type(error).__name__)
    return Cancelled() if job.unwanted else LaneLost("timeout")
