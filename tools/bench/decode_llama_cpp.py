"""A lane against llama.cpp on the same weights and prompt, round by round in one run, each on `--threads` threads.

    npm install --prefix LLAMA node-llama-cpp@3.21.1
    python -m tools.bench.decode_llama_cpp --brain DIR --gguf FILE --node-modules LLAMA/node_modules [--threads 1]

The brain is the GGUF's weights as floats (`python -m tools.bench.gguf_to_hf`) converted anew (`python -m
tools.convert_hf`), so precisions are near and not equal: the figure is speed, not text. Both are greedy and write
exactly `--tokens` tokens. A round's step is the median of its steps by the wall clock; a prefill on one thread is each
process's own processor time, so that a busy machine does not spoil it.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import IO

from tokenling.runtime import DecodePlan, Numerics, Precision, Sampling, open_brain
from tools.bench.decode import TimedLane

PROMPT = "The pet sat by the window and watched the rain fall on the garden. "
WAYS: tuple[tuple[Precision, Numerics], ...] = (("q4", "fast"), ("q4", "exact"), ("q8", "fast"), ("fp32", "exact"))


def read_line(stream: IO[str]) -> dict[str, float]:
    """The next JSON line; what llama.cpp prints beside them is passed over."""
    for line in stream:
        if line.startswith("{"):
            found: dict[str, float] = json.loads(line)
            return found
    raise RuntimeError("llama.cpp ended before it answered")


def side(lane: TimedLane, ids: tuple[int, ...], tokens: int) -> tuple[float, float]:
    """Prefill and step of a lane, in milliseconds."""
    times = lane.run(DecodePlan(ids, tokens, Sampling(0, 0, 1000, 0), (), ignore_eos=True))
    return times.first_ms, times.step_ms


def compare(
    lanes: dict[str, TimedLane], process: "subprocess.Popen[str]", ids: tuple[int, ...], tokens: int, rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Every side once a round; the first round only warms up."""
    assert process.stdin is not None
    assert process.stdout is not None
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("llama.cpp", *lanes)}
    for _ in range(rounds + 1):
        process.stdin.write(json.dumps({"prompt": ids, "tokens": tokens}) + "\n")
        process.stdin.flush()
        theirs = read_line(process.stdout)
        found["llama.cpp"].append((theirs["prefillMs"], theirs["stepMs"]))
        for name, lane in lanes.items():
            found[name].append(side(lane, ids, tokens))
    return {name: times[1:] for name, times in found.items()}


def summary(name: str, times: list[tuple[float, float]], prompt: int) -> dict[str, object]:
    """Tokens a second, prefill and decode, of the best and the median round."""
    firsts, steps = zip(*times, strict=True)
    pairs = {"best": (min(firsts), min(steps)), "median": (statistics.median(firsts), statistics.median(steps))}
    rows = {
        how: {"prefillTokensPerSecond": round(prompt * 1000 / first), "decodeTokensPerSecond": round(1000 / step, 1)}
        for how, (first, step) in pairs.items()
    }
    return {"what": name, **rows}


def main() -> None:
    """Print one JSON line for each side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brain", type=Path, required=True)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--node-modules", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    brains = {
        f"lane {precision} {numerics}": open_brain(
            chosen.brain, precision=precision, numerics=numerics, threads=chosen.threads
        )
        for precision, numerics in WAYS
    }
    ids = (next(iter(brains.values())).tokenizer.encode(PROMPT) * chosen.prompt)[: chosen.prompt]
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    lanes = {name: TimedLane(brain, clock) for name, brain in brains.items()}
    script = Path(__file__).with_name("llama_cpp.mjs")
    command = ["node", script, chosen.node_modules.resolve(), chosen.gguf.resolve(), str(chosen.threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        read_line(process.stdout)
        for name, times in compare(lanes, process, ids, chosen.tokens, chosen.rounds).items():
            print(json.dumps(summary(name, times, chosen.prompt)))
        assert process.stdin is not None
        process.stdin.close()


if __name__ == "__main__":
    main()
