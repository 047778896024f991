"""What a decoded token costs: the lane against plain loops on the same graph, interleaved.

    python -m tools.bench.decode --brain DIR [--dtype q4] [--numerics exact] [--threads 1] [--prompt 400] [--tokens 64]

- *plain loop*: what one writes first. `session.run` on an ORT session with ONNX Runtime's own defaults (the numerics
  and the thread count apart), feeds and caches as NumPy arrays, the rules of docs/sampling.md spelled out in NumPy.
- *plain loop, the lane's sampler*: the same with `choose`, so that what is left is session options and feeding.
- *lane*, and *lane with tag masks*, which writes other tokens.

The lane runs its rewriting of the graph, the plain loops the graph as it is stored.

All run in one process with the same prompt and seed, and the first three must write the same tokens. A round's step is
the median of its steps by the wall clock: on a busy machine some steps lose their core, and the median is one that did
not. Each figure is the best of the rounds and their median. A prefill is the thread's own processor time (the wall's
with more threads).
"""

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnxruntime

from tokenling.runtime import Brain, DecodePlan, Lane, Sampling, decode, open_brain, open_lane
from tokenling.runtime.brain import GRAPH_FILES
from tokenling.runtime.exp2_table import EXP2_TABLE
from tokenling.runtime.sampling import D_MAX, LOG2E_Q30, choose, draw64

Clock: TypeAlias = Callable[[], float]
Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Row: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]
Feeds: TypeAlias = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]
Step: TypeAlias = Callable[[Feeds, list[Array]], tuple[Array, list[Array]]]

Sampler: TypeAlias = Callable[[Row, Sampling, int], int]

PLAIN, PLAIN_OURS, LANE, MASKED = "plain loop", "plain loop, the lane's sampler", "lane", "lane with tag masks"
TABLE = np.asarray(EXP2_TABLE, dtype=np.int64)

PROMPT = "The pet sat by the window and watched the rain. Owner: how are you today?\nPet:"
TAGS = ("[eat]", "[nap]", "[play]", "[happy]", "[sleepy]", "[go garden]", "[go pond]", "[remember …]", "[look weather]")


@dataclass(frozen=True, slots=True)
class Times:
    """One generation's times in milliseconds; `outside_ms` is what a step spends outside of ONNX Runtime."""

    first_ms: float
    step_ms: float
    outside_ms: float
    token_ids: tuple[int, ...]


class Runs:
    """When each run of an ORT session began and ended. A whole step lies between the beginnings of two."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock()
        self._first = 0.0
        self._spans: list[tuple[float, float]] = []

    def add(self, began: float) -> None:
        """A run that began at `began` has ended."""
        self._spans.append((began, time.perf_counter()))
        if len(self._spans) == 1:
            self._first = self._clock() - self._started

    def times(self, ids: tuple[int, ...]) -> Times:
        """Of the steps behind the prefill, the medians; the last one's end is not seen, so it is left out."""
        steps = list(itertools.pairwise(self._spans[1:]))
        whole = statistics.median(after[0] - span[0] for span, after in steps)
        outside = statistics.median(after[0] - span[1] for span, after in steps)
        return Times(self._first * 1000, whole * 1000, outside * 1000, ids)


class TimedLane:
    """A lane as a host keeps it, from turn to turn, over an ORT session that is timed."""

    def __init__(self, brain: Brain, clock: Clock) -> None:
        self._clock = clock
        self._run = brain.ort_session.run_with_ortvaluevector
        self._runs = Runs(clock)
        self._lane = Lane(replace(brain, ort_session=self))

    def run_with_ortvaluevector(self, *arguments: object) -> None:
        """Run, and remember when it began and ended."""
        began = time.perf_counter()
        self._run(*arguments)
        self._runs.add(began)

    def run(self, plan: DecodePlan) -> Times:
        """One generation."""
        self._runs = Runs(self._clock)
        return self._runs.times(decode(self._lane, plan).token_ids)


def default_session(brain: Brain, directory: Path) -> onnxruntime.InferenceSession:
    """The brain's graph with ONNX Runtime's own defaults, in the brain's numerics and threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = brain.threads
    if brain.numerics == "exact":
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(
        directory / GRAPH_FILES[brain.precision], sess_options=options, providers=["CPUExecutionProvider"]
    )


def run_arrays(brain: Brain, session: onnxruntime.InferenceSession) -> Step:
    """A step by `session.run`: caches come and go as arrays."""
    names = ["logits", *(pair.present for pair in brain.layout.caches)]

    def step(feeds: Feeds, pasts: list[Array]) -> tuple[Array, list[Array]]:
        caches = zip(brain.layout.caches, pasts, strict=True)
        logits, *presents = session.run(names, feeds | {pair.past: past for pair, past in caches})
        return logits, presents

    return step


def plain_sampler(logits: Row, sampling: Sampling, step: int) -> int:
    """docs/sampling.md, step by step in NumPy."""
    order = np.argsort(-logits, kind="stable")[: sampling.top_k or None]
    distance = (logits.max() - logits[order].astype(np.float64)) * 65536 * 1000 / sampling.temperature_milli
    d = np.minimum(np.floor(distance), D_MAX).astype(np.int64)
    x = (d * LOG2E_Q30 + 2**35) // 2**36
    sums = np.cumsum(TABLE[x % 1024] >> (x // 1024))
    last = int(np.argmax(sums * 1000 >= int(sums[-1]) * sampling.top_p_milli))
    mark = draw64(sampling.seed, step) * int(sums[last]) >> 64
    return int(order[int(np.argmax(sums > mark))])


def lane_sampler(logits: Row, sampling: Sampling, step: int) -> int:
    """The lane's own."""
    return choose(logits, sampling, step).token


