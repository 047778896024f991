"""Lanes answer one turn at a time, and a broken generation harms no other."""

from collections.abc import Awaitable, Callable

import pytest
import structlog
import trio
import trio.testing
from trio.testing import MockClock

from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.executor_queue import Cancelled, Failed, Job, Outcome, Router
from tokenling.host.ports import Generated, TurnRefused
from tokenling.host.worker import GENERATION_LOOKS, GENERATION_S_MAX, Worker

SECRET = "words of an owner"
REQUEST = GenerationRequest("", (SECRET,), "hi", "line", (), {}, 4, 40, 850, 920, 1024, 7)
DONE = Generated(Reply("hello", "eos", ()), b"{}")


class Lane:
    """A generator that does what it is told to."""

    brain_id = "scripted"
    features = ()
    prompt_version = 1
    provider = "ScriptedProvider"

    def __init__(self, behave: Callable[[str], Awaitable[Generated]]) -> None:
        self._behave = behave
        self.running = 0
        self.most = 0

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._behave(turn_id)
        finally:
            self.running -= 1


def job_of(turn_id: str) -> Job:
    return Job(turn_id, turn_id, "idle", REQUEST, trio.current_time())


async def outcomes_of(lanes: list[Lane], *turn_ids: str) -> dict[str, Outcome]:
    queue = Router([("cpu", "cpu", len(lanes))])
    jobs = [job_of(turn_id) for turn_id in turn_ids]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Worker("cpu", lanes, queue).run)
        for job in jobs:
            queue.put(job)
        outcomes = {job.turn_id: await job.outcome() for job in jobs}
        nursery.cancel_scope.cancel()
    return outcomes


async def test_a_lane_runs_one_turn_at_a_time_and_lanes_run_beside_each_other(autojump_clock: MockClock) -> None:
    async def behave(turn_id: str) -> Generated:
        await trio.sleep(1)
        return DONE

    lanes = [Lane(behave), Lane(behave)]
    began = trio.current_time()
    outcomes = await outcomes_of(lanes, "a", "b", "c", "d")
    assert dict.fromkeys("abcd", DONE) == outcomes
    assert [1, 1] == [lane.most for lane in lanes]
    assert 2 == pytest.approx(trio.current_time() - began)


async def test_a_raising_generator_fails_its_turn_and_the_lane_goes_on(autojump_clock: MockClock) -> None:
    async def behave(turn_id: str) -> Generated:
        if turn_id == "bad":
            raise ValueError(SECRET)
        return DONE

    with structlog.testing.capture_logs() as logs:
        outcomes = await outcomes_of([Lane(behave)], "bad", "good")
    assert {"bad": Failed("ValueError"), "good": DONE} == outcomes
    assert "behave" in logs[0]["frames"]
    assert SECRET not in repr(logs)


async def test_an_error_beside_a_cancellation_is_a_failure_not_a_crash(autojump_clock: MockClock) -> None:
    async def fail() -> None:
        raise OSError(SECRET)

    async def behave(turn_id: str) -> Generated:
        if turn_id == "good":
            return DONE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(fail)
        raise AssertionError("the nursery raises")

    outcomes = await outcomes_of([Lane(behave)], "bad", "good")
    assert {"bad": Failed("ExceptionGroup"), "good": DONE} == outcomes


async def test_an_error_beside_the_end_of_the_host_is_told_and_the_end_is_clean(autojump_clock: MockClock) -> None:
    """The worker's own scope ends while its lane fails: neither a crash nor a group comes out."""

    async def fail_at_the_end() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise OSError(SECRET)

    async def behave(turn_id: str) -> Generated:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_at_the_end)
            nursery.start_soon(trio.sleep_forever)
        raise AssertionError("the nursery raises")

    queue = Router()
    with structlog.testing.capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Worker("cpu", [Lane(behave)], queue).run)
            queue.put(job_of("a"))
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
    assert ["generation failed"] == [entry["event"] for entry in logs]
    assert SECRET not in repr(logs)


async def test_a_cancelled_turn_stops_at_once_and_frees_its_lane(autojump_clock: MockClock) -> None:
    async def behave(turn_id: str) -> Generated:
        if turn_id == "stale":
            await trio.sleep(50)
        return DONE

    queue = Router()
    stale, fresh = job_of("stale"), job_of("fresh")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Worker("cpu", [Lane(behave)], queue).run)
        queue.put(stale)
        await trio.sleep(1)
        queue.put(fresh)
        queue.cancel(stale)
        assert [Cancelled(), DONE] == [await stale.outcome(), await fresh.outcome()]
        assert 1 == pytest.approx(trio.current_time())
        nursery.cancel_scope.cancel()


async def test_a_generation_without_an_end_fails_at_its_bound(autojump_clock: MockClock) -> None:
    async def behave(turn_id: str) -> Generated:
        await trio.sleep_forever()
        raise AssertionError("nobody wakes it")

    assert {"a": Failed("timeout")} == await outcomes_of([Lane(behave)], "a")
    assert GENERATION_S_MAX == pytest.approx(trio.current_time())


