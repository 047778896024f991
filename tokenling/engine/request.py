"""What the engine asks of a language model: the request, the reply, and how a request becomes a prompt.

The runtime, the trainer and the probe build their prompts with `prompt_text`, so a brain is trained on exactly what
it will see. Worked example::

    header "You are Pip."   lines ("Owner: hi",)   prefix "Pip:"
    ->  "You are Pip.\\nOwner: hi\\nPip:"
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Mode = Literal["line", "diary"]
StopReason = Literal["eos", "newline", "length", "cancelled"]

CONTEXT_TOKENS_MAX = 1024
"""The pet's own context bound, whatever the model could hold (seed: the shared app limit)."""
LOOKUPS_MAX = 3
"""Lookups answered within one turn (design section 3)."""
FREE_TAG_CODE_POINTS_MAX = 40
"""Free text inside a tag such as `[remember …]`."""
FREE_TAG_MARK = "…"
"""Stands in a request's tag for free text: `[remember …]`."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One turn's question to a brain. `answers` maps each lookup that is legal now to its answer."""

    header: str
    lines: tuple[str, ...]
    prefix: str
    mode: Mode
    tags: tuple[str, ...]
    answers: Mapping[str, str]
    max_new: int
    top_k: int
    temperature_milli: int
    top_p_milli: int
    ctx: int
    seed: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What the brain wrote: the generated text with its tags, without the answers that lookups inserted."""

    text: str
    stop: StopReason
    lookups_used: tuple[str, ...]


def prompt_text(header: str, lines: Sequence[str], prefix: str) -> str:
    """The prompt: header and lines each closed by a newline, an empty header left out, then the open prefix."""
    closed = ([header] if header else []) + list(lines)
    return "".join(part + "\n" for part in closed) + prefix


def insertion_text(answer: str) -> str:
    """What the decoder appends behind a lookup tag, encoded on its own: `[look weather]` + `(rain)`."""
    return f"({answer})"


def first_kept_line(header_tokens: int, line_tokens: Sequence[int], prefix_tokens: int, budget: int) -> int:
    """The index of the oldest line that is kept so that header, kept lines and prefix fit `budget` tokens.

    `len(line_tokens)` means that no line fits. Raises `ValueError` when header and prefix alone do not fit: that is
    never mended by dropping lines.
    """
    free = budget - header_tokens - prefix_tokens
    if free < 0:
        raise ValueError(f"header and prefix need {header_tokens + prefix_tokens} tokens, the budget is {budget}")
    first = len(line_tokens)
    while first > 0 and line_tokens[first - 1] <= free:
        first -= 1
        free -= line_tokens[first]
    return first
