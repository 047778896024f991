"""Several sequences in one step: each one's logits are those that it has alone, to the bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.runtime import Brain, BrainRefused, open_brain
from tokenling.runtime.cancellation import Cancellation
from tokenling.runtime.rows import RowGraph, RowSteps, open_rows, prove, row_counts
from tokenling.runtime.steps import Steps

MOST = 16


@pytest.fixture(scope="module")
def shipped() -> Brain:
    return open_brain(shipped_brain_dir())


@pytest.fixture(scope="module")
def graphs(shipped: Brain) -> tuple[RowGraph, ...]:
    return open_rows(shipped, shipped_brain_dir(), MOST)


def grown(brain: Brain, length: int, seed: int) -> Steps:
    steps = Steps(brain, length + 40, Cancellation())
    steps.step(np.random.default_rng(seed).integers(0, brain.config.vocabulary, length).tolist())
    return steps


def test_the_sizes_are_powers_of_two_up_to_the_most() -> None:
    assert [(2,), (2, 3), (2, 4), (2, 4, 8), (2, 4, 8, 16)] == [row_counts(most) for most in (2, 3, 4, 8, 16)]


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_rows_of_any_lengths_have_the_logits_of_each_alone_to_the_bit(
    shipped: Brain, graphs: tuple[RowGraph, ...], size: int
) -> None:
    rng = np.random.default_rng(size)
    graph = next(graph for graph in graphs if graph.rows == size)
    lengths = [1, *rng.integers(1, 700, size - 1).tolist()]
    both = [[grown(shipped, length, row) for row, length in enumerate(lengths)] for _ in range(2)]
    steps = RowSteps(shipped, graph)
    for _ in range(20):
        ids = rng.integers(0, shipped.config.vocabulary, size).tolist()
        for row, logits in enumerate(steps.step(both[0], ids)):
            np.testing.assert_array_equal(both[1][row].step((ids[row],)), logits)


@pytest.mark.parametrize("present", [1, 3, 5, 7])
def test_rows_that_nobody_has_change_nothing(shipped: Brain, graphs: tuple[RowGraph, ...], present: int) -> None:
    steps = RowSteps(shipped, graphs[2])
    rows, alone = ([grown(shipped, 20 + row, row) for row in range(present)] for _ in range(2))
    for token in (5, 6, 7):
        for row, logits in enumerate(steps.step(rows, [token + row for row in range(present)])):
            np.testing.assert_array_equal(alone[row].step((token + row,)), logits)


def test_a_machine_whose_kernels_differ_between_one_row_and_several_is_refused(
    shipped: Brain, graphs: tuple[RowGraph, ...]
) -> None:
    """The fused int8 kernels of `fast` stand for such a machine."""
    fast = open_rows(open_brain(shipped_brain_dir(), numerics="fast"), shipped_brain_dir(), 2)
    with pytest.raises(BrainRefused, match="row 0 of 2 with other logits than alone") as refused:
        prove(shipped, fast[0])
    assert "rows_unsupported" == refused.value.code
    prove(shipped, graphs[0])


def test_a_graph_whose_attention_is_not_the_standard_one_is_refused(brain: Brain, brain_dir: Path) -> None:
    with pytest.raises(BrainRefused) as refused:
        open_rows(brain, brain_dir, 4)
    assert "rows_unsupported" == refused.value.code


@pytest.mark.parametrize("most", [-1, 0, 1, 17])
def test_a_number_of_rows_that_is_none_is_refused(shipped: Brain, most: int) -> None:
    with pytest.raises(BrainRefused, match="2 to 16") as refused:
        open_rows(shipped, shipped_brain_dir(), most)
    assert "rows_range" == refused.value.code


def test_only_the_bytes_that_the_brain_runs_and_only_directories_have_rows(shipped: Brain) -> None:
    graph = "onnx/model_q4.onnx"
    for other, code in (
        (replace(shipped, file_sha256={**shipped.file_sha256, graph: "0" * 64}), "file_changed"),
        (replace(shipped, precision="gguf"), "rows_unsupported"),
    ):
        with pytest.raises(BrainRefused) as refused:
            open_rows(other, shipped_brain_dir(), 2)
        assert code == refused.value.code
