"""`tokenling probe`: run generation requests from standard input on a brain, with timings. Its output shows prompts."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from tokenling.cli.waiting import read_all

if TYPE_CHECKING:
    from tokenling.runtime import Brain, BrainError, DecodePlan, Generation, Lane, Numerics, Precision
    from tokenling.runtime.documents import JsonValue

INPUT_BYTES_MAX = 2**24
"""A guess: sixteen saves of the greatest size."""
REQUESTS_MAX = 10_000
"""A guess: hours of work on any machine."""
EXIT_PARTLY, EXIT_SETTINGS, EXIT_BRAIN = 1, 2, 3
DTYPES = ("q4", "q8", "fp32")


@click.command("probe")
@click.option("--model-dir", envvar="SUBTOKENLING_MODEL_DIR", help="Brain directory.")
@click.option("--dtype", envvar="SUBTOKENLING_MODEL_DTYPE", default="q4", type=click.Choice(DTYPES), show_default=True)
@click.option("--threads", envvar="SUBTOKENLING_THREADS", default=4, type=click.IntRange(1, 256), show_default=True)
@click.option("--numerics", envvar="SUBTOKENLING_NUMERICS", default="exact", type=click.Choice(("exact", "fast")))
@click.option("--benchmark-tokens", type=click.IntRange(1, 2**20), help="Write exactly N tokens, greedily, no stops.")
def command(
    model_dir: str | None, dtype: "Precision", threads: int, numerics: "Numerics", benchmark_tokens: int | None
) -> None:
    """Read one generation object, or an array of them, from standard input; write one JSON line for each.

    The prompt is part of each line: never feed it a private save. A bad object gets a line with an error and the rest
    go on; the exit code is then 1 (2: settings or input, 3: brain).
    """
    if not model_dir:
        fail(EXIT_SETTINGS, "SUBTOKENLING_MODEL_DIR: not set, expected a brain directory (or --model-dir)")
    documents = read_documents(read_all(sys.stdin.buffer, INPUT_BYTES_MAX + 1))
    lane = open_warm(Path(model_dir), dtype, numerics, min(threads, os.cpu_count() or 1))
    lines = [answer(lane, document, benchmark_tokens) for document in documents]
    if any("error" in line for line in lines):
        sys.exit(EXIT_PARTLY)


def fail(code: int, message: str) -> NoReturn:
    """End with one line on standard error."""
    click.echo(f"tokenling: error: {message}", err=True)
    sys.exit(code)


def read_documents(data: bytes) -> "list[JsonValue]":
    """The requests in the input; whether each is a good one is judged when its turn comes."""
    from tokenling.runtime.documents import JsonRefused, parse_value

    if len(data) > INPUT_BYTES_MAX:
        fail(EXIT_SETTINGS, f"standard input: more than {INPUT_BYTES_MAX} bytes")
    try:
        value = parse_value(data)
    except JsonRefused as refusal:
        fail(EXIT_SETTINGS, f"standard input: found {refusal}, expected a generation object or an array of them")
    documents = list(value) if isinstance(value, list) else [value]
    if len(documents) > REQUESTS_MAX:
        fail(EXIT_SETTINGS, f"standard input: found {len(documents)} requests, expected at most {REQUESTS_MAX}")
    return documents


def open_warm(path: Path, dtype: "Precision", numerics: "Numerics", threads: int) -> "Lane":
    """A lane that passed the host's own warm-up; an export without `brain.json` goes by the name `export`."""
    from tokenling.cli.brain_opening import BrainChoice, gguf_in, open_chosen
    from tokenling.runtime import BrainRefused, open_lane

    foreign = not (path / "brain.json").exists()
    name = os.environ.get("SUBTOKENLING_MODEL_ID") or None
    try:
        # the option's default says nothing of a GGUF file, which has its own bits, and an id of its own
        is_gguf = gguf_in(path) is not None
        precision = None if dtype == "q4" and is_gguf else dtype
        name = name or ("export" if foreign and not is_gguf else None)
        lane = open_lane(open_chosen(BrainChoice(path, precision, numerics, threads, name, () if foreign else None)))
        lane.warm_up()
    except BrainRefused as refusal:
        fail(EXIT_BRAIN, str(refusal))
    return lane


def answer(lane: "Lane", document: "JsonValue", benchmark_tokens: int | None) -> "dict[str, JsonValue]":
    """Run one request and print its line."""
    from tokenling.runtime import BrainError

    try:
        line = run_request(lane, document, benchmark_tokens)
    except BrainError as error:
        line = error_line(error)
    click.echo(json.dumps(line, ensure_ascii=False))
    return line


def error_line(error: "BrainError") -> "dict[str, JsonValue]":
    """What was wrong with a request, as a line."""
    facts = {"code": error.code, "subject": error.subject, "found": error.found, "expected": error.expected}
    return {"error": facts}


def run_request(lane: "Lane", document: "JsonValue", benchmark_tokens: int | None) -> "dict[str, JsonValue]":
    """Plan and decode one request."""
    from tokenling.runtime import GenerationRefused, decode, plan_turn
    from tokenling.runtime.documents import kind_of
    from tokenling.runtime.requests import request_from_json

    if not isinstance(document, dict):
        raise GenerationRefused("request_malformed", "request", kind_of(document), "an object")
    plan = plan_turn(request_from_json(document), lane.brain)
    if benchmark_tokens is not None:
        plan = fixed_count(plan, benchmark_tokens)
    return result_line(lane.brain, plan, decode(lane, plan))


def fixed_count(plan: "DecodePlan", tokens: int) -> "DecodePlan":
    """The plan as a compute diagnostic: exactly `tokens`, greedily, whatever they say."""
    greedy = replace(plan.sampling, temperature_milli=0)
    return replace(
        plan, max_new=tokens, sampling=greedy, stops=(), constraint=None, insertions={}, ignore_eos=True
    )  # fmt: skip


def result_line(brain: "Brain", plan: "DecodePlan", generation: "Generation") -> "dict[str, JsonValue]":
    """What came out, and how long it took; the first token belongs to prefill."""
    steps = len(generation.token_ids) - 1
    return {
        "text": generation.text,
        "prompt": brain.tokenizer.decode(plan.prompt_ids),
        "promptTokens": len(plan.prompt_ids),
        "tokens": len(generation.token_ids),
        "stop": generation.stop,
        "prefillMs": round(generation.prefill_ms, 3),
        "decodeTokensPerSecond": round(steps * 1000 / generation.decode_ms, 1) if steps > 0 else None,
    }
