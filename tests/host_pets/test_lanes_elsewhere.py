"""A brain in a process of its own, under the pets' service: what becomes of turns when the process is not well."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import structlog
import trio

from host_pets.house import House, Owner, chat_of, new_save, open_house
from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.cli.brain_launch import launch
from tokenling.cli.preview import preview_settings
from tokenling.engine.request import GenerationRequest
from tokenling.host import brain_process
from tokenling.host.brain_process import PROCESS_ENDED, BrainProcess, Launched
from tokenling.host.brain_wire import Unpacker, facts_in, first_frame
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.ports import Generator, Gpu, LaneBroke, TurnRefused
from tokenling.runtime import open_brain, verify

TESTS = Path(__file__).parents[1]
REQUEST = GenerationRequest("You are Pip.", ("Owner: hello",), "Pip:", "line", (), {}, 8, 40, 850, 920, 512, 7)
PATIENCE_S = 60.0


def odd(how: str, mark: Path) -> Launched:
    """A real process with `odd_brain.py`."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, str(TESTS / "host_pets" / "odd_brain.py"), str(theirs.fileno()), how, str(mark)],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))},
        )
    unpacker = Unpacker()
    return Launched(process, ours, unpacker, facts_in(first_frame(ours, unpacker).head))


@asynccontextmanager
async def served(how: str, tmp_path: Path, then: str = "") -> AsyncIterator[BrainProcess]:
    """A process that is odd in the way `how`, and each later one in the way `then`."""
    process = BrainProcess(lambda *, again_s: odd(how if again_s is None else then or how, tmp_path / "mark"))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(process.serve)
            yield process
            nursery.cancel_scope.cancel()


def lane_of(process: BrainProcess) -> Generator:
    return process.generators()[0][0]


async def moved_in(house: House, number: int) -> Owner:
    save = new_save(house.wall, seed=f"otter-{number}", brain_id=SHIPPED_BRAIN, chatter=0)
    return await Owner(house).move_in(save)


async def test_owners_who_talk_at_once_to_batching_lanes_are_answered_as_by_a_brain_in_the_host(tmp_path: Path) -> None:
    brain, settings = open_brain(shipped_brain_dir()), preview_settings(0, tmp_path)
    process = BrainProcess(partial(launch, replace(settings, cpu_lanes=2, batch_rows=2)))
    async with trio.open_nursery() as nursery:
        await nursery.start(process.serve)
        lanes, _ = process.generators()
        assert 2 * 2 == len(lanes)
        async with open_house(tmp_path, generators=lanes) as house:
            owners = [await moved_in(house, number) for number in range(6)]
            async with trio.open_nursery() as talking:
                for owner in owners:
                    talking.start_soon(owner.say, "are you hungry?")
            await house.settle()
            for owner in owners:
                assert 1 == len(chat_of(await owner.see(), "pet"))
                assert ["identical"] == [verify(json.dumps(r).encode(), brain).kind for r in await owner.receipts()]
        nursery.cancel_scope.cancel()


async def test_a_gpu_that_fails_over_there_gives_its_turn_to_the_cpu_once_and_is_given_up(tmp_path: Path) -> None:
    async with served("gpu", tmp_path) as process:
        cpu, gpu = process.generators()
        async with open_house(tmp_path, generators=cpu, gpu=Gpu(gpu)) as house:
            owner = await moved_in(house, 1)
            await owner.say("hello")
            await house.settle()
            assert 1 == len(chat_of(await owner.see(), "pet"))
            workers = {worker.name: worker for worker in house.pets.health().workers}
        assert ("CUDAExecutionProvider", "disabled", 1) == (
            workers["cuda"].provider, workers["cuda"].state, workers["cuda"].turns.lost
        )  # fmt: skip
        assert (1, 0) == (workers["cpu"].turns.whole, process.restarts)


