"""`tokenling model run`: one prompt, written on from."""

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from tokenling.cli.console import tell
from tokenling.cli.model.exits import ModelExit, refusals, refuse_option
from tokenling.cli.model.input import read_text
from tokenling.cli.model.interrupting import interruptible
from tokenling.cli.model.loading import Ahead, Loaded, Texts, load, opened_texts
from tokenling.cli.model.options import (
    cache_option,
    context_option,
    file_argument,
    json_option,
    numerics_option,
    receipt_option,
    sampling_options,
    system_option,
    threads_option,
)
from tokenling.cli.model.output import Stream, check_new, prepare_output, write_new
from tokenling.cli.model.shown import put_json

if TYPE_CHECKING:
    from tokenling.runtime import DecodePlan, Generation, Numerics, Sampling

NEW_TOKENS = 256
"""Written at most when nothing is asked for."""
STOPS_MAX = 64
"""Stop texts: each is looked for behind every token. A guess."""
STOP_WORDS = {"eos": "eos", "newline": "stop", "length": "length", "cancelled": "cancelled"}
"""The runtime's words for what ended it, and what they are called here: `newline` is any stop text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options say of one generation."""

    max_tokens: int | None
    sampling: "Sampling"
    stops: tuple[str, ...]


@click.command("run")
@file_argument
@click.argument("prompt", required=False)
@click.option("--file", "source", type=click.Path(path_type=Path, dir_okay=False), help="The prompt is this file.")
@click.option("--raw", is_flag=True, help="Continue the prompt as it stands, without the file's chat template.")
@system_option
@sampling_options
@context_option
@numerics_option
@threads_option
@cache_option
@receipt_option
@json_option
def command(
    *,
    file: Path,
    prompt: str | None,
    source: Path | None,
    raw: bool,
    system: str | None,
    max_tokens: int | None,
    temperature: int,
    top_k: int,
    top_p: int,
    seed: int | None,
    stops: tuple[str, ...],
    context: int,
    numerics: "Numerics | None",
    threads: int,
    cache_dir: Path | None,
    receipt: Path | None,
    as_json: bool,
) -> None:
    """Write on from PROMPT (or --file, or standard input) with the model of FILE, to standard output as it comes.

    A prompt is put into the file's chat template, if it has one. Exit codes: 0 done, 1 a step failed, 2 options, or a
    prompt that cannot be asked (one that does not fit the context, say), 3 the model, 4 a file that cannot be written,
    130 interrupted: what was written until then stays.
    """
    prepare_output()
    _check_options(max_tokens, system, receipt, stops, raw=raw)
    text = read_text(prompt, source, "PROMPT")
    sampling = sampling_of(temperature, top_k, top_p, seed)
    kind: Numerics = numerics or ("exact" if receipt else "fast")
    ahead = Ahead(kind, cache_dir, receipt is not None)
    with refusals(file), opened_texts(file, context, chats=not raw, ahead=ahead) as texts:
        ids = prompt_ids(texts, text, system, raw=raw)
        plan = plan_of(texts, ids, Asked(max_tokens, sampling, stops))
        if plan is None:
            finish_empty(ids, as_json=as_json)
        loaded = load(texts, kind, threads=threads, cache_dir=cache_dir,
                      digests=receipt is not None)  # fmt: skip
        warn_of(loaded, receipt)
        generation, was_interrupted = write(loaded, plan, as_json=as_json)
        keep_receipt(loaded, plan, generation, receipt)
    if as_json:
        put_json(as_object(loaded, plan, generation))
    sys.exit(ModelExit.INTERRUPTED if was_interrupted else ModelExit.DONE)


def _check_options(
    max_tokens: int | None, system: str | None, receipt: Path | None, stops: tuple[str, ...], *, raw: bool
) -> None:
    """What contradicts itself, before anything is opened."""
    if raw and system is not None:
        refuse_option("--system", "--raw too", "a chat template to put it into")
    if receipt is not None and max_tokens == 0:
        refuse_option("--receipt", "-n 0 too", "at least one token to prove")
    if receipt is not None:
        check_new("--receipt", receipt)
    check_stops(stops)


def check_stops(stops: tuple[str, ...]) -> None:
    """Refuse stop texts that are none."""
    if "" in stops:
        refuse_option("--stop", "an empty text", "at least one character")
    if len(stops) > STOPS_MAX:
        refuse_option("--stop", f"{len(stops)} of them", f"at most {STOPS_MAX}")


