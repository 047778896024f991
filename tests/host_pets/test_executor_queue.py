"""Who goes next, and how a job ends."""

import pytest
import trio
from trio.testing import MockClock

from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.executor_queue import PROMOTE_AFTER_S, Cancelled, Failed, Job, JobState, TurnKind, TurnQueue
from tokenling.host.ports import Generated

REQUEST = GenerationRequest("", (), "hi", "line", (), {}, 4, 40, 850, 920, 1024, 7)


def job_of(pet_id: str, kind: TurnKind = "idle", since_s: float = 0.0) -> Job:
    return Job(pet_id, f"turn of {pet_id}", kind, REQUEST, since_s)


async def order_of(queue: TurnQueue) -> list[str]:
    return [(await queue.take()).pet_id for _ in range(len(queue))]


async def test_what_an_owner_did_goes_before_background_work(autojump_clock: MockClock) -> None:
    queue = TurnQueue()
    for pet_id, kind in (("a", "idle"), ("b", "diary"), ("c", "reactive"), ("d", "reactive")):
        queue.put(job_of(pet_id, kind, trio.current_time()))
    assert ["c", "d", "a", "b"] == await order_of(queue)


async def test_background_work_older_than_thirty_seconds_goes_first(autojump_clock: MockClock) -> None:
    queue = TurnQueue()
    queue.put(job_of("old", "idle", trio.current_time()))
    await trio.sleep(PROMOTE_AFTER_S)
    queue.put(job_of("owner", "reactive", trio.current_time()))
    queue.put(job_of("young", "idle", trio.current_time()))
    assert ["old", "owner", "young"] == await order_of(queue)


async def test_a_wait_outlives_the_request_it_began_with(autojump_clock: MockClock) -> None:
    queue = TurnQueue()
    began = trio.current_time()
    first = job_of("pet", "diary", began)
    queue.put(first)
    await trio.sleep(PROMOTE_AFTER_S)
    queue.put(job_of("owner", "reactive", trio.current_time()))
    queue.cancel(first)
    queue.put(job_of("pet", "diary", began))
    assert ["pet", "owner"] == await order_of(queue)


async def test_a_pet_cannot_have_two_jobs_waiting() -> None:
    queue = TurnQueue()
    queue.put(job_of("pet"))
    with pytest.raises(AssertionError, match="one generation at a time"):
        queue.put(job_of("pet"))


async def test_a_job_cancelled_while_it_waits_is_never_taken() -> None:
    queue = TurnQueue()
    gone, kept = job_of("gone"), job_of("kept")
    queue.put(gone)
    queue.put(kept)
    queue.cancel(gone)
    assert Cancelled() == await gone.outcome()
    assert ["kept"] == await order_of(queue)


async def test_a_reply_that_comes_after_the_cancellation_is_dropped() -> None:
    queue = TurnQueue()
    job = job_of("pet")
    queue.put(job)
    assert job is await queue.take()
    queue.cancel(job)
    assert job.scope.cancel_called
    job.resolve(Generated(Reply("too late", "eos", ()), b"{}"))
    assert Cancelled() == await job.outcome()


async def test_cancelling_a_finished_job_keeps_its_outcome() -> None:
    queue = TurnQueue()
    job = job_of("pet")
    queue.put(job)
    await queue.take()
    job.resolve(Failed("Boom"))
    queue.cancel(job)
    assert JobState.DONE is job.state
    assert Failed("Boom") == await job.outcome()


async def test_each_job_goes_to_one_lane_only(autojump_clock: MockClock) -> None:
    queue = TurnQueue()
    taken: list[str] = []

    async def lane() -> None:
        while True:
            taken.append((await queue.take()).pet_id)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(lane)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(20):
            queue.put(job_of(f"pet {number}"))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert {f"pet {number}" for number in range(20)} == set(taken)
    assert 20 == len(taken)
