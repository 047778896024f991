"""`tokenling model bench`: how fast a model reads a prompt and writes, on this machine."""

import itertools
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenling.cli.model.exits import ModelExit, refusals, refuse_option
from tokenling.cli.model.machine import processor
from tokenling.cli.model.options import THREADS_MAX, cache_option, file_argument, json_option
from tokenling.cli.model.progress import loading_bar
from tokenling.cli.model.shown import put_json, table

if TYPE_CHECKING:
    from tokenling.gguf import Model
    from tokenling.runtime import Numerics

ROUNDS_MAX, TOKENS_MAX = 1000, 2**20
"""Guesses: a day's work on any machine."""


@dataclass(frozen=True, slots=True)
class Times:
    """One generation, in seconds: the prompt to its first token, and the median of the steps behind it."""

    prefill_s: float
    step_s: float


@dataclass(frozen=True, slots=True)
class Row:
    """One way of running and one length of prompt, over all rounds but the first, which only warms up."""

    numerics: "Numerics"
    threads: int
    prompt_tokens: int
    open_s: float
    times: tuple[Times, ...]

    @property
    def prefill_rate(self) -> float:
        """Tokens a second, the median."""
        return self.prompt_tokens / statistics.median(times.prefill_s for times in self.times)

    @property
    def decode_rate(self) -> float:
        """Tokens a second, the median of the rounds' medians."""
        return 1 / statistics.median(times.step_s for times in self.times)


@click.command("bench")
@file_argument
@click.option("--prompt", "prompts", multiple=True, default=(32, 256), type=click.IntRange(1, TOKENS_MAX),
              help="Tokens of prompt; may be given often.  [default: 32, 256]")  # fmt: skip
@click.option("--tokens", default=32, type=click.IntRange(2, TOKENS_MAX), show_default=True, help="Tokens to write.")
@click.option("--rounds", default=5, type=click.IntRange(1, ROUNDS_MAX), show_default=True)
@click.option("--threads", multiple=True, default=(1,), type=click.IntRange(1, THREADS_MAX),
              help="Threads of a step; may be given often.  [default: 1]")  # fmt: skip
@click.option("--numerics", multiple=True, default=("fast",), type=click.Choice(("fast", "exact")),
              help="May be given often.  [default: fast]")  # fmt: skip
@cache_option
@json_option
def command(
    *,
    file: Path,
    prompts: tuple[int, ...],
    tokens: int,
    rounds: int,
    threads: tuple[int, ...],
    numerics: "tuple[Numerics, ...]",
    cache_dir: Path | None,
    as_json: bool,
) -> None:
    """Measure how fast the model of FILE reads and writes here: every way and every length of prompt once a round, in
    turn, so that whatever else the machine does spoils all alike. Medians; the prompts are random tokens.

    Exit codes: 0, 1 a step failed, 2 options, 3 the model, 4 a cache that cannot be written, 130 interrupted.
    """
    check_distinct(prompts=prompts, threads=threads, numerics=numerics)
    with refusals(file):
        models = open_ways(file, max(prompts) + tokens, numerics, threads, cache_dir)
        rows = measured(models, prompts, tokens, rounds)
    if as_json:
        put_json({"file": file.name, "processor": processor(), "tokens": tokens, "rounds": rounds,
                  "rows": [as_object(row) for row in rows]})  # fmt: skip
    else:
        click.echo(text(rows))
    sys.exit(ModelExit.DONE)


def check_distinct(**options: Sequence[object]) -> None:
    """Refuse a choice that is given twice: it would be measured twice under one name."""
    for name, values in options.items():
        if len(set(values)) != len(values):
            refuse_option(f"--{name.removesuffix('s')}", "the same twice", "each once")


def open_ways(
    path: Path, positions: int, numerics: "Sequence[Numerics]", threads: Sequence[int], cache_dir: Path | None
) -> "list[tuple[Model, float]]":
    """The model in each way of running it, with the seconds that opening took. Raises `GgufRefused`."""
    from tokenling.gguf import open_gguf, open_model

    found = []
    with loading_bar(path.name) as told, open_gguf(path) as file:
        for kind in numerics:
            for count in threads:
                started = time.perf_counter()
                model = open_model(file, numerics=kind, threads=count, positions=positions, cache_dir=cache_dir,
                                   progress=told)  # fmt: skip
                found.append((model, time.perf_counter() - started))
    return found


def measured(models: "Sequence[tuple[Model, float]]", prompts: Sequence[int], tokens: int, rounds: int) -> list[Row]:
    """A row for each model and prompt. Raises `LaneFailed`."""
    pairs = [(model, open_s, prompt) for model, open_s in models for prompt in prompts]
    times: list[list[Times]] = [[] for _ in pairs]
    with loading_bar("measuring") as told:
        for number in range(rounds + 1):
            for found, (model, _, prompt) in zip(times, pairs, strict=True):
                found.append(timed(model, prompt, tokens))
            told(f"round {number + 1} of {rounds + 1}", number + 1, rounds + 1)
    return [
        Row(model.numerics, model.threads, prompt, open_s, tuple(found[1:]))
        for found, (model, open_s, prompt) in zip(times, pairs, strict=True)
    ]


def timed(model: "Model", prompt: int, tokens: int) -> Times:
    """One greedy generation from an empty cache, whatever it says."""
    import numpy as np

    from tokenling.gguf import BufferedSteps
    from tokenling.gguf.memory import PREFILL_CHUNK
    from tokenling.runtime import Cancellation

    ids: list[int] = np.random.default_rng(prompt).integers(0, model.layout.vocabulary, prompt).tolist()
    steps = BufferedSteps(model, prompt + tokens, Cancellation())
    started = time.perf_counter()
    token = int(steps.prefill(ids, PREFILL_CHUNK).argmax())
    ends = [time.perf_counter()]
    for _ in range(tokens - 1):
        token = int(steps.step((token,)).argmax())
        ends.append(time.perf_counter())
    return Times(ends[0] - started, statistics.median(after - before for before, after in itertools.pairwise(ends)))


def text(rows: Sequence[Row]) -> str:
    """For a person; rates in tokens a second."""
    head = ["numerics", "threads", "prompt", "prefill/s", "decode/s", "first token", "open"]
    shown = [
        [row.numerics, str(row.threads), str(row.prompt_tokens), f"{row.prefill_rate:.0f}", f"{row.decode_rate:.1f}",
         f"{row.prompt_tokens / row.prefill_rate * 1000:.0f} ms", f"{row.open_s:.2f} s"]
        for row in rows
    ]  # fmt: skip
    return table([head, *shown], right=range(1, len(head)))


def as_object(row: Row) -> Mapping[str, object]:
    """For a program: medians, and every round."""
    return {
        "numerics": row.numerics,
        "threads": row.threads,
        "promptTokens": row.prompt_tokens,
        "openSeconds": round(row.open_s, 3),
        "prefillTokensPerSecond": round(row.prefill_rate, 1),
        "decodeTokensPerSecond": round(row.decode_rate, 2),
        "prefillMs": [round(times.prefill_s * 1000, 3) for times in row.times],
        "stepMs": [round(times.step_s * 1000, 3) for times in row.times],
    }
