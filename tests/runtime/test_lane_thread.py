"""The turns of a lane run in one thread, which is nobody else's, rests between them and ends with the lane."""

import gc
import threading
from collections.abc import Sequence

import pytest
import trio

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.runtime import Brain, DecodePlan, Generation, Lane, Sampling, open_brain, open_lane
from tokenling.runtime.batch_lane import BatchLane
from tokenling.runtime.lane_thread import LaneThread
from tokenling.runtime.rows import open_rows

PATIENCE_S = 20.0


def here(_plan: DecodePlan, _generation: Generation) -> threading.Thread:
    return threading.current_thread()


async def thread_of(lane: Lane) -> threading.Thread:
    """The one that a turn ran in."""
    ids = lane.brain.tokenizer.encode("Owner: hello Pip")
    return await lane.turn(lambda: DecodePlan(ids, 4, Sampling(0, 0, 1000, 0), (), ignore_eos=True), here)


def end_of(threads: Sequence[threading.Thread]) -> None:
    """Return once they have ended."""
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


async def test_the_turns_of_a_lane_run_in_one_thread_which_no_other_lane_and_nobody_else_has(brain: Brain) -> None:
    lanes = [open_lane(brain) for _ in range(3)]
    seen: list[list[threading.Thread]] = [[] for _ in lanes]
    others: set[threading.Thread] = set()

    async def talk(at: int) -> None:
        for _ in range(5):
            seen[at].append(await thread_of(lanes[at]))
            others.add(await trio.to_thread.run_sync(threading.current_thread))

    async with trio.open_nursery() as nursery:
        for at in range(len(lanes)):
            nursery.start_soon(talk, at)
    threads = {thread for turns in seen for thread in turns}
    assert [1, 1, 1] == [len(set(turns)) for turns in seen]
    assert 3 == len(threads)
    assert not threads & others


async def test_the_thread_ends_when_nobody_holds_the_lane_any_more(brain: Brain) -> None:
    lanes = [open_lane(brain) for _ in range(3)]
    threads = [await thread_of(lane) for lane in lanes]
    assert all(thread.is_alive() for thread in threads)
    del lanes
    gc.collect()
    end_of(threads)


async def test_a_lane_that_batches_has_one_thread_too(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = open_brain(shipped_brain_dir())
    lane = BatchLane(shipped, open_rows(shipped, shipped_brain_dir(), 2))
    seen: list[threading.Thread] = []
    serve = lane._serve

    def noted() -> None:
        seen.append(threading.current_thread())
        serve()

    monkeypatch.setattr(lane, "_serve", noted)
    ids = shipped.tokenizer.encode("Owner: hello Pip")
    for _ in range(3):
        await lane.generate(DecodePlan(ids, 4, Sampling(0, 0, 1000, 0), (), ignore_eos=True))
        with trio.fail_after(PATIENCE_S):
            await trio.to_thread.run_sync(lane.join)
    assert 3 == len(seen)
    assert 1 == len(set(seen))


def test_calls_run_in_order_and_what_they_give_or_raise_is_delivered() -> None:
    thread, said, done = LaneThread(), [], threading.Event()

    def fails() -> None:
        raise KeyError("a fault")

    thread.start_soon(lambda: 1, lambda outcome: said.append(outcome.unwrap()))
    thread.start_soon(fails, lambda outcome: said.append(type(getattr(outcome, "error", None))))
    thread.start_soon(lambda: 3, lambda outcome: (said.append(outcome.unwrap()), done.set())[0])
    assert done.wait(PATIENCE_S)
    assert [1, KeyError, 3] == said


def test_who_has_a_lane_can_run_it_and_without_a_thread_there_is_none(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lane = open_lane(brain)
    with monkeypatch.context() as changed:
        changed.setattr(threading.Thread, "start", none_left)
        with pytest.raises(RuntimeError, match="new thread"):
            open_lane(brain)
        assert trio.run(thread_of, lane).is_alive()
