"""`tokenling model score`: how likely a text is to a model."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenling.cli.console import tell
from tokenling.cli.model.exits import ModelExit, refusals, refuse_option
from tokenling.cli.model.input import read_text
from tokenling.cli.model.interrupting import interruptible
from tokenling.cli.model.loading import Loaded, Texts, load, opened_texts
from tokenling.cli.model.options import cache_option, context_option, file_argument, json_option, threads_option
from tokenling.cli.model.output import for_terminal, prepare_output
from tokenling.cli.model.progress import loading_bar
from tokenling.cli.model.shown import put_json, table

if TYPE_CHECKING:
    from tokenling.gguf import Scores
    from tokenling.runtime import Numerics


@click.command("score")
@file_argument
@click.argument("text", required=False)
@click.option("--file", "source", type=click.Path(path_type=Path, dir_okay=False), help="The text is this file.")
@click.option("--tokens", "with_tokens", is_flag=True, help="Show each token too.")
@click.option("--special", is_flag=True, help="Read special tokens out of the text, as in a rendered chat.")
@context_option
@click.option("--numerics", default="exact", type=click.Choice(("fast", "exact")), show_default=True)
@threads_option
@cache_option
@json_option
def command(
    *,
    file: Path,
    text: str | None,
    source: Path | None,
    with_tokens: bool,
    special: bool,
    context: int,
    numerics: "Numerics",
    threads: int,
    cache_dir: Path | None,
    as_json: bool,
) -> None:
    """Score TEXT (or --file, or standard input) with the model of FILE: the mean negative log-likelihood of its tokens
    in nats, each behind those before it, and the perplexity. --json has every token's logarithm of probability.

    Exit codes: 0, 1 a step failed, 2 options, or a text that is too short or longer than the context, 3 the model, 4 a
    cache that cannot be written, 130 interrupted.
    """
    prepare_output()
    given = read_text(text, source, "TEXT")
    with refusals(file), opened_texts(file, context) as texts:
        ids = texts.tokenizer.encode(given, special=special)
        check_length(len(ids), texts.context)
        loaded = load(texts, numerics, threads=threads, cache_dir=cache_dir, rows="all")
        tell(loaded.model.notes)
        found = scored(loaded, ids)
        if as_json:
            put_json(as_object(texts, ids, found, numerics))
        else:
            click.echo(as_text(texts, ids, found, with_tokens=with_tokens))
    sys.exit(ModelExit.DONE)


def check_length(tokens: int, context: int) -> None:
    """Refuse a text that cannot be scored before the model is read. Raises `GenerationRefused` for a short one."""
    from tokenling.gguf.score import check_tokens

    check_tokens(tokens)
    if tokens > context:
        found, expected = (
            f"{tokens} tokens",
            f"at most {context} (context_overflow); give a longer -c or a shorter text",
        )
        refuse_option("text", found, expected)


def scored(loaded: Loaded, ids: list[int]) -> "Scores":
    """The scores, with a bar where it takes long; Ctrl-C ends the command."""
    from tokenling.gguf import score
    from tokenling.runtime import Cancellation
    from tokenling.runtime.cancellation import StepCancelled

    cancel = Cancellation()
    with loading_bar("scoring") as told:
        try:
            return interruptible(lambda: score(loaded.model, ids, cancel=cancel, progress=told), cancel)[0]
        except StepCancelled:
            raise KeyboardInterrupt from None


def as_text(texts: Texts, ids: list[int], found: "Scores", *, with_tokens: bool) -> str:
    """For a person."""
    rows = [
        ["tokens", f"{len(ids)}, {len(found.logprobs)} of them scored"],
        ["negative log-likelihood", f"{found.nll:.4f} nats a token, {-sum(found.logprobs):.2f} in all"],
        ["perplexity", f"{found.perplexity:.4g}"],
    ]
    if not with_tokens:
        return table(rows)
    shown = [[for_terminal(repr(texts.tokenizer.decode([token]))), value] for token, value in _pairs(ids, found)]
    return table(rows) + "\n\n" + table([["token", "log p"], *shown], right=(1,))


def _pairs(ids: list[int], found: "Scores") -> list[tuple[int, str]]:
    values = ["", *(f"{value:.4f}" for value in found.logprobs)]
    return list(zip(ids, values, strict=True))


def as_object(texts: Texts, ids: list[int], found: "Scores", numerics: str) -> Mapping[str, object]:
    """For a program. The first token has nothing before it: its logarithm is null."""
    values = [None, *found.logprobs]
    return {
        "numerics": numerics,
        "tokens": [
            {"id": token, "text": texts.tokenizer.decode([token]), "logprob": value}
            for token, value in zip(ids, values, strict=True)
        ],
        "scoredTokens": len(found.logprobs),
        "nllNats": found.nll,
        "perplexity": found.perplexity if math.isfinite(found.perplexity) else None,
    }
