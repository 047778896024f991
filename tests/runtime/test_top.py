"""What is chosen from a step's greatest logits is what is chosen from the whole row, in every field of a generation."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_brain
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tokenling.engine.request import GenerationRequest
from tokenling.runtime import Brain, Cancellation, Generation, Lane, LaneFailed, Sampling, open_brain, plan_turn
from tokenling.runtime.loop import run_plan
from tokenling.runtime.plan import DecodePlan
from tokenling.runtime.sampling import Logits, choose, choose_among, top_values
from tokenling.runtime.steps import Steps
from tokenling.runtime.tags import TokenIndex
from tokenling.runtime.tokenizer import TokenTable
from tokenling.runtime.top import TOP_COUNT, Top, with_top
from tokenling.runtime.writer import Writer


class Blind(Steps):
    """Steps that look at whole rows only."""

    def step(self, ids: Sequence[int]) -> Logits:
        row = super().step(ids)
        self.top = None
        return row


def generation(brain: Brain, lane: Lane, plan: DecodePlan, steps: type[Steps]) -> Generation:
    """What `steps` give for a plan, without its times."""
    writer = Writer(plan, lane.index, brain.config.eos_ids)
    opened = steps(brain, len(plan.prompt_ids) + plan.max_new, Cancellation())
    return replace(run_plan(opened, writer, plan), prefill_ms=0, decode_ms=0)


@pytest.mark.parametrize("temperature_milli", [0, 300, 850, 3000])
@pytest.mark.parametrize("top_k", [0, 1, 40, TOP_COUNT, TOP_COUNT + 1])
def test_a_turn_is_the_same_with_and_without(
    brain: Brain, lane: Lane, pet_request: GenerationRequest, temperature_milli: int, top_k: int
) -> None:
    counts = []
    for seed in range(12):
        asked = replace(pet_request, seed=seed, temperature_milli=temperature_milli, top_k=top_k, top_p_milli=980)
        plan = replace(plan_turn(asked, brain), ignore_eos=True)
        found = generation(brain, lane, plan, Steps)
        assert generation(brain, lane, plan, Blind) == found
        counts.append((len(found.token_ids), len(found.choices)))
    assert min(counts) > (1, 0), "tags were written, and their branch points noted"


def test_padded_rows_of_a_model_are_never_written(tmp_path: Path, pet_request: GenerationRequest) -> None:
    directory = tiny_brain.make_brain(tmp_path / "padded", tiny_brain.Shape(vocabulary=640))
    brain = open_brain(directory)
    lane = Lane(brain)
    assert lane.index.size < 640
    for seed in range(20):
        plan = replace(plan_turn(replace(pet_request, seed=seed, temperature_milli=3000), brain), ignore_eos=True)
        assert generation(brain, lane, plan, Blind) == generation(brain, lane, plan, Steps)


def test_a_steps_top_is_its_row_sorted_equals_by_the_lower_id(brain: Brain) -> None:
    steps = Steps(brain, 8, Cancellation())
    row = steps.step([5, 9, 3]).copy()
    order = np.lexsort((np.arange(row.shape[0]), -row))[:TOP_COUNT]
    assert steps.top is not None
    assert (order.tolist(), row[order].tolist()) == (list(steps.top.ids), steps.top.values.tolist())


FEW = st.sampled_from([0.0, -0.0, 1.0, 1.0000001, -3.5, 2.0])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(FEW, min_size=1, max_size=90), st.integers(0, 41), st.sampled_from([0, 1, 850, 4000]), st.integers(0, 9)
)
def test_equals_are_picked_by_the_same_rule(values: list[float], top_k: int, temperature: int, seed: int) -> None:
    row = np.array(values, dtype=np.float32)
    order = sorted(range(len(values)), key=lambda at: (-values[at], at))
    sampling = Sampling(temperature, top_k, 900, seed)
    assert choose(row, sampling, 3) == choose_among(row[order], order, sampling, 3)
    assert top_values(row, top_k).tolist() == row[order][: top_k or None].tolist()


def test_a_row_that_is_not_finite_is_looked_at_itself(tmp_path: Path, pet_request: GenerationRequest) -> None:
    directory = tiny_brain.make_brain(tmp_path / "nan", precisions=("fp32",))
    model = onnx.load(str(directory / tiny_brain.FILES["fp32"]))
    head = next(node for node in model.graph.node if "logits" in node.output)
    head.output[0] = "finite"
    bad = np.zeros((1, 1, 448), dtype=np.float32)
    bad[0, 0, 300] = np.nan  # of one token alone
    model.graph.initializer.append(onnx.numpy_helper.from_array(bad, "bad"))
    model.graph.node.append(helper.make_node("Add", ["finite", "bad"], ["logits"]))
    spoiled = open_with(directory, model)
    plan = plan_turn(pet_request, spoiled)
    steps = Steps(spoiled, 64, Cancellation())
    steps.step(plan.prompt_ids)
    assert steps.top is None
    with pytest.raises(LaneFailed, match="logits_not_finite"):
        generation(spoiled, Lane(spoiled), plan, Steps)


def open_with(directory: Path, model: onnx.ModelProto) -> Brain:
    """The brain with another fp32 graph."""
    onnx.save(model, str(directory / tiny_brain.FILES["fp32"]))
    (directory / "brain.json").unlink()
    return open_brain(directory, precision="fp32", brain_id="spoiled-0", features=())


@pytest.mark.parametrize("vocabulary", [TOP_COUNT, 448])
def test_a_graph_without_room_or_of_an_old_opset_stays_as_it_is(brain_dir: Path, vocabulary: int) -> None:
    model = (brain_dir / tiny_brain.FILES["fp32"]).read_bytes()
    old = onnx.load_from_string(model)
    old.opset_import[0].version = 12
    assert with_top(old.SerializeToString(), "model", vocabulary)[1] is None
    assert (vocabulary > TOP_COUNT) == (with_top(model, "model", vocabulary)[1] is not None)
    assert (model[:50], None) == with_top(model[:50], "model", vocabulary)


def test_names_that_the_graph_has_are_left_to_it(brain_dir: Path) -> None:
    model = onnx.load(str(brain_dir / tiny_brain.FILES["fp32"]))
    model.graph.node.append(helper.make_node("Identity", ["logits"], ["logits.top.values"]))
    changed, names = with_top(model.SerializeToString(), "model", 448)
    assert names is not None
    assert "logits.top.values_" == names.values
    onnx.checker.check_model(onnx.load_from_string(changed))


def test_few_legal_tokens_are_sorted_as_all_are() -> None:
    table = TokenTable((*(bytes((byte,)) for byte in range(33, 127)), b"[a]", b"[b]"))
    index = TokenIndex(table)
    plan = DecodePlan((1,), 9, Sampling(900, 40, 950, 5), (), constraint=("[a]", "[b]"), ignore_eos=True)
    rng = np.random.default_rng(1)
    seen, told = Writer(plan, index, ()), Writer(plan, index, ())
    for _ in range(9):
        row = rng.normal(size=index.size).astype(np.float32)
        row[table.bytes_of.index(b"[")] += 9 if rng.random() < 0.5 else 0
        order = np.lexsort((np.arange(index.size), -row))[:TOP_COUNT]
        told.write(row, Top(row[order], order.tolist()))
        seen.write(row)
    assert (seen.token_ids, seen.choices, seen.near_ties) == (told.token_ids, told.choices, told.near_ties)
    assert seen.choices
