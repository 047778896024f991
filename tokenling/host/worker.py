"""A worker: lanes that take turns from the queue and answer them, one at a time each.

The task of a worker never ends by itself. A generator that raises fails its turn, not the host: the error is logged by
its class and frames, without its message, which may quote a prompt.
"""

from collections.abc import Sequence

import structlog
import trio

from tokenling.host.envelopes import WorkerHealth
from tokenling.host.executor_queue import Cancelled, Failed, Job, Outcome, Queue
from tokenling.host.faults import shown_frames
from tokenling.host.ports import Generator

GENERATION_S_MAX = 120.0
"""A turn on a lane for longer than this has failed: some hundred times a turn of the shipped brain (a guess)."""

log = structlog.stdlib.get_logger(__name__)


class Worker:
    """One lane for each generator. The generators of a worker share a brain and a provider."""

    def __init__(self, name: str, generators: Sequence[Generator], queue: Queue) -> None:
        assert generators, "a worker has a lane"
        self.name = name
        self._generators = tuple(generators)
        self._queue = queue
        self._busy = 0

    def health(self) -> WorkerHealth:
        """What health shows of this worker."""
        state = "busy" if self._busy == len(self._generators) else "ready"
        return WorkerHealth(self.name, self._generators[0].provider, state)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with trio.open_nursery() as nursery:
            for generator in self._generators:
                nursery.start_soon(self._run_lane, generator)

    async def _run_lane(self, generator: Generator) -> None:
        while True:
            job = await self._queue.take()
            self._busy += 1
            try:
                job.resolve(await answer(generator, job))
            finally:
                self._busy -= 1


async def answer(generator: Generator, job: Job) -> Outcome:
    """The outcome of one job. Cancelling `job.scope` makes it `Cancelled`; only the lane's own cancellation raises."""
    job.scope.deadline = trio.current_time() + GENERATION_S_MAX
    try:
        with job.scope:
            return await generator.generate(job.request, turn_id=job.turn_id)
    except Exception as error:
        # outside the scope, so that a group that holds a cancellation is split by trio before it gets here
        log.warning("generation failed", frames=shown_frames(error))
        return Failed(type(error).__name__)
    return Cancelled() if job.unwanted else Failed("timeout")