async def test_each_turn_has_its_whole_time_whenever_it_begins(autojump_clock: MockClock) -> None:
    """One task looks after all turns, now and then: none ends sooner than its bound, or later than a look behind it."""

    async def behave(turn_id: str) -> Generated:
        if turn_id == "quick":
            return DONE
        await trio.sleep_forever()
        raise AssertionError("nobody wakes it")

    queue = Router([("cpu", "cpu", 2)])
    took_s: dict[str, float] = {}

    async def ask(turn_id: str, at_s: float) -> None:
        await trio.sleep_until(at_s)
        job = job_of(turn_id)
        queue.put(job)
        await job.outcome()
        took_s[turn_id] = trio.current_time() - at_s

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Worker("cpu", [Lane(behave), Lane(behave)], queue).run)
        async with trio.open_nursery() as owners:
            for turn_id, at_s in (("quick", 1), ("early", 3), ("late", 68.5), ("behind a rest", 1000)):
                owners.start_soon(ask, turn_id, at_s)
        nursery.cancel_scope.cancel()
    assert 0 == took_s.pop("quick")
    assert {"early", "late", "behind a rest"} == set(took_s)
    look_s = GENERATION_S_MAX / GENERATION_LOOKS
    assert all(GENERATION_S_MAX <= each <= GENERATION_S_MAX + look_s for each in took_s.values())


async def test_health_says_busy_only_when_every_lane_is(autojump_clock: MockClock) -> None:
    async def behave(turn_id: str) -> Generated:
        await trio.sleep(1)
        return DONE

    queue = Router([("cpu", "cpu", 2)])
    worker = Worker("cpu", [Lane(behave), Lane(behave)], queue)
    seen = [worker.health().state]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run)
        for turn_id in "ab":
            queue.put(job_of(turn_id))
            await trio.sleep(0.1)
            seen.append(worker.health().state)
        await trio.sleep(2)
        seen.append(worker.health().state)
        nursery.cancel_scope.cancel()
    assert ["ready", "ready", "busy", "ready"] == seen
    assert "ScriptedProvider" == worker.health().provider


class Flaky(Lane):
    """A CUDA lane over a real behaviour that fails when it is told to."""

    provider = "CUDAExecutionProvider"


async def outcomes_beside_a_gpu(cpu: Lane, gpu: Lane, *turn_ids: str) -> tuple[dict[str, Outcome], list[str]]:
    """Outcomes by turn, and the health of both workers at the end."""
    queue = Router([("cpu", "cpu", 1), ("cuda", "cuda", 1)])
    jobs = [Job(turn_id, turn_id, "reactive", REQUEST, trio.current_time()) for turn_id in turn_ids]
    workers = [Worker("cpu", [cpu], queue), Worker("cuda", [gpu], queue, device="cuda")]
    async with trio.open_nursery() as nursery:
        for worker in workers:
            nursery.start_soon(worker.run)
        for job in jobs:
            queue.put(job)
        outcomes = {job.turn_id: await job.outcome() for job in jobs}
        nursery.cancel_scope.cancel()
    return outcomes, [worker.health().state for worker in workers]


async def test_a_gpu_that_fails_in_a_turn_is_disabled_and_the_turn_runs_once_on_the_cpu(
    autojump_clock: MockClock,
) -> None:
    ran: list[str] = []

    async def on_gpu(turn_id: str) -> Generated:
        await trio.sleep(1)
        raise OSError(SECRET)

    async def on_cpu(turn_id: str) -> Generated:
        ran.append(turn_id)
        await trio.sleep(1)
        return DONE

    with structlog.testing.capture_logs() as logs:
        outcomes, states = await outcomes_beside_a_gpu(Lane(on_cpu), Flaky(on_gpu), *"abcdef")
    assert dict.fromkeys("abcdef", DONE) == outcomes
    assert sorted("abcdef") == sorted(ran), "none lost, none twice"
    assert ["ready", "disabled"] == states
    assert [entry["worker"] for entry in logs if "worker is lost" in entry["event"]] == ["cuda"]
    assert SECRET not in repr(logs)


async def test_a_gpu_that_hangs_is_given_up_at_the_bound(autojump_clock: MockClock) -> None:
    async def hang(turn_id: str) -> Generated:
        await trio.sleep_forever()
        raise AssertionError("nobody wakes it")

    async def on_cpu(turn_id: str) -> Generated:
        return DONE

    outcomes, states = await outcomes_beside_a_gpu(Lane(on_cpu), Flaky(hang), "a")
    assert ({"a": DONE}, ["ready", "disabled"]) == (outcomes, states)


async def test_a_turn_that_cannot_be_asked_costs_no_worker(autojump_clock: MockClock) -> None:
    async def refuse(turn_id: str) -> Generated:
        raise TurnRefused("prompt_too_long")

    outcomes, states = await outcomes_beside_a_gpu(Lane(refuse), Flaky(refuse), "a", "b")
    assert {"a": Failed("prompt_too_long"), "b": Failed("prompt_too_long")} == outcomes
    assert ["ready", "ready"] == states


async def test_a_process_that_was_stopped_in_the_middle_of_a_turn_gives_no_lane_up(mock_clock: MockClock) -> None:
    resumed = trio.Event()

    async def behave(turn_id: str) -> Generated:
        await resumed.wait()
        return DONE

    queue = Router([("cuda", "cuda", 1)])
    worker, job = Worker("cuda", [Lane(behave)], queue, device="cuda"), job_of("a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run)
        queue.put(job)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(10 * GENERATION_S_MAX)
        await trio.testing.wait_all_tasks_blocked()
        resumed.set()
        assert DONE == await job.outcome()
        assert "disabled" != worker.health().state
        nursery.cancel_scope.cancel()
