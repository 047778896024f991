"""Sampling: known answers, an independent second implementation's vectors, and the rules one by one."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.runtime import LaneFailed, Sampling
from tokenling.runtime.exp2_table import EXP2_TABLE
from tokenling.runtime.sampling import (
    choose,
    could_choose,
    draw64,
    id_of,
    kept,
    philox4x32,
    picked,
    top_values,
    weights_of,
)

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((Path(__file__).parent / "sampling_vectors.json").read_text("utf-8"))


def row(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def top_ids(logits: np.ndarray, top_k: int) -> list[int]:
    """The tokens in the order in which `choose` goes through them."""
    top = top_values(logits, top_k)
    return [id_of(logits, top, at) for at in range(len(top))]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_answers_of_its_authors(
    counter: tuple[int, int, int, int], key: tuple[int, int], expected: tuple[int, ...]
) -> None:
    assert expected == philox4x32(counter, key)


@pytest.mark.parametrize("tool", ["make_exp2_table.py", "make_sampling_vectors.py"])
def test_a_generated_file_is_what_its_generator_writes(tool: str) -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "tools" / tool, "--check"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, "unchanged\n")


@pytest.mark.parametrize("case", VECTORS["cases"], ids=range(len(VECTORS["cases"])))
def test_the_vectors_of_an_independent_implementation_are_met(case: dict[str, object]) -> None:
    logits = row(*[-math.inf if value is None else value for value in case["logits"]])  # type: ignore[attr-defined]
    sampling = Sampling(case["temperatureMilli"], case["topK"], case["topPMilli"], case["seed"])  # type: ignore[arg-type]
    assert case["token"] == choose(logits, sampling, case["step"]).token  # type: ignore[arg-type]


def test_the_draws_of_an_independent_implementation_are_met() -> None:
    for draw in VECTORS["draws"]:
        assert int(draw["draw"]) == draw64(draw["seed"], draw["step"])


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_that_follows_the_page_draws_the_same_tokens() -> None:
    here = Path(__file__).parent
    run = subprocess.run(
        ["node", here / "sampling_check.mjs", here / "sampling_vectors.json"],
        input=json.dumps(EXP2_TABLE),
        capture_output=True,
        text=True,
        check=False,
    )
    count = len(VECTORS["cases"])
    assert (run.returncode, run.stdout) == (0, f"{count} of {count}\n"), run.stderr


def test_the_weights_follow_the_exponential_within_their_table() -> None:
    logits = np.linspace(0, -21, 4096, dtype=np.float32)
    found = weights_of(logits, 0.0, 1000)
    expected = np.exp(logits.astype(np.float64)) * 2**32
    assert np.abs(found / expected - 1)[expected > 2**14].max() < 4e-4
    assert (found[0], weights_of(row(-40), 0.0, 1000)[0]) == (2**32, 0)
    assert len(EXP2_TABLE) == 1024


def test_one_weight_worked_by_hand() -> None:
    # one nat: d = 65536, x = (65536 * 1549082005 + 2^35) >> 36 = 1477, so 2^32 * 2^(-453/1024) >> 1
    assert EXP2_TABLE[453] >> 1 == weights_of(row(1.0), 2.0, 1000)[0]


def test_ties_go_to_the_lower_id_everywhere() -> None:
    assert choose(row(0, 3, 3, 3), Sampling(0, 40, 1000, 5), 0).token == 1
    assert top_ids(row(1, 2, 1, 2, 1), 3) == [1, 3, 0]
    assert top_ids(row(1, 2, 1, 2, 1), 0) == [1, 3, 0, 2, 4]


def test_many_ties_go_to_the_lower_ids() -> None:
    logits = np.tile(row(1, 2), 200)
    assert top_ids(logits, 150) == list(range(1, 300, 2))
    assert top_ids(logits, 0) == [*range(1, 400, 2), *range(0, 400, 2)]


def test_a_mark_on_a_border_belongs_to_the_next_token_of_any_weight() -> None:
    sums = [5, 5, 8]
    assert [picked(sums, mark) for mark in (0, 4, 5, 7)] == [0, 0, 2, 2]


def test_top_p_keeps_the_fewest_that_reach_the_share() -> None:
    sums = np.array([500, 800, 950, 1000])
    assert [kept(sums, share) for share in (0, 500, 501, 800, 950, 1000)] == [1, 1, 2, 2, 3, 4]


def test_a_masked_token_is_never_chosen() -> None:
    logits = row(*[-math.inf] * 50, 1.0, *[-math.inf] * 50)
    for step in range(200):
        assert choose(logits, Sampling(5000, 0, 1000, 9), step).token == 50


@pytest.mark.parametrize("bad", [(math.nan, 1.0), (1.0, math.nan), (math.inf, 0.0), (-math.inf, -math.inf)])
@pytest.mark.parametrize("temperature", [0, 850])
def test_logits_that_are_not_finite_fail_the_lane(bad: tuple[float, float], temperature: int) -> None:
    with pytest.raises(LaneFailed) as failure:
        choose(row(*bad), Sampling(temperature, 40, 920, 0), 0)
    assert failure.value.code == "logits_not_finite"


def test_tokens_come_as_often_as_their_shares() -> None:
    logits = row(1.0, 0.0, -1.0, 2.0)
    shares = np.exp(logits) / np.exp(logits).sum()
    counts = np.bincount([choose(logits, Sampling(1000, 0, 1000, 3), step).token for step in range(4000)], minlength=4)
    # four standard deviations: seeded, so this cannot flicker
    assert (np.abs(counts - 4000 * shares) < 4 * np.sqrt(4000 * shares * (1 - shares))).all()


LOGITS = st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=40)


@settings(deadline=None)
@given(
    values=LOGITS,
    temperature=st.sampled_from([0, 400, 850, 2000]),
    top_k=st.integers(0, 12),
    top_p=st.integers(1, 1000),
    seed=st.integers(0, 2**53 - 1),
    change_seed=st.integers(0, 2**32 - 1),
)
def test_a_small_change_of_the_logits_leads_only_where_could_choose_says(
    *, values: list[float], temperature: int, top_k: int, top_p: int, seed: int, change_seed: int
) -> None:
    logits, sampling = row(*values), Sampling(temperature, top_k, top_p, seed)
    rng = np.random.default_rng(change_seed)
    moved = (logits.astype(np.float64) + rng.uniform(-9.9e-4, 9.9e-4, len(values))).astype(np.float32)
    token = choose(moved, sampling, 0).token
    assert could_choose(logits, sampling, 0, choose(logits, sampling, 0).token)
    assert could_choose(logits, sampling, 0, token)


def test_a_far_token_could_not_have_been_chosen() -> None:
    logits = row(5.0, 0.0, -5.0, 4.999)
    steps = range(300)
    sampled = [choose(logits, Sampling(1000, 0, 1000, 1), step).token for step in steps]
    doubtful = [
        sum(could_choose(logits, Sampling(1000, 0, 1000, 1), step, token) for token in range(4)) for step in steps
    ]
    assert sum(count == 1 for count in doubtful) + sum(token in (0, 3) for token in sampled) > 290
    assert not could_choose(logits, Sampling(0, 0, 1000, 1), 0, 1)
    assert could_choose(logits, Sampling(0, 0, 1000, 1), 0, 3)


def test_a_near_tie_is_a_draw_at_an_edge() -> None:
    logits = row(1.0, 1.0)
    near = [step for step in range(20_000) if choose(logits, Sampling(1000, 0, 1000, 0), step).near_tie]
    at = [draw64(0, step) / 2**64 for step in near]
    assert all(abs(place - 0.5) < 6e-4 for place in at)
    assert 5 < len(near) < 40  # 2e-3 * 0.25 on both sides of the middle, of 20,000: 20


@pytest.mark.parametrize("size", [2, 2048, 49_152])
def test_a_nan_is_a_fault_wherever_it_stands(size: int) -> None:
    for at in (0, size // 2, size - 1):
        for temperature in (0, 850):
            logits = np.zeros(size, dtype=np.float32)
            logits[at] = np.nan
            with pytest.raises(LaneFailed) as failure:
                choose(logits, Sampling(temperature, 40, 920, 1), 0)
            assert failure.value.code == "logits_not_finite"


@pytest.mark.parametrize("size", [1001, 49_152])
@pytest.mark.parametrize("top_k", [1, 2, 40, 1000])
def test_the_top_of_a_large_vocabulary_is_that_of_sorting_it(size: int, top_k: int) -> None:
    rng = np.random.default_rng(size + top_k)
    rows = {
        "spread": rng.normal(size=size),
        "full of ties": rng.integers(0, 5, size=size),
        "nearly all illegal": np.where(rng.random(size) < 0.001, rng.normal(size=size), -np.inf),
        "all the same": np.zeros(size),
        "the best last": np.arange(size),
    }
    for row in rows.values():
        logits = row.astype(np.float32)
        expected = np.argsort(-logits, kind="stable")[:top_k]
        assert expected.tolist() == top_ids(logits, top_k)
