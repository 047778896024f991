"""A GGUF file in fast numerics against llama.cpp on the same file, round by round in one run; its start and memory.

    npm install --prefix LLAMA node-llama-cpp@3.21.1
    python -m tools.bench.gguf --gguf FILE --node-modules LLAMA/node_modules [--threads 1] [--prompt 32 256]
    python -m tools.bench.gguf --gguf FILE --start [--threads 1]

Both sides are greedy over the same ids and write exactly `--tokens` tokens; ratios are of pairs within a round, above 1
when this side is faster. The clocks are the same on both: a step is the median of a generation's steps by the wall's;
a prefill is the wall's too, or with one thread the process's own processor time. `--start` runs the command itself,
`tokenling model run FILE PROMPT -n 4`, in cold processes, without a kept graph and with one in turn: seconds from the
process's start to the first byte of its answer. Its memory is what the model keeps, behind a 32-token prompt and 20
steps, above the same process with its imports, over the file's size; once more with the file's tokenizer.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from tokenling.gguf import BufferedSteps, Model, open_gguf, open_model
from tokenling.runtime import Cancellation
from tools.bench.decode_llama_cpp import read_line

Pair = tuple[float, float]
"""Prefill and step, in milliseconds."""


def run(model: Model, ids: list[int], tokens: int) -> Pair:
    """One generation from an empty cache."""
    clock = time.process_time if model.threads == 1 else time.perf_counter
    steps = BufferedSteps(model, len(ids) + tokens, Cancellation())
    started = clock()
    token = int(steps.prefill(ids).argmax())
    first = clock()
    ends = [time.perf_counter()]
    for _ in range(tokens - 1):
        token = int(steps.step((token,)).argmax())
        ends.append(time.perf_counter())
    return (first - started) * 1000, statistics.median(b - a for a, b in pairwise(ends)) * 1000


def ask(process: "subprocess.Popen[str]", ids: list[int], tokens: int) -> Pair:
    """The same of llama.cpp."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"prompt": ids, "tokens": tokens}) + "\n")
    process.stdin.flush()
    found = read_line(process.stdout)
    return found["prefillMs"], found["stepMs"]


def summary(ids: int, pairs: list[tuple[Pair, Pair]]) -> dict[str, object]:
    """Medians over the rounds: ratios of pairs, and what each side did."""
    ours, theirs = zip(*pairs, strict=True)
    ratios = [(b[0] / a[0], b[1] / a[1]) for a, b in pairs]
    sides = {"ours": ours, "llamaCpp": theirs}
    rates = {
        name: {
            "prefillTokensPerSecond": round(ids * 1000 / statistics.median(row[0] for row in rows)),
            "decodeTokensPerSecond": round(1000 / statistics.median(row[1] for row in rows), 1),
        }
        for name, rows in sides.items()
    }
    found = {
        name: round(statistics.median(row[at] for row in ratios), 3) for at, name in enumerate(("prefill", "decode"))
    }
    return {"promptTokens": ids, "ratios": found, **rates}


def compare(chosen: argparse.Namespace) -> None:
    """Print one JSON line for each prompt length."""
    with open_gguf(chosen.gguf) as file:
        model = open_model(file, numerics="fast", threads=chosen.threads)
    random = np.random.default_rng(0)
    ids = random.integers(5, model.layout.vocabulary - 100, max(chosen.prompt)).tolist()
    script = Path(__file__).with_name("llama_cpp.mjs")
    command = ["node", script, chosen.node_modules.resolve(), chosen.gguf.resolve(), str(chosen.threads)]
    found: dict[int, list[tuple[Pair, Pair]]] = {size: [] for size in chosen.prompt}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        read_line(process.stdout)
        for _ in range(chosen.rounds + 1):
            for size, pairs in found.items():
                theirs = ask(process, ids[:size], chosen.tokens)
                pairs.append((run(model, ids[:size], chosen.tokens), theirs))
        assert process.stdin is not None
        process.stdin.close()
    for size, pairs in found.items():
        print(json.dumps(summary(size, pairs[1:])))  # the first round only warms up


MEMORY = """
import sys
import onnxruntime, tokenizers
from tokenling.cli.model.machine import resident_bytes
from tokenling.gguf import BufferedSteps, gguf_tokenizer, open_gguf, open_model
from tokenling.runtime import Cancellation
before = resident_bytes()
with open_gguf(sys.argv[1]) as file:
    size = file.size_bytes
    tokenizer = gguf_tokenizer(file) if sys.argv[2] == "tokenizer" else None
    model = open_model(file, numerics="fast", threads=1)
del file
steps = BufferedSteps(model, 64, Cancellation())
token = int(steps.prefill(range(5, 37)).argmax())
for _ in range(20):
    token = int(steps.step((token,)).argmax())
print((resident_bytes() - before) / size)
"""


def start(chosen: argparse.Namespace) -> None:
    """Print one JSON line of cold starts."""
    with tempfile.TemporaryDirectory() as cache:
        first_byte_s(chosen.gguf, chosen.threads, ["--cache-dir", cache])
        ways: dict[str, list[str]] = {"cold": [], "keptGraph": ["--cache-dir", cache]}
        rounds = [
            {name: first_byte_s(chosen.gguf, chosen.threads, options) for name, options in ways.items()}
            for _ in range(chosen.rounds)
        ]
    seconds = {name: round(statistics.median(row[name] for row in rounds), 2) for name in ways}
    memory = {name: round(memory_over_file(chosen.gguf, name), 2) for name in ("model", "tokenizer")}
    print(json.dumps({"threads": chosen.threads, "firstTokenSeconds": seconds, "memoryOverFile": memory}))


def first_byte_s(gguf: Path, threads: int, options: list[str]) -> float:
    """Seconds from a process's start to the first byte of its answer."""
    command = [sys.executable, "-m", "tokenling", "model", "run", str(gguf), "Hello, who are you?", "-n", "4",
               "--temperature", "0", "--threads", str(threads), *options]  # fmt: skip
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        answered = os.read(process.stdout.fileno(), 1)
        found = time.perf_counter() - started
        process.stdout.read()
    assert answered
    assert process.returncode == 0
    return found


def memory_over_file(gguf: Path, what: str) -> float:
    """What a process has in memory above its imports, over the file's size."""
    command = [sys.executable, "-c", MEMORY, str(gguf), what]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> None:
    """Compare, or start."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--node-modules", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, nargs="+", default=[32, 256])
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--start", action="store_true")
    chosen = parser.parse_args()
    if chosen.start:
        start(chosen)
    elif chosen.node_modules is None:
        parser.error("--node-modules is needed to compare")
    else:
        compare(chosen)


if __name__ == "__main__":
    main()
