"""Who goes next, and how a job ends."""

import pytest
import trio
from trio.testing import MockClock

from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.executor_queue import Cancelled, Failed, Job, JobState, Router
from tokenling.host.ports import Generated
from tokenling.host.routing import PROMOTE_AFTER_S, TurnKind

REQUEST = GenerationRequest("", (), "hi", "line", (), {}, 4, 40, 850, 920, 1024, 7)


def job_of(pet_id: str, kind: TurnKind = "idle", since_s: float = 0.0) -> Job:
    return Job(pet_id, f"turn of {pet_id}", kind, REQUEST, since_s)


async def order_of(queue: Router) -> list[str]:
    order = []
    for _ in range(len(queue)):
        job = await queue.take("cpu")
        order.append(job.pet_id)
        queue.finished("cpu", job, took_s=None)
    return order


async def test_what_an_owner_did_goes_before_background_work(autojump_clock: MockClock) -> None:
    queue = Router()
    for pet_id, kind in (("a", "idle"), ("b", "diary"), ("c", "reactive"), ("d", "reactive")):
        queue.put(job_of(pet_id, kind, trio.current_time()))
    assert ["c", "d", "a", "b"] == await order_of(queue)


async def test_background_work_older_than_thirty_seconds_goes_first(autojump_clock: MockClock) -> None:
    queue = Router()
    queue.put(job_of("old", "idle", trio.current_time()))
    await trio.sleep(PROMOTE_AFTER_S)
    queue.put(job_of("owner", "reactive", trio.current_time()))
    queue.put(job_of("young", "idle", trio.current_time()))
    assert ["old", "owner", "young"] == await order_of(queue)


async def test_a_wait_outlives_the_request_it_began_with(autojump_clock: MockClock) -> None:
    queue = Router()
    began = trio.current_time()
    first = job_of("pet", "diary", began)
    queue.put(first)
    await trio.sleep(PROMOTE_AFTER_S)
    queue.put(job_of("owner", "reactive", trio.current_time()))
    queue.cancel(first)
    queue.put(job_of("pet", "diary", began))
    assert ["pet", "owner"] == await order_of(queue)


async def test_a_pet_cannot_have_two_jobs_waiting() -> None:
    queue = Router()
    queue.put(job_of("pet"))
    with pytest.raises(AssertionError, match="one generation at a time"):
        queue.put(job_of("pet"))


async def test_a_job_cancelled_while_it_waits_is_never_taken() -> None:
    queue = Router()
    gone, kept = job_of("gone"), job_of("kept")
    queue.put(gone)
    queue.put(kept)
    queue.cancel(gone)
    assert Cancelled() == await gone.outcome()
    assert ["kept"] == await order_of(queue)


async def test_a_reply_that_comes_after_the_cancellation_is_dropped() -> None:
    queue = Router()
    job = job_of("pet")
    queue.put(job)
    assert job is await queue.take("cpu")
    queue.cancel(job)
    assert job.scope.cancel_called
    job.resolve(Generated(Reply("too late", "eos", ()), b"{}"))
    assert Cancelled() == await job.outcome()


async def test_cancelling_a_finished_job_keeps_its_outcome() -> None:
    queue = Router()
    job = job_of("pet")
    queue.put(job)
    await queue.take("cpu")
    job.resolve(Failed("Boom"))
    queue.cancel(job)
    assert JobState.DONE is job.state
    assert Failed("Boom") == await job.outcome()


async def test_each_job_goes_to_one_lane_only(autojump_clock: MockClock) -> None:
    queue = Router([("cpu", "cpu", 3)])
    taken: list[str] = []

    async def lane() -> None:
        while True:
            job = await queue.take("cpu")
            taken.append(job.pet_id)
            await trio.sleep(1)
            queue.finished("cpu", job, took_s=1.0)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(lane)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(20):
            queue.put(job_of(f"pet {number}"))
        await trio.sleep(7.5)  # 20 turns of a second over three lanes
        nursery.cancel_scope.cancel()
    assert {f"pet {number}" for number in range(20)} == set(taken)
    assert 20 == len(taken)


TWO = [("cpu", "cpu", 1), ("cuda", "cuda", 1)]


async def test_a_cpu_that_does_better_to_wait_leaves_the_turn_to_the_gpu(autojump_clock: MockClock) -> None:
    queue = Router(TWO)
    for worker, took_s in (("cpu", 10.0), ("cuda", 1.0)):
        queue.finished(worker, job_of("taught", "reactive"), took_s=took_s)
    queue.put(job_of("first", "reactive"))
    assert "first" == (await queue.take("cuda")).pet_id
    queue.put(job_of("second", "reactive"))
    with trio.move_on_after(0.5) as waited:
        await queue.take("cpu")
    assert waited.cancelled_caught


async def test_a_stuck_gpu_does_not_keep_the_cpu_waiting_for_ever(autojump_clock: MockClock) -> None:
    queue = Router(TWO)
    for worker, took_s in (("cpu", 10.0), ("cuda", 1.0)):
        queue.finished(worker, job_of("taught", "reactive"), took_s=took_s)
    queue.put(job_of("stuck", "reactive"))
    await queue.take("cuda")
    queue.put(job_of("second", "reactive"))
    assert "second" == (await queue.take("cpu")).pet_id
    assert 2.0 <= trio.current_time() <= 3.1, "twice the expected second, and one more look"


async def test_background_work_is_promoted_by_time_alone(autojump_clock: MockClock) -> None:
    """A lane that comes free takes the old idle turn, though nothing was put since."""
    queue = Router()
    queue.put(job_of("busy", "reactive", trio.current_time()))
    busy = await queue.take("cpu")
    queue.put(job_of("idle", "idle", trio.current_time()))
    await trio.sleep(PROMOTE_AFTER_S)
    queue.put(job_of("owner", "reactive", trio.current_time()))
    queue.finished("cpu", busy, took_s=None)
    assert ["idle", "owner"] == await order_of(queue)


async def test_a_lost_worker_s_turn_goes_to_the_other_once(autojump_clock: MockClock) -> None:
    queue = Router(TWO)
    job = job_of("pet", "reactive")
    queue.put(job)
    assert job is await queue.take("cuda")
    queue.lost("cuda", job)
    assert not queue.serves("cuda")
    assert job is await queue.take("cpu")
    queue.lost("cpu", job)
    assert Failed("no_worker") == await job.outcome()


async def test_a_turn_that_nobody_wants_does_not_wait_again_when_its_worker_is_lost() -> None:
    queue = Router(TWO)
    job = job_of("pet", "reactive")
    queue.put(job)
    await queue.take("cuda")
    queue.cancel(job)
    queue.lost("cuda", job)
    assert (Cancelled(), 0) == (await job.outcome(), len(queue))


async def test_only_whole_turns_teach_an_estimate() -> None:
    queue = Router()
    queue.finished("cpu", job_of("a", "idle"), took_s=None)
    assert {} == queue.estimates_of("cpu").cells
    queue.finished("cpu", job_of("a", "idle"), took_s=2.0)
    assert [2.0] == [cell.mean_s for cell in queue.estimates_of("cpu").cells.values()]
