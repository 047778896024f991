"""Growing: a larger brain begins as one that says what the smaller one says, and refuses what it could not hold."""

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs the train group")

from tools.train_brain.grow import grown, source_of  # noqa: E402 - only with torch
from tools.train_brain.model import Places, Weights, fresh_weights, hidden_states, logits_of, rotary_table  # noqa: E402
from tools.train_brain.recipe import Recipe  # noqa: E402
from tools.train_brain.shape import Shape  # noqa: E402
from tools.train_brain.train import Run  # noqa: E402

OLD = Shape(vocab_size=64, hidden_size=32, num_hidden_layers=2, intermediate_size=32)
LARGER = dataclasses.replace(OLD, hidden_size=64, num_hidden_layers=5, intermediate_size=96)


def logits(shape: Shape, weights: Weights) -> torch.Tensor:
    ids = torch.arange(24).reshape(2, 12) * 5 % shape.vocab_size
    with torch.no_grad():
        return logits_of(weights, hidden_states(shape, weights, ids, Places(*rotary_table(shape, 12))))


@pytest.mark.parametrize("change", [{}, {"hidden_size": 64}, {"num_hidden_layers": 3}, {"intermediate_size": 96}])
def test_a_grown_brain_thinks_what_the_smaller_one_thinks(change: dict[str, int]) -> None:
    shape = dataclasses.replace(OLD, **change) if change else LARGER
    old = fresh_weights(OLD, seed=3)
    old["model.embed_tokens.weight"] *= 50  # as large as trained ones: beside them the norm's epsilon is nothing
    larger = grown({name: weight.numpy() for name, weight in old.items()}, OLD, shape, seed=4)
    torch.testing.assert_close(logits(OLD, old), logits(shape, larger), atol=2e-4, rtol=1e-3)


def test_what_was_added_learns() -> None:
    old = fresh_weights(OLD, seed=3)
    larger = grown({name: weight.numpy() for name, weight in old.items()}, OLD, LARGER, seed=4)
    for weight in larger.values():
        weight.requires_grad_()
    ids = torch.arange(12).reshape(1, 12)
    places = Places(*rotary_table(LARGER, 12))
    logits_of(larger, hidden_states(LARGER, larger, ids, places)).square().mean().backward()
    added = larger["model.layers.1.self_attn.o_proj.weight"].grad
    assert added is not None
    assert added.abs().max() > 0  # a silent copy of layer 0 has a way to begin to speak


def test_new_layers_are_strewn_between_the_old_ones() -> None:
    kept = [source_of(f"model.layers.{layer}.mlp.up_proj.weight", 2, 5) for layer in range(5)]
    assert [True, False, False, True, False] == [is_old for _, is_old in kept]
    assert [0, 0, 0, 1, 1] == [int(name.split(".")[2]) for name, _ in kept]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hidden_size": 16}, "hidden_size: found 16, expected 32 or more"),
        ({"num_hidden_layers": 1}, "num_hidden_layers: found 1, expected 2 or more"),
        ({"num_attention_heads": 8}, "num_attention_heads: found 8, expected 6 as in the old brain"),
    ],
)
def test_a_shape_that_cannot_hold_the_old_brain_is_refused(change: dict[str, int], told: str) -> None:
    old = {name: weight.numpy() for name, weight in fresh_weights(OLD, seed=3).items()}
    with pytest.raises(ValueError, match=told):
        grown(old, OLD, dataclasses.replace(OLD, **change), seed=4)


def test_a_run_that_began_grown_remembers_from_what(tmp_path: Path) -> None:
    run = Run(tmp_path, OLD, Recipe(threads=1))
    run.begin_from(fresh_weights(OLD, seed=9), {"id": "sprout-9"})
    again = Run(tmp_path, OLD, Recipe(threads=1))
    again.resume()
    again.save()
    last = Run(tmp_path, OLD, Recipe(threads=1))
    last.resume()
    assert last.grown_from == {"id": "sprout-9"}
    assert last.step == 0
    for name, weight in fresh_weights(OLD, seed=9).items():
        assert torch.equal(weight, last.weights[name]), name
