"""Batched decoding against lanes without it: `python -m tools.bench.batching [--numerics exact] [--rounds 5]`.

So many pets, each spoken to again when it has answered, through the host's own router and worker over the shipped
brain, one intra-op thread each. Every way takes its turn in every round, in one process; figures are medians of rounds.
A *lane* writes one turn at a time, a *batched lane* up to `--rows`. Every way must write the same tokens in `exact`.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import trio

from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.engine.request import GenerationRequest
from tokenling.host.executor_queue import Job, Router
from tokenling.host.generator import BrainGenerator
from tokenling.host.ports import Generated, Generator
from tokenling.host.worker import Worker
from tokenling.runtime import BatchLane, BatchPool, Cancellation, Numerics, open_brain, open_lane, open_rows
from tokenling.runtime.rows import RowSteps
from tokenling.runtime.steps import Steps
from tools.bench.lanes import SWITCH_S, requests

if TYPE_CHECKING:
    import onnxruntime

PETS = (1, 2, 4, 8, 16)
TURNS_EACH = 4
CACHED, STEPS = 100, 40


@dataclass(frozen=True, slots=True)
class Figures:
    """One way with so many pets: turns and tokens in a second, and what a turn took, waiting included."""

    turns_per_s: float
    tokens_per_s: float
    median_ms: float


async def crowd(generators: Sequence[Generator], asked: Sequence[Sequence[GenerationRequest]]) -> Figures:
    """Every pet's requests one after the other, all pets at once."""
    router = Router([("cpu", "cpu", len(generators))])
    worker, took_s, written = Worker("cpu", generators, router), [], 0

    async def pet(number: int) -> None:
        nonlocal written
        for turn, request in enumerate(asked[number]):
            began_s = trio.current_time()
            job = Job(f"pet {number}", f"turn {turn}", "reactive", request, began_s)
            router.put(job)
            outcome = await job.outcome()
            assert isinstance(outcome, Generated), outcome
            written += json.loads(outcome.receipt)["outputTokens"]
            took_s.append(trio.current_time() - began_s)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run)
        began_s = time.perf_counter()
        async with trio.open_nursery() as pets:
            for number in range(len(asked)):
                pets.start_soon(pet, number)
        whole_s = time.perf_counter() - began_s
        nursery.cancel_scope.cancel()
    return Figures(len(took_s) / whole_s, written / whole_s, statistics.median(took_s) * 1000)


def ways_of(numerics: Numerics, rows: int) -> Mapping[str, Callable[[], Sequence[Generator]]]:
    """Name to lanes, made anew for each crowd, over brains that are opened as the host opens them."""
    brains = {count: open_brain(shipped_brain_dir(), numerics=numerics, threads=1, lanes=count) for count in (1, 2)}
    graphs = {count: open_rows(brain, shipped_brain_dir(), rows) for count, brain in brains.items()}

    def lanes(count: int) -> Sequence[Generator]:
        return [BrainGenerator(brains[count], open_lane(brains[count])) for _ in range(count)]

    def batched(count: int) -> Sequence[Generator]:
        pool = BatchPool([BatchLane(brains[count], graphs[count]) for _ in range(count)])
        return [BrainGenerator(brains[count], pool)] * pool.rows_max

    return {
        "1 lane": lambda: lanes(1),
        "2 lanes": lambda: lanes(2),
        f"1 batched, {rows} rows": lambda: batched(1),
        f"2 batched, {rows} rows": lambda: batched(2),
    }


