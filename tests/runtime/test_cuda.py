"""The CUDA lane as far as it goes without a device: its start fails truly here, its steps run on the CPU."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_brain
import trio

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.runtime import (
    Brain,
    BrainRefused,
    DecodePlan,
    Device,
    Lane,
    LaneFailed,
    Sampling,
    decode,
    on_cuda,
    open_brain,
)
from tokenling.runtime.cancellation import Cancellation
from tokenling.runtime.lane import STUCK_S
from tokenling.runtime.ort import CUDA_OPTIONS, open_session
from tokenling.runtime.rewrite import rewrite
from tokenling.runtime.steps import BoundSteps, Steps

GRAPH = "onnx/model_q4.onnx"
SHAPES = {
    "llama": tiny_brain.Shape(),
    "gpt2": tiny_brain.Shape("gpt2", last_only=True),
    "neox": tiny_brain.Shape("gpt_neox", position="cache_position", position_rank=1),
    "half": tiny_brain.Shape(cache="float16", integers="int32"),
    "double": tiny_brain.Shape(cache="float64", token_types=True, mask=False),
}


def plan_of(brain: Brain, seed: int, *, chunk: int = 0) -> DecodePlan:
    prompt = tuple(np.random.default_rng(seed).integers(0, brain.config.vocabulary, 37).tolist())
    return DecodePlan(prompt, 40, Sampling(850, 40, 920, seed), (), prefill_chunk=chunk, ignore_eos=True)


@pytest.mark.parametrize("name", SHAPES)
def test_bound_steps_give_the_logits_of_unbound_ones_to_the_bit(name: str, tmp_path: Path) -> None:
    brain = open_brain(tiny_brain.make_brain(tmp_path, SHAPES[name]))
    plan = plan_of(brain, 3)
    both = [steps(brain, 80, Cancellation()) for steps in (Steps, BoundSteps)]
    for feed in (plan.prompt_ids, (5,), (7, 9, 11), (1,)):
        expected, found = (steps.step(feed) for steps in both)
        np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("chunk", [0, 16])
def test_a_bound_lane_writes_what_an_unbound_one_writes(brain: Brain, chunk: int) -> None:
    for seed in range(4):
        plan = plan_of(brain, seed, chunk=chunk)
        expected = decode(Lane(brain), plan)
        assert expected.token_ids == decode(Lane(brain, steps=BoundSteps), plan).token_ids


async def test_a_bound_turn_that_is_cancelled_leaves_the_lane_as_it_was(brain: Brain) -> None:
    lane, plan = Lane(brain, steps=BoundSteps), plan_of(brain, 1)
    expected = (await lane.generate(plan)).token_ids
    for deadline_s in (0.0, 0.001, 0.004):
        with trio.move_on_after(deadline_s):
            await lane.generate(plan)
    assert expected == (await lane.generate(plan)).token_ids


async def test_a_device_that_hangs_is_left_behind_and_its_lane_takes_no_turn_again(brain: Brain) -> None:
    released = threading.Event()

    class Hung(Steps):
        """The real steps, on a driver that does not come back."""

        def _run(self, token_values: "Iterable[object]") -> "Sequence[object]":
            released.wait()
            return super()._run(token_values)  # type: ignore[arg-type]

    lane = Lane(brain, steps=Hung)
    lane.brain = replace(brain, device=Device("cuda", 0))
    try:
        began = trio.current_time()
        with trio.move_on_after(0.05) as cancelled:
            await lane.generate(plan_of(brain, 1))
        assert cancelled.cancelled_caught
        assert STUCK_S <= trio.current_time() - began < STUCK_S + 5
        with pytest.raises(LaneFailed) as failed:
            await lane.generate(plan_of(brain, 1))
        assert "lane_busy" == failed.value.code
    finally:
        released.set()


def test_a_lane_binds_on_a_device_with_a_memory_of_its_own_alone(brain: Brain) -> None:
    there = replace(brain, device=Device("cuda", 1))
    assert ("CPUExecutionProvider", Steps) == (Lane(brain).provider, Lane(brain).steps)
    assert ("CUDAExecutionProvider", BoundSteps) == (Lane(there).provider, Lane(there).steps)


def test_a_device_that_is_not_there_is_refused_by_name_and_ort_writes_nothing_itself(
    brain: Brain, brain_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No machine has a CUDA device of this index: whatever is missing first (wheel, library, device) is named."""
    with pytest.raises(BrainRefused) as refused:
        on_cuda(brain, brain_dir, index=63)
    assert ("cuda_unavailable", "device cuda:63") == (refused.value.code, refused.value.subject)
    assert refused.value.found
    assert ("", "") == capfd.readouterr()


def test_a_refused_device_leaves_the_cpu_brain_running(brain: Brain, brain_dir: Path) -> None:
    before = decode(Lane(brain), plan_of(brain, 2)).token_ids
    with pytest.raises(BrainRefused):
        on_cuda(brain, brain_dir, index=63)
    assert before == decode(Lane(brain), plan_of(brain, 2)).token_ids


def test_a_device_never_gets_other_bytes_than_the_cpu_runs(brain: Brain, brain_dir: Path) -> None:
    other = replace(brain, file_sha256={**brain.file_sha256, GRAPH: "0" * 64})
    with pytest.raises(BrainRefused) as refused:
        on_cuda(other, brain_dir, index=0)
    assert ("file_changed", GRAPH) == (refused.value.code, refused.value.subject)


def test_a_brain_made_of_a_gguf_has_no_device_but_the_cpu(brain: Brain, brain_dir: Path) -> None:
    with pytest.raises(BrainRefused, match="gguf") as refused:
        on_cuda(replace(brain, precision="gguf"), brain_dir, index=0)
    assert "device_unknown" == refused.value.code


def test_the_graph_of_a_device_is_the_stored_one_but_for_its_last_row() -> None:
    """In the stored operators' versions, which the device's kernels are for; the CPU gets newer ones."""
    stored = (shipped_brain_dir() / GRAPH).read_bytes()
    made = [onnx.load_from_string(rewrite(stored, GRAPH, attention=lifts).model) for lifts in (False, True)]
    there, here = ({node.op_type for node in model.graph.node} for model in made)
    assert ("Attention" not in there, "Attention" in here) == (True, True)
    first = onnx.load_from_string(stored)
    assert (first.opset_import, first.ir_version) == (made[0].opset_import, made[0].ir_version)
    brain = open_brain(shipped_brain_dir())
    session = open_session(made[0].SerializeToString(), "exact", 1, GRAPH)
    lane = Lane(replace(brain, ort_session=session, unread=frozenset()), steps=BoundSteps)
    assert decode(Lane(brain), plan_of(brain, 4)).token_ids == decode(lane, plan_of(brain, 4)).token_ids
    steps = BoundSteps(lane.brain, 8, Cancellation())
    rows = steps._run(steps._token_values((5, 6, 7)))[0].numpy()
    assert (1, 1, brain.config.vocabulary) == rows.shape


def test_float32_stays_float32_on_a_device() -> None:
    assert "0" == CUDA_OPTIONS["use_tf32"]
