"""SmolLM2 135M (Q4_1) and Gemma 3 270M (Q4_K_M) against an independent float64 reference. `nox -s ggufs` runs it."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from reference import Reference, divergence

from tokenling.gguf import open_gguf
from tokenling.gguf.model import Model, open_model
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation, Numerics

FOLDER = Path(os.environ["TOKENLING_GGUFS"])
SMOLLM2, GEMMA3 = "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"
GREEDY_TOKENS = 48
PROMPTS = {
    # the pet at the window, water on a mountain, a function in Python: as llama.cpp tokenises them
    SMOLLM2: (
        (504, 4144, 2643, 411, 260, 5700, 284, 12635, 260, 5249, 2332, 335, 260, 4480, 30, 3875, 357),
        (15222, 38146, 418, 253, 2428, 3756, 335, 253, 7213, 975),
        (1604, 11847, 94, 24, 94, 731, 198, 4093, 198, 28, 3717, 335, 253, 1990),
    ),
    GEMMA3: (
        (2, 818, 5866, 4344, 684, 506, 4788, 532, 12062, 506, 6398, 5100, 580, 506, 7953, 236761),
        (2, 17574, 133021, 657, 496, 4168, 5487, 580, 496, 11655, 1547),
        (2, 2063, 16177, 236779, 236749, 1473, 107, 140, 236743),
    ),
}
PAIRS = [(name, place) for name, prompts in PROMPTS.items() for place in range(len(prompts))]


@cache
def model(name: str, numerics: Numerics) -> Model:
    with open_gguf(FOLDER / name) as file:
        return open_model(file, rows="all", numerics=numerics, positions=512)


@cache
def greedy(name: str, place: int) -> tuple[int, ...]:
    """The prompt and what exact numerics write behind it, one token at a time."""
    steps = BufferedSteps(model(name, "exact"), 512, Cancellation())
    ids = list(PROMPTS[name][place])
    ids.append(int(steps.rows(ids)[-1].argmax()))
    for _ in range(GREEDY_TOKENS - 1):
        ids.append(int(steps.step(ids[-1:]).argmax()))
    return tuple(ids)


@cache
def expected(name: str, place: int) -> np.ndarray:
    """The reference's logits at each of those."""
    return reference(name).logits(list(greedy(name, place)))


@cache
def reference(name: str) -> Reference:
    return Reference(FOLDER / name)


def rows(name: str, place: int, numerics: Numerics) -> np.ndarray:
    ids = greedy(name, place)
    return BufferedSteps(model(name, numerics), len(ids), Cancellation()).rows(ids)


@pytest.mark.parametrize(("name", "place"), PAIRS)
def test_exact_logits_lie_within_a_thousandth_of_the_reference(name: str, place: int) -> None:
    assert np.abs(expected(name, place) - rows(name, place, "exact")).max() < 1e-3


@pytest.mark.parametrize(("name", "place"), PAIRS)
def test_48_greedy_tokens_are_the_references(name: str, place: int) -> None:
    # each token is the reference's own choice behind those before it: by induction the texts are one
    prompt = len(PROMPTS[name][place])
    chosen = expected(name, place)[prompt - 1 : -1].argmax(-1)
    assert GREEDY_TOKENS == len(chosen)
    assert greedy(name, place)[prompt:] == tuple(chosen.tolist())


@pytest.mark.parametrize(("name", "place"), PAIRS)
def test_fast_numerics_stay_near_the_reference(name: str, place: int) -> None:
    # how near llama.cpp stays: python -m tools.bench.gguf_distance
    assert divergence(expected(name, place), rows(name, place, "fast")) < 0.05
