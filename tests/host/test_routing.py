"""The router's rules, each with numbers worked out by hand and failing without its rule. Seconds everywhere."""

import pytest

from tokenling.engine.request import GenerationRequest
from tokenling.host.routing import (
    BAND_BORDERS_TOKENS,
    PROMPT_BYTES_COUNTED_MAX,
    Cell,
    Estimates,
    Place,
    Running,
    Shape,
    Waiting,
    WorkerView,
    band_of,
    next_for,
    plan,
    queue_order,
    shape_of,
)

SAY, IDLE, DIARY = Shape("reactive", 0), Shape("idle", 0), Shape("diary", 0)
LONG_SAY, LONG_IDLE = Shape("reactive", 2), Shape("idle", 2)


def estimates(**cells: float) -> Estimates:
    """One sample each: `say=2.0`."""
    names = {"say": SAY, "idle": IDLE, "diary": DIARY, "long_say": LONG_SAY, "long_idle": LONG_IDLE}
    found = Estimates()
    for name, mean_s in cells.items():
        found = found.with_sample(names[name], mean_s)
    return found


def cpu(*running: Running, lanes: int = 1, **cells: float) -> WorkerView:
    return WorkerView("cpu", "cpu", lanes, running, estimates(**cells))


def gpu(*running: Running, **cells: float) -> WorkerView:
    return WorkerView("cuda", "cuda", 1, running, estimates(**cells))


def says(count: int) -> list[Waiting]:
    return [Waiting(SAY, 0.0)] * count


def goes(workers, waiting, now_s=0.0) -> list[tuple[str, bool] | None]:
    found = plan(workers, waiting, now_s)
    return [None if found[index] is None else (found[index].worker, found[index].now) for index in range(len(waiting))]


# --- shapes and estimates -----------------------------------------------------------------------------------------


def request(header="", lines=(), prefix="Pip:") -> GenerationRequest:
    return GenerationRequest(header, tuple(lines), prefix, "line", (), {}, 40, 40, 850, 920, 1024, 1)


@pytest.mark.parametrize(("tokens", "band"), [(0, 0), (96, 0), (97, 1), (256, 1), (257, 2), (10_000, 2)])
def test_a_border_belongs_to_the_band_below_it(tokens, band):
    assert BAND_BORDERS_TOKENS == (96, 256)
    assert band == band_of(tokens)


def test_a_prompt_s_band_comes_from_its_bytes_divided_by_four():
    # header 300 + 1, prefix 4 + 1, one line of 100 three-byte characters 300 + 1: 607 bytes, 151 tokens
    assert Shape("idle", 1) == shape_of("idle", request("h" * 300, ["雨" * 100]))
    assert Shape("idle", 0) == shape_of("idle", request("h" * 300))


def test_counting_a_huge_prompt_stops_early():
    class Counted(str):
        seen = 0

        def __getitem__(self, part):
            Counted.seen += 1
            return super().__getitem__(part)

    lines = [Counted("x" * 10_000) for _ in range(500)]
    assert Shape("reactive", 2) == shape_of("reactive", request("h", lines))
    assert Counted.seen == 1
    assert PROMPT_BYTES_COUNTED_MAX == 1025


def test_the_first_five_are_a_plain_mean_and_later_ones_weigh_a_fifth():
    cell = Cell(0, 0.0)
    for took_s in (10.0, 2.0, 2.0, 2.0, 4.0):
        cell = cell.with_sample(took_s)
    assert Cell(5, 4.0) == cell, "an exponential mean from the start would stand at 6.6"
    assert pytest.approx(4.0 + 0.2 * (9.0 - 4.0)) == cell.with_sample(9.0).mean_s


def test_nine_cells_are_all_there_is():
    found = Estimates()
    for kind in ("reactive", "idle", "diary"):
        for tokens in range(0, 600, 7):
            found = found.with_sample(Shape(kind, band_of(tokens)), 1.0)
    assert len(found.cells) == 9


def test_an_unseen_shape_takes_the_least_favourable_ratio_of_shared_shapes():
    seen = estimates(say=8.0, idle=6.0, long_say=20.0)
    other = estimates(say=2.0, idle=3.0)
    # ratios of the other to the seen: 2/8 = 0.25 and 3/6 = 0.5; the worse is 0.5
    assert other.expected_s(LONG_SAY, [seen]) == pytest.approx(10.0)
    assert seen.expected_s(LONG_SAY, [other]) == 20.0
    assert other.expected_s(DIARY, [seen]) is None
    assert estimates(diary=1.0).expected_s(SAY, [seen]) is None, "no shape is shared"


# --- before there are estimates -----------------------------------------------------------------------------------


def test_without_estimates_cuda_takes_what_owners_did_and_the_cpu_the_background():
    assert goes([cpu(), gpu()], [Waiting(SAY, 0.0), Waiting(IDLE, 0.0)]) == [("cuda", True), ("cpu", True)]


def test_without_estimates_an_idle_lane_takes_what_would_wait_for_its_own_kind():
    assert goes([cpu(), gpu()], says(3)) == [("cuda", True), ("cpu", True), ("cuda", False)]


def test_an_unseen_shape_keeps_its_affinity_without_a_shared_one():
    # the CPU has run this shape, cuda another: nothing relates the two, so cuda keeps what owners did
    assert goes([cpu(say=1.0), gpu(idle=9.0)], says(1)) == [("cuda", True)]


def test_a_running_turn_without_an_estimate_has_an_unknown_end():
    busy = gpu(Running(DIARY, 0.0), say=1.0)
    # were the end taken for now, the turn would wait for cuda (1 s against 5 s)
    assert goes([cpu(say=5.0), busy], says(1)) == [("cpu", True)]