async def test_a_gpu_that_ends_the_process_is_given_up_and_the_cpu_of_the_next_process_answers_once(
    tmp_path: Path,
) -> None:
    async with served("gpu dies", tmp_path, then="well") as process:
        cpu, gpu = process.generators()
        async with open_house(tmp_path, generators=cpu, gpu=Gpu(gpu)) as house:
            owner = await moved_in(house, 1)
            await owner.say("hello")
            await house.settle()
            assert 1 == len(chat_of(await owner.see(), "pet"))
            states = {worker.name: worker.state for worker in house.pets.health().workers}
        assert ({"cpu": "ready", "cuda": "disabled"}, 1) == (states, process.restarts)


def test_a_process_that_cannot_be_started_is_a_refusal_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-such-python"))
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(HostRefused) as refused:
        launch(preview_settings(0, tmp_path), again_s=None)
    assert ExitCode.CRASHED == refused.value.exit_code
    assert "did not start: No such file or directory" in refused.value.lines[0]
    assert open_before == len(list(Path("/proc/self/fd").iterdir()))


def child_that_appears() -> int:
    """The next process that this one starts."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for task in Path("/proc/self/task").iterdir():
            for child in (task / "children").read_text().split():
                if "brain_child" in Path(f"/proc/{child}/cmdline").read_text():
                    return int(child)
    raise AssertionError("no process was started")


@pytest.mark.parametrize(
    ("number", "again_s", "told"),
    [(signal.SIGKILL, None, "its process ended with SIGKILL"), (signal.SIGSTOP, 2.0, "was not ready after 2 s")],
)
def test_a_process_that_dies_or_hangs_while_it_starts_says_nothing_against_the_brain(
    tmp_path: Path, number: signal.Signals, again_s: float | None, told: str
) -> None:
    stopper = threading.Thread(target=lambda: os.kill(child_that_appears(), number))
    stopper.start()
    with pytest.raises(HostRefused) as refused:
        launch(preview_settings(0, tmp_path), again_s=again_s)
    stopper.join()
    assert (ExitCode.CRASHED, True) == (refused.value.exit_code, told in refused.value.lines[0])


async def test_a_start_that_the_machine_refuses_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brain_process, "RESTART_FIRST_S", 0.01)
    failures: list[Exception] = [OSError(24, "too many"), RuntimeError("no thread"), HostRefused(ExitCode.BRAIN, "why")]

    def start(*, again_s: float | None) -> Launched:
        if again_s is not None and failures:
            raise failures.pop(0)
        return odd("once", tmp_path / "mark")

    process = BrainProcess(start)
    with structlog.testing.capture_logs() as logs, trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(process.serve)
            assert (await lane_of(process).generate(REQUEST, turn_id="turn")).reply.text
            nursery.cancel_scope.cancel()
    assert ["OSError", "RuntimeError", "why"] == [log["reason"] for log in logs if "did not start" in log["event"]]
    assert 4 == process.restarts


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"files": ("model.onnx 00",)}, ExitCode.BRAIN),
        ({"prompt_version": 99}, ExitCode.BRAIN),
        ({"features": ("wings",)}, ExitCode.BRAIN),
        ({"version": "99.0"}, ExitCode.CRASHED),
    ],
)
async def test_a_process_that_came_back_as_another_ends_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], code: ExitCode
) -> None:
    monkeypatch.setattr(brain_process, "RESTART_FIRST_S", 0.01)

    def start(*, again_s: float | None) -> Launched:
        launched = odd("dies" if again_s is None else "well", tmp_path / "mark")
        return launched if again_s is None else replace(launched, facts=replace(launched.facts, **change))

    process = BrainProcess(start)
    with pytest.RaisesGroup(pytest.RaisesExc(HostRefused, check=lambda refused: refused.exit_code == code)):
        async with trio.open_nursery() as nursery:
            await nursery.start(process.serve)
            nursery.start_soon(partial(lane_of(process).generate, REQUEST, turn_id="turn"))


async def test_a_process_that_came_back_with_another_number_of_lanes_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brain_process, "RESTART_FIRST_S", 0.01)
    starts = iter(range(10))

    def start(*, again_s: float | None) -> Launched:
        launched, number = odd("once", tmp_path / "mark"), next(starts)
        lanes = launched.facts.cpu * (1, 0, 2, 1)[number]
        return replace(launched, facts=replace(launched.facts, cpu=lanes))

    process = BrainProcess(start)
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(process.serve)
            assert (await lane_of(process).generate(REQUEST, turn_id="turn")).reply.text
            nursery.cancel_scope.cancel()
    assert 3 == process.restarts


@pytest.mark.parametrize("how", ["dies", "nonsense", "no answer"])
async def test_a_turn_that_ends_its_process_each_time_fails_after_two_and_the_next_process_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(brain_process, "RESTART_FIRST_S", 0.01)
    with structlog.testing.capture_logs() as logs:
        async with served(how, tmp_path) as process:
            with pytest.raises(LaneBroke) as broke:
                await lane_of(process).generate(REQUEST, turn_id="turn")
            assert PROCESS_ENDED == broke.value.reason
            while process.restarts < 2 or not process.is_up:
                await process.changed()
    assert 2 == [log["event"] for log in logs].count("the brain's process ended and is started again")


async def test_a_turn_whose_process_ended_once_is_answered_by_the_next(tmp_path: Path) -> None:
    async with served("once", tmp_path) as process:
        generated = await lane_of(process).generate(REQUEST, turn_id="turn")
        assert ("identical", 1) == (verify(generated.receipt, open_brain(shipped_brain_dir())).kind, process.restarts)


async def test_what_the_lane_refuses_over_there_is_refused_here(tmp_path: Path) -> None:
    async with served("well", tmp_path) as process:
        with pytest.raises(TurnRefused) as refused:
            await lane_of(process).generate(replace(REQUEST, header="word " * 600), turn_id="turn")
        assert "does_not_fit" == refused.value.code
        with pytest.raises(TurnRefused):
            await lane_of(process).generate(replace(REQUEST, max_new=0), turn_id="turn")
        assert (await lane_of(process).generate(REQUEST, turn_id="turn")).reply.text
        assert 0 == process.restarts


async def test_a_cancelled_turn_returns_when_the_lane_is_free_and_its_answer_goes_to_nobody(tmp_path: Path) -> None:
    async with served("well", tmp_path) as process:
        lane = lane_of(process)
        for after_s in (0.0, 0.001, 0.005, 0.01, 0.02):
            with trio.move_on_after(after_s):
                await lane.generate(REQUEST, turn_id="turn")
        assert (await lane.generate(REQUEST, turn_id="turn")).reply.text
        assert 0 == process.restarts


async def test_a_turn_that_is_called_off_while_there_is_no_process_ends_at_once(tmp_path: Path) -> None:
    async with served("well", tmp_path) as process:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        await process.changed()
        with trio.move_on_after(0.01) as scope:
            await lane_of(process).generate(REQUEST, turn_id="turn")
        assert scope.cancelled_caught
        await process.changed()
        assert (await lane_of(process).generate(REQUEST, turn_id="turn")).reply.text


async def test_a_process_that_was_never_served_is_ended_by_close(tmp_path: Path) -> None:
    process = BrainProcess(lambda *, again_s: odd("well", tmp_path / "mark"))
    first = process._first
    assert first is not None
    await trio.to_thread.run_sync(process.close)
    assert first.process.returncode is not None
    process.close()  # a second time is harmless


async def test_another_brain_after_a_restart_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brain_process, "RESTART_FIRST_S", 0.01)
    with pytest.RaisesGroup(HostRefused, flatten_subgroups=True):
        async with served("other", tmp_path) as process:
            with pytest.raises(LaneBroke):
                await lane_of(process).generate(REQUEST, turn_id="turn")
            await trio.sleep_forever()
