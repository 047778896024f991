"""A burst of reactive turns over one lane and over more: `python -m tools.bench.lanes [--lanes 2] [--turns 16]`.

The host's own router and worker over the shipped brain, one intra-op thread a lane, one ONNX Runtime session for all
lanes, opened as the host opens it for so many. Rounds of one lane and of more take turns in one process; each figure is
the median, the least beside it: what else the machine does can only add. Exits with 1 when more lanes take over 65 % of
the time of one.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection

import trio

from tokenling import engine
from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.engine.request import GenerationRequest
from tokenling.host.executor_queue import Job, Router
from tokenling.host.generator import BrainGenerator
from tokenling.host.ports import Generated
from tokenling.host.worker import Worker
from tokenling.runtime import Brain, Numerics, decode, open_brain, open_lane, plan_turn

SHARE_MAX = 0.65
SWITCH_S = 0.0005
"""Python's switch interval, as the host sets it."""
LINES = (
    "good morning, little one",
    "are you hungry?",
    "what is the weather like?",
    "do you remember the kite?",
    "I had a long day and I am glad to see you",
    "shall we play?",
)
START_MS = 1_781_172_000_000
DAY_MS = 86_400_000


def requests(count: int, brain_id: str) -> list[GenerationRequest]:
    """What pets of different seeds are asked when their owners say something."""
    found = []
    for number in range(count):
        state = engine.new_pet(
            pet_seed=f"lane{number}", name="Pip", time_zone="Etc/UTC", brain_id=brain_id, weather_seed="",
            now_ms=START_MS,
        )  # fmt: skip
        state = engine.apply_command(state, engine.Settings(chatter=0), START_MS).state
        while (step := engine.advance(state, START_MS + 2 * DAY_MS)).turn is not None:
            state = engine.skip_turn(step.state, step.turn, "stopped").state
        said = engine.apply_command(step.state, engine.Say(LINES[number % len(LINES)]), START_MS + 2 * DAY_MS)
        turn = engine.pending_turn(said.state)
        assert turn is not None
        found.append(engine.build_request(said.state, turn))
    return found


async def burst(brain: Brain, lanes: int, asked: Sequence[GenerationRequest]) -> float:
    """Seconds from the first turn that is put to the last that is done."""
    opened = [open_lane(brain) for _ in range(lanes)]
    for lane in opened:
        lane.warm_up()
    router = Router([("cpu", "cpu", lanes)])
    worker = Worker("cpu", [BrainGenerator(brain, lane) for lane in opened], router)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run)
        began = trio.current_time()
        jobs = [Job(f"pet {n}", f"turn {n}", "reactive", request, began) for n, request in enumerate(asked)]
        for job in jobs:
            router.put(job)
        for job in jobs:
            outcome = await job.outcome()
            assert isinstance(outcome, Generated), outcome
        took_s = trio.current_time() - began
        nursery.cancel_scope.cancel()
    return took_s


class Processes:
    """As many processes as there are lanes, each with a share of the turns: what the cores give without an interpreter,
    a router and an ORT session in common."""

    def __init__(self, count: int, numerics: Numerics, turns: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection[bool, float]] = []
        for number in range(count):
            ours: Connection[bool, float]
            theirs: Connection[float, bool]
            ours, theirs = context.Pipe()
            context.Process(target=_share, args=(theirs, numerics, turns, number, count), daemon=True).start()
            self._pipes.append(ours)
        self.burst_s()  # until all have opened their brain

    def burst_s(self) -> float:
        """Seconds until the last has written its share."""
        for pipe in self._pipes:
            pipe.send(True)
        return max(pipe.recv() for pipe in self._pipes)

    def close(self) -> None:
        """They end."""
        for pipe in self._pipes:
            pipe.send(False)


def _share(pipe: "Connection[float, bool]", numerics: Numerics, turns: int, number: int, count: int) -> None:
    brain = open_brain(shipped_brain_dir(), numerics=numerics, threads=1)
    lane, plans = open_lane(brain), [plan_turn(one, brain) for one in requests(turns, brain.id)[number::count]]
    while pipe.recv():
        began = time.perf_counter()
        for plan in plans:
            decode(lane, plan)
        pipe.send(time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description="A burst over one lane and over more.")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--turns", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--numerics", choices=("exact", "fast"), default="exact")
    parser.add_argument("--processes", action="store_true", help="beside them, one process and as many as lanes")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    sys.setswitchinterval(SWITCH_S)
    more = chosen.lanes
    brains = {
        lanes: open_brain(shipped_brain_dir(), numerics=chosen.numerics, threads=1, lanes=lanes) for lanes in (1, more)
    }
    asked = requests(chosen.turns, brains[1].id)
    apart = {n: Processes(n, chosen.numerics, chosen.turns) for n in (1, more)} if chosen.processes else {}
    times: dict[int, list[float]] = {1: [], more: []}
    alone: dict[int, list[float]] = {1: [], more: []}
    for _ in range(chosen.rounds):
        for lanes, found in times.items():
            found.append(trio.run(burst, brains[lanes], lanes, asked))
        for count, processes in apart.items():
            alone[count].append(processes.burst_s())
    share = statistics.median(b / a for a, b in zip(times[1], times[more], strict=True))
    figures = {
        "turns": chosen.turns, "rounds": chosen.rounds, "cores": len(os.sched_getaffinity(0)), "brain": brains[1].id,
        "numerics": chosen.numerics, "one_lane_s": round(statistics.median(times[1]), 3),
        f"{more}_lanes_s": round(statistics.median(times[more]), 3), "share": round(share, 3),
        "least_share": round(min(times[more]) / min(times[1]), 3), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    for processes in apart.values():
        processes.close()
    if apart:
        figures["processes_least_share"] = round(min(alone[more]) / min(alone[1]), 3)
    if chosen.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:22} {value}" for name, value in figures.items()))
    sys.exit(share > SHARE_MAX)


if __name__ == "__main__":
    main()
