"""What is asked of a lane, and what comes back: plain values, no ONNX Runtime here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

StopReason = Literal["eos", "newline", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """`temperature_milli` 0 is greedy; `seed` is below 2^53; `top_p_milli` 1000 keeps all."""

    temperature_milli: int
    top_k: int
    top_p_milli: int
    seed: int


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """One generation, whole: the same plan on the same brain gives the same tokens.

    `stops` are texts that end it (the stop itself is not part of the text). `constraint` holds the legal closed tags:
    once `[` opens only they can be spelled, and with an empty tuple `[` is never written; None masks nothing.
    `insertions` maps a tag to the token ids appended when it closes, at most `insertions_max` times in all; they count
    against `max_new`, so prompt and output together never outgrow `len(prompt_ids) + max_new`. `prefill_chunk` is the
    most prompt tokens of one step, 0 for all at once (chunking moves logits by rounding, so a receipt names it).
    `ignore_eos` is for the fixed-count diagnostic alone.
    """

    prompt_ids: tuple[int, ...]
    max_new: int
    sampling: Sampling
    stops: tuple[str, ...]
    constraint: tuple[str, ...] | None = None
    insertions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    insertions_max: int = 3
    prefill_chunk: int = 0
    ignore_eos: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A tag branch point: at `step`, what each legal tag weighed, in millionths of the whole legal mass.

    A key is a tag, or the longest common beginning of the tags that a token would leave open (`[ta`).
    """

    step: int
    shares_ppm: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Generation:
    """What a lane wrote. `token_ids` holds generated ids only; inserted ids are reproducible from the plan.

    `near_ties` are the steps whose draw a logit change of 1e-3 could have moved to a neighbouring token.
    """

    token_ids: tuple[int, ...]
    text: str
    stop: StopReason
    insertions_used: tuple[str, ...]
    prefill_ms: float
    decode_ms: float
    choices: tuple[Choice, ...] = ()
    near_ties: tuple[int, ...] = ()
