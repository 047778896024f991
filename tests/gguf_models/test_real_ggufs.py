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
TEXTS = (
    "The pet sat by the window and watched the rain fall on the garden. Then it",
    "Water boils at a lower temperature on a mountain because",
    "def fibonacci(n):\n    ",
)
PROMPTS = {
    # these, as llama.cpp tokenises them (tools/bench/llama_cpp_tokens.mjs), and Gemma's BOS
    SMOLLM2: (
        (504, 4144, 2643, 411, 260, 5700, 284, 12635, 260, 5249, 2332, 335, 260, 4480, 30, 3875, 357),
        (12615, 36411, 418, 253, 2208, 2779, 335, 253, 6740, 975),
        (1604, 3987, 46477, 24, 94, 727, 2367),
    ),
    GEMMA3: (
        (2, 818, 4493, 2838, 684, 506, 4771, 532, 19061, 506, 6927, 3798, 580, 506, 7972, 236761, 4298, 625),
        (2, 17390, 104264, 657, 496, 3718, 4022, 580, 496, 10565, 1547),
        (2, 2063, 10779, 78113, 236769, 236749, 1473, 107, 140),
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