def measure(numerics: Numerics, rows: int, rounds: int, pets: Sequence[int]) -> list[dict[str, object]]:
    """A line for each way and number of pets."""
    asked = requests(max(pets) * TURNS_EACH, SHIPPED_BRAIN)
    ways = ways_of(numerics, rows)
    lines: list[dict[str, object]] = []
    for count in pets:
        shares = [asked[number::count][:TURNS_EACH] for number in range(count)]
        found: dict[str, list[Figures]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, generators in ways.items():
                found[name].append(trio.run(crowd, generators(), shares))
        for name, figures in found.items():
            lines.append(
                {"numerics": numerics, "pets": count, "way": name}
                | {
                    field: round(statistics.median(getattr(one, field) for one in figures), 1)
                    for field in ("turns_per_s", "tokens_per_s", "median_ms")
                }
            )
    return lines


def step_costs(numerics: Numerics, rows: int) -> list[dict[str, object]]:
    """The least milliseconds of a step, behind 100 tokens: so many sequences one by one, and together in each graph."""
    brain = open_brain(shipped_brain_dir(), numerics=numerics, threads=1)
    lines: list[dict[str, object]] = []
    for graph in open_rows(brain, shipped_brain_dir(), rows):
        together = RowSteps(brain, graph)
        for count in sorted({graph.rows // 2, graph.rows * 3 // 4, graph.rows}):
            sequences = [Steps(brain, CACHED + 2 * STEPS, Cancellation()) for _ in range(count)]
            for sequence in sequences:
                sequence.prefill([7] * CACHED, 0)
            alone_ms, together_ms = [], []
            for _ in range(STEPS):
                began = time.perf_counter()
                for sequence in sequences:
                    sequence.step((5,))
                middle = time.perf_counter()
                together.step(sequences, [5] * count)
                alone_ms.append((middle - began) * 1000)
                together_ms.append((time.perf_counter() - middle) * 1000)
            figures = {"alone_ms": round(min(alone_ms), 3), "together_ms": round(min(together_ms), 3)}
            lines.append({"numerics": numerics, "sequences": count, "graph_rows": graph.rows, **figures})
    return lines


def padded() -> dict[str, object]:
    """What padding would change: one token's attention over caches of many lengths, and over the same padded to the
    next whole 64 and masked. How many lengths give other bits, and by how much at most."""
    plain, masked = _attention(masks=False), _attention(masks=True)
    rng = np.random.default_rng(0)
    lengths, parted, greatest = (*range(1, 200), 333, 400, 700), 0, 0.0
    for length in lengths:
        query = rng.normal(size=(1, 6, 1, 32)).astype(np.float32)
        key, value = rng.normal(size=(2, 1, 2, length, 32)).astype(np.float32)
        room = (length // 64 + 1) * 64
        wide = [np.pad(part, ((0, 0), (0, 0), (0, room - length), (0, 0))) for part in (key, value)]
        mask = np.where(np.arange(room) < length, 0, -np.inf).astype(np.float32)[None]
        [expected] = plain.run(None, {"q": query, "k": key, "v": value})
        [found] = masked.run(None, {"q": query, "k": wide[0], "v": wide[1], "m": mask})
        parted += not np.array_equal(expected, found)
        greatest = max(greatest, float(np.abs(expected - found).max()))
    return {"lengths": len(lengths), "with_other_bits": parted, "greatest": greatest}


def _attention(*, masks: bool) -> "onnxruntime.InferenceSession":
    """The standard operator with the shipped brain's heads."""
    import onnxruntime
    from onnx import TensorProto, helper

    axes = {"q": [1, 6, 1, 32], "k": [1, 2, "n", 32], "v": [1, 2, "n", 32]} | ({"m": [1, "n"]} if masks else {})
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, extent) for name, extent in axes.items()]
    node = helper.make_node("Attention", list(axes), ["y"], scale=32**-0.5)
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "attention", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Batched decoding against lanes without it.")
    parser.add_argument("--numerics", choices=("exact", "fast", "both"), default="both")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pets", type=lambda text: [int(part) for part in text.split(",")], default=list(PETS))
    parser.add_argument("--steps", action="store_true", help="what a step costs, nothing else")
    parser.add_argument("--padded", action="store_true", help="what padding and masking would change, nothing else")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.padded:
        print(json.dumps(padded()))
        return
    sys.setswitchinterval(SWITCH_S)
    print(f"cores {len(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    both: tuple[Numerics, ...] = ("exact", "fast")
    for numerics in both if chosen.numerics == "both" else (chosen.numerics,):
        steps = step_costs(numerics, chosen.rows) if chosen.steps else None
        for line in steps or measure(numerics, chosen.rows, chosen.rounds, chosen.pets):
            shown = "  ".join(f"{value:>18}" if isinstance(value, str) else f"{value:8}" for value in line.values())
            print(json.dumps(line) if chosen.json else shown, flush=True)


if __name__ == "__main__":
    main()