def plain_times(brain: Brain, plan: DecodePlan, clock: Clock, run: Step, sample: Sampler) -> Times:
    """The same generation by a plain loop around `run`."""
    layout = brain.layout
    pasts: list[Array] = [np.zeros((1, layout.kv_heads, 0, layout.head_dim), pair.element) for pair in layout.caches]
    size = len(brain.tokenizer.table.bytes_of)
    feed, done, found, runs = list(plan.prompt_ids), 0, list[int](), Runs(clock)
    for step in range(plan.max_new):
        feeds = feeds_of(brain, feed, done)
        began = time.perf_counter()
        logits, pasts = run(feeds, pasts)
        runs.add(began)
        done += len(feed)
        feed = [sample(logits[0, -1][:size], plan.sampling, step)]
        found.append(feed[0])
    return runs.times(tuple(found))


def feeds_of(brain: Brain, ids: list[int], done: int) -> Feeds:
    """The integer inputs of a step behind `done` tokens."""
    every = {
        "input_ids": np.array([ids]),
        "attention_mask": np.ones((1, done + len(ids)), dtype=np.int64),
        "position_ids": np.arange(done, done + len(ids))[None],
    }
    return {item.name: every[item.name].astype(item.element, copy=False) for item in brain.layout.inputs}


def summary(name: str, times: list[Times]) -> dict[str, object]:
    """The best and the median of the rounds."""
    columns = {
        "prefillMs": [item.first_ms for item in times],
        "stepMs": [item.step_ms for item in times],
        "outsideOrtMs": [item.outside_ms for item in times],
    }
    best = {field: round(min(values), 4) for field, values in columns.items()}
    median = {field: round(statistics.median(values), 4) for field, values in columns.items()}
    return {"what": name, "best": best, "median": median}


def compare(brain: Brain, directory: Path, prompt: int, tokens: int, rounds: int) -> dict[str, list[Times]]:
    """The ways, in turn, `rounds` times; the first round only warms up."""
    ids = (brain.tokenizer.encode(PROMPT) * prompt)[-prompt:]
    free = DecodePlan(ids, tokens, Sampling(850, 40, 920, 7), (), ignore_eos=True)
    masked = replace(free, constraint=TAGS, insertions={"[look weather]": brain.tokenizer.encode("(rain)")})
    clock = time.thread_time if brain.threads == 1 else time.perf_counter
    lane = TimedLane(brain, clock)
    arrays = run_arrays(brain, default_session(brain, directory))
    ways: dict[str, Callable[[], Times]] = {
        PLAIN: lambda: plain_times(brain, free, clock, arrays, plain_sampler),
        PLAIN_OURS: lambda: plain_times(brain, free, clock, arrays, lane_sampler),
        LANE: lambda: lane.run(free),
        MASKED: lambda: lane.run(masked),
    }
    runs: dict[str, list[Times]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, run in ways.items():
            run()  # untimed: the way before it left its own ORT session's weights in the processor's caches
            runs[name].append(run())
        assert len({runs[name][-1].token_ids for name in ways if name != MASKED}) == 1
    return {name: times[1:] for name, times in runs.items()}


def main() -> None:
    """Print one JSON line for each way, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brain", type=Path, required=True)
    parser.add_argument("--dtype", default="q4", choices=("q4", "q8", "fp32"))
    parser.add_argument("--numerics", default="exact", choices=("exact", "fast"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    started = time.perf_counter()
    brain = open_brain(chosen.brain, precision=chosen.dtype, numerics=chosen.numerics, threads=chosen.threads)
    opened = time.perf_counter()
    open_lane(brain).warm_up()
    warmed = time.perf_counter()
    print(json.dumps({"openMs": round((opened - started) * 1000), "warmUpMs": round((warmed - opened) * 1000, 1)}))
    runs = compare(brain, chosen.brain, chosen.prompt, chosen.tokens, chosen.rounds)
    for name, times in runs.items():
        print(json.dumps(summary(name, times)))
    for base in (PLAIN, PLAIN_OURS):
        ratios = [plain.step_ms / lane.step_ms for plain, lane in zip(runs[base], runs[LANE], strict=True)]
        print(json.dumps({f"lane over {base}": {"median of rounds": round(statistics.median(ratios), 2)}}))


if __name__ == "__main__":
    main()