def sampling_of(temperature: int, top_k: int, top_p: int, seed: int | None) -> "Sampling":
    """As the options say; without a seed by chance."""
    from tokenling.runtime import Sampling

    return Sampling(temperature, top_k, top_p, secrets.randbelow(2**53) if seed is None else seed)


def prompt_ids(texts: Texts, text: str, system: str | None, *, raw: bool) -> list[int]:
    """The ids of the prompt, in the chat template if there is one. Raises `TemplateRefused`, `GenerationRefused`."""
    if raw or texts.template is None:
        if system is not None:
            refuse_option("--system", "a model without a chat template", "a chat template to put it into")
        if not raw:
            tell(["this model has no chat template: the prompt is continued as it stands"])
        ids = texts.tokenizer.encode(text)
        if not ids:
            refuse_option("PROMPT", "no token", "at least one to write on from")
        return ids
    messages = [] if system is None else [{"role": "system", "content": system}]
    return texts.prompt_ids([*messages, {"role": "user", "content": text}])


def plan_of(texts: Texts, ids: list[int], asked: Asked) -> "DecodePlan | None":
    """The plan of the generation; None for one of no tokens. Raises `ContextOverflow`."""
    from tokenling.gguf import room_for
    from tokenling.gguf.memory import PREFILL_CHUNK
    from tokenling.runtime import DecodePlan

    new = room_for(len(ids), asked.max_tokens, NEW_TOKENS, texts.context)
    if new == 0:
        return None
    return DecodePlan(tuple(ids), new, asked.sampling, asked.stops, prefill_chunk=PREFILL_CHUNK)


def finish_empty(ids: list[int], *, as_json: bool) -> NoReturn:
    """End a run that is to write nothing: its prompt is good, and fits."""
    if as_json:
        put_json({"text": "", "promptTokens": len(ids), "tokens": 0, "stop": "length"})
    sys.exit(ModelExit.DONE)


def warn_of(loaded: Loaded, receipt: Path | None) -> None:
    """What a user should know of this model before it writes."""
    tell(loaded.model.notes)
    if receipt is not None and loaded.model.numerics != "exact":
        tell(["a receipt of fast numerics can be kept, not proved: --numerics exact makes one that can"])


def write(loaded: Loaded, plan: "DecodePlan", *, as_json: bool) -> "tuple[Generation, bool]":
    """Carry out the plan, its text on standard output unless JSON is asked for; and whether it was interrupted."""
    from tokenling.gguf import generate
    from tokenling.runtime import Cancellation

    cancel, stream = Cancellation(), Stream()
    on_token = None if as_json else stream.put
    found = interruptible(lambda: generate(loaded.model, loaded.lane, plan, cancel=cancel, on_token=on_token), cancel)
    stream.end()
    remark = stop_remark(found[0], len(plan.prompt_ids), loaded.model.positions)
    if remark:
        tell([remark])
    return found


def stop_remark(generation: "Generation", prompt_tokens: int, context: int) -> str:
    """What is told of a text that its model did not end itself; empty when it did."""
    if generation.stop == "cancelled":
        return "interrupted"
    if generation.stop != "length":
        return ""
    written = len(generation.token_ids)
    if prompt_tokens + written >= context:
        return f"stopped: the context of {context} tokens is full; -c allows more"
    return f"stopped after {written} tokens; -n allows more"


def keep_receipt(loaded: Loaded, plan: "DecodePlan", generation: "Generation", receipt: Path | None) -> None:
    """The owner's receipt as a new file, if one is asked for."""
    from tokenling.gguf import make_generation_receipt

    if receipt is not None:
        made = make_generation_receipt(loaded.model, loaded.lane, plan, generation)
        write_new("--receipt", receipt, made.owner_json())


def as_object(loaded: Loaded, plan: "DecodePlan", generation: "Generation") -> Mapping[str, object]:
    """For a program; the first token belongs to prefill."""
    steps = len(generation.token_ids) - 1
    return {
        "text": generation.text,
        "promptTokens": len(plan.prompt_ids),
        "tokens": len(generation.token_ids),
        "stop": STOP_WORDS[generation.stop],
        "seed": plan.sampling.seed,
        "numerics": loaded.model.numerics,
        "contextTokens": loaded.model.positions,
        "prefillMs": round(generation.prefill_ms, 3),
        "decodeMs": round(generation.decode_ms, 3),
        "decodeTokensPerSecond": round(steps * 1000 / generation.decode_ms, 1) if steps > 0 else None,
        "notes": list(loaded.model.notes),
    }
