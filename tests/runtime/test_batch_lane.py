"""Turns that share a lane: each writes what it writes alone, whoever joins, leaves, fails or is cancelled beside it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import trio

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.engine.request import GenerationRequest
from tokenling.runtime import (
    Brain,
    Cancellation,
    DecodePlan,
    Generation,
    GenerationRefused,
    Lane,
    LaneFailed,
    Sampling,
    decode,
    make_receipt,
    open_brain,
    plan_turn,
    verify,
)
from tokenling.runtime.batch_lane import BatchLane, BatchPool, shares_of
from tokenling.runtime.rows import RowGraph, open_rows
from tools.bench.lanes import requests

ROWS = 8
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def shipped() -> Brain:
    return open_brain(shipped_brain_dir())


@pytest.fixture(scope="module")
def graphs(shipped: Brain) -> tuple[RowGraph, ...]:
    return open_rows(shipped, shipped_brain_dir(), ROWS)


@pytest.fixture
def lane(shipped: Brain, graphs: tuple[RowGraph, ...]) -> BatchLane:
    return BatchLane(shipped, graphs)


@pytest.fixture(scope="module")
def asked(shipped: Brain) -> list[GenerationRequest]:
    """What real pets are asked, hot enough to look things up now and then."""
    return [
        replace(one, temperature_milli=1300, seed=one.seed + 7 * n) for n, one in enumerate(requests(40, shipped.id))
    ]


@pytest.fixture(scope="module")
def alone(shipped: Brain, asked: list[GenerationRequest]) -> list[Generation]:
    lane = Lane(shipped)
    return [decode(lane, plan_turn(request, shipped)) for request in asked]


def long_plan(shipped: Brain, seed: int, *, prompt: int = 30, count: int = 200) -> DecodePlan:
    ids = np.random.default_rng(seed).integers(0, shipped.config.vocabulary, prompt).tolist()
    return DecodePlan(tuple(ids), count, Sampling(850, 40, 920, seed), (), ignore_eos=True)


def said(generation: Generation) -> tuple[object, ...]:
    """All of a generation but its times."""
    return tuple(getattr(generation, name) for name in
                 ("token_ids", "text", "stop", "insertions_used", "choices", "near_ties"))  # fmt: skip


async def all_of(lane: BatchLane, plans: Sequence[DecodePlan], *, at_once: int = ROWS) -> list[Generation]:
    found: dict[int, Generation] = {}
    places = trio.CapacityLimiter(at_once)

    async def one(number: int, plan: DecodePlan) -> None:
        async with places:
            found[number] = await lane.generate(plan)

    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            for number, plan in enumerate(plans):
                nursery.start_soon(one, number, plan)
    return [found[number] for number in range(len(plans))]


@pytest.mark.parametrize(
    ("count", "shares"),
    [(0, []), (1, [1]), (2, [2]), (3, [3]), (4, [4]), (5, [4, 1]), (6, [6]), (7, [7]), (8, [8]), (9, [8, 1]),
     (11, [8, 3]), (13, [8, 4, 1]), (16, [8, 8])],
)  # fmt: skip
def test_a_graph_is_filled_by_three_quarters_at_least(count: int, shares: list[int]) -> None:
    assert shares == shares_of(count, [2, 4, 8])
    assert [1] * count == shares_of(count, [2]) if count < 2 else count == sum(shares_of(count, [2]))


@pytest.mark.parametrize("at_once", [1, 2, 5, 8])
async def test_forty_turns_that_join_and_leave_write_what_each_writes_alone(
    shipped: Brain, lane: BatchLane, asked: list[GenerationRequest], alone: list[Generation], at_once: int
) -> None:
    found = await all_of(lane, [plan_turn(request, shipped) for request in asked], at_once=at_once)
    assert list(map(said, alone)) == list(map(said, found))
    assert any(generation.insertions_used for generation in alone), "a lookup's answer came in between"
    assert len({len(generation.token_ids) for generation in alone}) > 5, "turns ended at different steps"


async def test_near_limit_prompts_beside_short_ones_write_what_each_writes_alone(
    shipped: Brain, lane: BatchLane
) -> None:
    plans = [long_plan(shipped, seed, prompt=length, count=60) for seed, length in enumerate((1, 900, 3, 500, 31, 33))]
    plans.append(replace(plans[1], prefill_chunk=64))
    expected = [said(decode(Lane(shipped), plan)) for plan in plans]
    assert expected == list(map(said, await all_of(lane, plans)))


async def test_a_cancelled_row_leaves_and_the_others_never_notice(shipped: Brain, lane: BatchLane) -> None:
    plans = [long_plan(shipped, seed) for seed in range(ROWS)]
    expected = [decode(Lane(shipped), plan) for plan in plans]
    pieces: list[str] = []
    enough = trio.Event()
    kept: dict[int, Generation] = {}

    def hear(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 20:
            enough.set()

    async def keep(number: int) -> None:
        kept[number] = await lane.generate(plans[number])

    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            for number in range(1, ROWS):
                nursery.start_soon(keep, number)
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as doomed:
                    doomed.start_soon(lambda: lane.generate(plans[0], on_token=hear))
                    await enough.wait()
                    scope.cancel()
            assert ROWS - 1 >= len(lane), "it is gone while the others write on"
    assert expected[0].text.startswith("".join(pieces))
    assert [said(expected[number]) for number in range(1, ROWS)] == [said(kept[number]) for number in range(1, ROWS)]


def test_a_cancelled_turn_tells_no_piece_twice(shipped: Brain) -> None:
    plan, cancel, pieces = long_plan(shipped, 0), Cancellation(), []

    def hear(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 20:
            cancel.cancel()

    cut = decode(Lane(shipped), plan, cancel=cancel, on_token=hear)
    assert ("cancelled", "".join(pieces)) == (cut.stop, cut.text)


async def test_cancels_at_random_points_leave_the_rest_as_they_were(shipped: Brain, lane: BatchLane) -> None:
    plans = [long_plan(shipped, seed, count=60) for seed in range(24)]
    expected = [said(decode(Lane(shipped), plan)) for plan in plans]
    rng = np.random.default_rng(11)
    places, whole = trio.CapacityLimiter(ROWS), 0

    async def one(number: int) -> None:
        nonlocal whole
        async with places:
            with trio.move_on_after(rng.uniform(0, 0.1) if number % 3 == 0 else PATIENCE_S):
                assert expected[number] == said(await lane.generate(plans[number]))
                whole += 1

    async with trio.open_nursery() as nursery:
        for number in range(len(plans)):
            nursery.start_soon(one, number)
    assert whole >= 16
    assert 0 == len(lane)


async def test_a_shared_step_that_fails_is_taken_by_each_alone(shipped: Brain, graphs: tuple[RowGraph, ...]) -> None:
    class Broken:
        def run_with_ortvaluevector(self, *_arguments: object) -> None:
            raise RuntimeError("no memory")

    broken = [replace(graph, ort_session=Broken()) for graph in graphs]  # type: ignore[arg-type]
    plans = [long_plan(shipped, seed, count=20) for seed in range(4)]
    expected = [said(decode(Lane(shipped), plan)) for plan in plans]
    assert expected == list(map(said, await all_of(BatchLane(shipped, broken), plans)))


async def test_a_turn_that_fails_fails_alone(shipped: Brain, lane: BatchLane, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenling.runtime.writer import Writer

    write, plans = Writer.write, [long_plan(shipped, seed, count=40) for seed in range(3)]
    expected = [said(decode(Lane(shipped), plan)) for plan in plans]

    def failing(self, logits):  # type: ignore[no-untyped-def]
        if self._plan is plans[1] and len(self.token_ids) == 10:
            raise LaneFailed("logits_not_finite", "logits", "NaN", "finite numbers")
        return write(self, logits)

    monkeypatch.setattr(Writer, "write", failing)
    failures: list[str] = []
    found: dict[int, object] = {}

    async def one(number: int) -> None:
        try:
            found[number] = said(await lane.generate(plans[number]))
        except LaneFailed as failure:
            failures.append(failure.code)

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(one, number)
    assert ["logits_not_finite"] == failures
    assert {0: expected[0], 2: expected[2]} == found


async def test_long_prompts_that_join_never_stop_who_writes(shipped: Brain, graphs: tuple[RowGraph, ...]) -> None:
    """Between any two prompts the first turn goes on by a token: nobody starves."""
    events: list[str] = []

    class Watched(BatchLane):
        def _prefill(self, turn):  # type: ignore[no-untyped-def]
            events.append("prompt")
            return super()._prefill(turn)

        def _step_all(self, turns):  # type: ignore[no-untyped-def]
            events.extend("first" for turn in turns if turn.plan is first)
            return super()._step_all(turns)

    first = long_plan(shipped, 0, count=200)
    lane, begun = Watched(shipped, graphs), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: lane.generate(first, on_token=lambda _piece: begun.set()))
        await begun.wait()
        for seed in range(1, ROWS):
            nursery.start_soon(lane.generate, long_plan(shipped, seed, prompt=600, count=4))
    assert ROWS == events.count("prompt")
    assert all("first" == events[at + 1] for at, event in enumerate(events[:-1]) if event == "prompt")


async def test_a_lane_that_is_full_says_so_and_a_plan_that_cannot_run_costs_nobody(
    shipped: Brain, lane: BatchLane
) -> None:
    async with trio.open_nursery() as nursery:
        for seed in range(ROWS):
            nursery.start_soon(lane.generate, long_plan(shipped, seed))
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(LaneFailed) as failed:
            await lane.generate(long_plan(shipped, 99))
        with pytest.raises(GenerationRefused):
            await lane.generate(replace(long_plan(shipped, 99), prompt_ids=()))
        assert "lane_busy" == failed.value.code


async def test_the_thread_rests_behind_the_last_turn_and_the_next_turn_wakes_it(
    shipped: Brain, lane: BatchLane
) -> None:
    plan = long_plan(shipped, 1, count=5)
    first = said(await lane.generate(plan))
    with trio.fail_after(PATIENCE_S):
        await trio.to_thread.run_sync(lane.join)
    assert (False, 0) == (lane.is_serving, len(lane))
    assert first == said(await lane.generate(plan))


async def test_a_fault_of_the_lane_s_own_ends_its_turns_and_harms_no_later_one(
    shipped: Brain, lane: BatchLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(_turns: object) -> None:
        raise KeyError("a bug")

    plan = long_plan(shipped, 1, count=5)
    with monkeypatch.context() as patched:
        patched.setattr(lane, "_round", faulty)
        with pytest.raises(LaneFailed, match="KeyError") as failed:
            await lane.generate(plan)
    assert "batch_failed" == failed.value.code
    assert said(decode(Lane(shipped), plan)) == said(await lane.generate(plan))


async def test_a_receipt_of_a_batched_turn_proves_it_on_a_lane_of_its_own(
    shipped: Brain, lane: BatchLane, asked: list[GenerationRequest]
) -> None:
    plans = [plan_turn(request, shipped) for request in asked[:ROWS]]
    for request, plan, generation in zip(asked, plans, await all_of(lane, plans), strict=False):
        receipt = make_receipt(plan, generation, shipped, lane, request=request)
        assert "identical" == verify(receipt.owner_json(), shipped).kind


async def test_a_pool_gives_a_turn_to_the_lane_that_has_the_fewest(
    shipped: Brain, graphs: tuple[RowGraph, ...]
) -> None:
    lanes = [BatchLane(shipped, graphs[:1]), BatchLane(shipped, graphs[:1])]
    pool = BatchPool(lanes)
    assert 4 == pool.rows_max
    async with trio.open_nursery() as nursery:
        for seed in range(2):
            nursery.start_soon(pool.generate, long_plan(shipped, seed))
            await trio.testing.wait_all_tasks_blocked()
        assert [1, 1] == [len(lane) for lane in lanes]