# --- with estimates -----------------------------------------------------------------------------------------------


def test_an_idle_cpu_waits_for_a_gpu_that_will_be_done_sooner():
    # cuda: 0.5 s left + 1 s = 1.5 s; the CPU alone would need 4 s
    workers = [cpu(say=4.0), gpu(Running(SAY, 0.0), say=1.0)]
    assert goes(workers, says(1), now_s=0.5) == [("cuda", False)]
    assert next_for("cpu", workers, says(1), 0.5) is None


def test_a_longer_queue_uses_both():
    # cuda ends at 1.5, 2.5, 3.5, 4.5; the fourth is done by the idle CPU at 4.0 (handicapped 4.44 < 4.5)
    workers = [cpu(say=4.0), gpu(Running(SAY, 0.0), say=1.0)]
    assert goes(workers, says(4), now_s=0.5) == [
        ("cuda", False), ("cuda", False), ("cuda", False), ("cpu", True)
    ]  # fmt: skip
    assert next_for("cpu", workers, says(4), 0.5) == 3


@pytest.mark.parametrize(("cpu_s", "worker"), [(1.81, "cuda"), (1.79, "cpu")])
def test_the_cpu_must_win_by_a_tenth(cpu_s, worker):
    # cuda will have done it in 2 s: the CPU needs less than 1.8 s
    assert goes([cpu(say=cpu_s), gpu(say=2.0)], says(1)) == [(worker, True)]


def test_an_unseen_gpu_shape_waits_for_a_clearly_faster_gpu():
    # cuda is at most 1/4 of the CPU on what both have run: a long idle turn costs it 2.5 s, and it is free in 0.5 s
    workers = [cpu(say=4.0, long_idle=10.0), gpu(Running(SAY, 0.0), say=1.0)]
    assert goes(workers, [Waiting(LONG_IDLE, 0.0)], now_s=0.5) == [("cuda", False)]


def test_a_prediction_covers_every_lane_of_a_worker():
    # two lanes, free in 2 s and now: turns end at 3, then 2 + 3 = 5, then 3 + 3 = 6; cuda would end at 4.5, 9, …
    workers = [cpu(Running(SAY, -1.0), lanes=2, say=3.0), gpu(say=4.5)]
    assert goes(workers, says(3)) == [("cpu", True), ("cuda", True), ("cpu", False)]


def test_work_that_runs_counts_in_the_prediction():
    idle, busy = cpu(say=3.0), cpu(Running(LONG_SAY, 0.0), say=3.0, long_say=9.0)
    assert goes([idle, gpu(say=5.0)], says(1)) == [("cpu", True)]
    assert goes([busy, gpu(say=5.0)], says(1)) == [("cuda", True)]


def test_a_stuck_run_does_not_hold_back_what_another_could_do():
    stuck = [cpu(say=4.0), gpu(Running(SAY, 0.0), say=1.0)]
    assert goes(stuck, says(1), now_s=1.9) == [("cuda", False)], "late, and any moment done"
    assert goes(stuck, says(1), now_s=2.1) == [("cpu", True)], "twice its time: nobody knows"


def test_one_worker_alone_takes_all():
    assert goes([cpu(lanes=2)], [Waiting(IDLE, 0.0), Waiting(SAY, 0.0), Waiting(DIARY, 0.0)]) == [
        ("cpu", True), ("cpu", True), ("cpu", False)
    ]  # fmt: skip


def test_a_turn_never_goes_back_to_the_worker_that_lost_it():
    lost = Waiting(SAY, 0.0, barred=frozenset({"cuda"}))
    assert goes([cpu(say=9.0), gpu(say=1.0)], [lost]) == [("cpu", True)]
    assert goes([gpu(say=1.0)], [lost]) == [None]


# --- the order ----------------------------------------------------------------------------------------------------


def test_what_owners_did_goes_first_then_first_come_first_served():
    waiting = [Waiting(IDLE, 2.0), Waiting(DIARY, 1.0), Waiting(SAY, 3.0), Waiting(LONG_SAY, 3.0)]
    assert [2, 3, 1, 0] == queue_order(waiting, now_s=4.0)


def test_background_work_goes_ahead_after_thirty_seconds_and_not_before():
    waiting = [Waiting(SAY, 29.0), Waiting(IDLE, 0.5), Waiting(IDLE, 0.0)]
    assert [0, 2, 1] == queue_order(waiting, now_s=29.9)
    assert [2, 0, 1] == queue_order(waiting, now_s=30.0)
    assert [2, 1, 0] == queue_order(waiting, now_s=30.5)


def test_a_lane_takes_the_first_turn_in_order_that_is_its_own():
    workers = [cpu(), gpu()]
    waiting = [Waiting(IDLE, 0.0), Waiting(SAY, 1.0)]
    assert (next_for("cuda", workers, waiting, 2.0), next_for("cpu", workers, waiting, 2.0)) == (1, 0)


def test_looking_for_a_turn_agrees_with_the_whole_plan():
    """`next_for` stops early; it must not stop too early."""
    workers = [cpu(Running(SAY, 0.0), lanes=3, say=2.0, idle=3.0), gpu(say=1.0)]
    waiting = [Waiting(shape, float(at)) for at, shape in enumerate([IDLE, SAY, DIARY, SAY, IDLE, LONG_SAY])]
    found = plan(workers, waiting, 6.0)
    for name in ("cpu", "cuda"):
        mine = [index for index in queue_order(waiting, 6.0) if found[index] == Place(name, True)]
        assert (mine[0] if mine else None) == next_for(name, workers, waiting, 6.0)
