"""A pet's request as a plan, and a generation as a reply: the only part of the runtime that knows pets."""

from collections.abc import Sequence

from tokenling.engine.request import (
    CONTEXT_TOKENS_MAX,
    LOOKUPS_MAX,
    GenerationRequest,
    Reply,
    first_kept_line,
    insertion_text,
    prompt_text,
)
from tokenling.runtime.brain import Brain
from tokenling.runtime.errors import GenerationRefused
from tokenling.runtime.plan import DecodePlan, Generation, Sampling
from tokenling.runtime.tokenizer import Tokenizer

STOPS = {"line": ("\n",), "diary": ("\n\n",)}
"""What ends each mode, beside the end-of-sequence token."""


def plan_turn(request: GenerationRequest, brain: Brain) -> DecodePlan:
    """The plan of a pet's turn: the oldest lines dropped until prompt and output fit.

    Raises `GenerationRefused`: `does_not_fit` when header, prefix and output alone are too long, `prompt_empty`.
    Worked example: ctx 1024, a model of 512 positions, maxNew 64: the prompt gets 512 - 64 = 448 tokens.
    """
    budget = min(request.ctx, brain.positions_max, CONTEXT_TOKENS_MAX) - request.max_new - len(brain.begin_ids)
    prompt_ids = fit_prompt(request, brain.tokenizer, budget)
    if not prompt_ids:
        raise GenerationRefused("prompt_empty", "header, lines and prefix", "no token", "at least one")
    lookups = {tag: answer for tag, answer in request.answers.items() if tag in request.tags}
    return DecodePlan(
        prompt_ids=brain.begin_ids + prompt_ids,
        max_new=request.max_new,
        sampling=Sampling(request.temperature_milli, request.top_k, request.top_p_milli, request.seed),
        stops=STOPS[request.mode],
        constraint=request.tags,
        insertions={tag: brain.tokenizer.encode(insertion_text(answer)) for tag, answer in lookups.items()},
        insertions_max=LOOKUPS_MAX,
    )


def fit_prompt(request: GenerationRequest, tokenizer: Tokenizer, budget: int) -> tuple[int, ...]:
    """The ids of the longest prompt of at most `budget` tokens that keeps header, prefix and the newest lines.

    Lines are first counted alone; the joined text is then encoded whole and, should merges over a border have made it
    longer, loses further lines.
    """
    first = _first_line(request, tokenizer, budget)
    while True:
        ids = tokenizer.encode(prompt_text(request.header, request.lines[first:], request.prefix))
        if len(ids) <= budget:
            return ids
        if first == len(request.lines):
            raise _too_long(len(ids), budget)
        first += 1


def _first_line(request: GenerationRequest, tokenizer: Tokenizer, budget: int) -> int:
    """The oldest line kept by the pieces' own counts. Only as many of the newest lines are counted as could matter, and
    none where there is room for each byte."""
    pieces = (prompt_text(request.header, (), ""), *(line + "\n" for line in request.lines), request.prefix)
    if sum(map(tokenizer.tokens_max, pieces)) <= budget:
        return 0
    header = _count(tokenizer, prompt_text(request.header, (), ""))
    prefix = _count(tokenizer, request.prefix)
    if header + prefix > budget:
        raise _too_long(header + prefix, budget)
    counts = _newest_counts(request.lines, tokenizer, budget)
    skipped = len(request.lines) - len(counts)
    return skipped + first_kept_line(header, counts, prefix, budget)


def _newest_counts(lines: Sequence[str], tokenizer: Tokenizer, budget: int) -> list[int]:
    """Token counts of the newest lines, oldest first, ending with the first that can no longer fit."""
    counts: list[int] = []
    for line in reversed(lines):
        counts.append(_count(tokenizer, line + "\n"))
        if sum(counts) > budget:
            break
    return counts[::-1]


def _count(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text)) if text else 0


def _too_long(found: int, budget: int) -> GenerationRefused:
    return GenerationRefused("does_not_fit", "header and prefix", f"{found} tokens", f"at most {budget}")


def reply_of(generation: Generation) -> Reply:
    """What the engine is told."""
    return Reply(generation.text, generation.stop, generation.insertions_used)
