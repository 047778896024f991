"""The training loop: two workers make the update of one, resume where they stood, and mix drills in as told."""

import dataclasses
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs the train group")

from tools.train_brain.model import mix  # noqa: E402 - only with torch
from tools.train_brain.parallel import in_parallel  # noqa: E402
from tools.train_brain.pieces import Example, grow_trees  # noqa: E402
from tools.train_brain.recipe import Recipe  # noqa: E402
from tools.train_brain.record import as_trained  # noqa: E402
from tools.train_brain.repeat import repeated  # noqa: E402
from tools.train_brain.shape import Shape  # noqa: E402
from tools.train_brain.shards import Shard, make_shard  # noqa: E402
from tools.train_brain.tokenizer import train_tokenizer  # noqa: E402
from tools.train_brain.train import Place, Run, is_drill, run_worker, steps_of  # noqa: E402

SMALL = Shape(vocab_size=270, hidden_size=32, num_hidden_layers=1, intermediate_size=32)
RECIPE = Recipe(
    steps=4, decay_steps=2, quantized_steps=1, warmup_steps=1, bare_steps=1, batch_tokens=128, threads=1,
    drill_percent=50, validate_steps=1000, checkpoint_steps=1000,
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder with two little shards."""
    texts = [f"Owner: {word} {word}\nPip: {word}!\n" for word in ("hop", "nap", "moon", "crumb")]
    tokenizer = train_tokenizer(texts * 3, 270)
    for name, header in (("training", "Pip is here.\n"), ("held_out", "Pip.\n"), ("drills", "")):
        examples = [
            Example(f"{header}{number}\nOwner: {word * 3}\nPip:", f" {word}!", "line", {})
            for number in range(30)
            for word in ("hop", "nap")
        ]
        make_shard(grow_trees(examples, tokenizer, 120)).save(tmp_path / f"{name}.npz")
    return tmp_path


def shard_of(folder: Path, name: str) -> Shard:
    from tools.train_brain.shards import load_shard

    return load_shard(folder / f"{name}.npz")


def trained(folder: Path, recipe: Recipe) -> dict[str, object]:
    in_parallel(recipe.workers, partial(run_worker, folder=folder, shape=SMALL, recipe=recipe))
    state: dict[str, object] = torch.load(folder / "checkpoint.pt", weights_only=True)
    return state


def test_two_workers_end_alike_each_time_and_otherwise_than_one(folder: Path) -> None:
    two = dataclasses.replace(RECIPE, workers=2)
    found = []
    for recipe in (two, two, RECIPE):
        (folder / "checkpoint.pt").unlink(missing_ok=True)
        found.append(trained(folder, recipe))
    first, again, alone = found
    assert first["at"] == again["at"] == [4, 1, 3, 0, 4]
    for name, weight in first["weights"].items():  # type: ignore[attr-defined]  # a dictionary of tensors
        assert torch.equal(weight, again["weights"][name]), name  # type: ignore[index]
    assert any(not torch.equal(w, alone["weights"][n]) for n, w in first["weights"].items())  # type: ignore[attr-defined,index]


def test_the_same_recipe_gives_the_same_weights_each_time_and_another_seed_others(folder: Path) -> None:
    recipe = dataclasses.replace(RECIPE, steps=6)
    first, again = repeated(folder, SMALL, recipe)
    assert first == again
    assert first not in list(repeated(folder, SMALL, dataclasses.replace(recipe, seed=2), times=1))
    assert not (folder / "checkpoint.pt").exists()


def test_the_gradient_of_two_workers_is_the_mean_of_theirs(folder: Path) -> None:
    in_parallel(2, partial(check_mean, folder=folder))


def check_mean(worker: int, folder: Path) -> None:
    """In each of two processes: its gradients after averaging are the mean of both batches' own."""
    from tools.train_brain.parallel import average_gradients

    recipe = dataclasses.replace(RECIPE, workers=2)
    expected: list[torch.Tensor] = []
    for number in range(2):
        run = Run(folder, SMALL, recipe, worker=number)
        run.loss(run.weights, next(steps_of(run, *shards(folder))), with_prompt=True).backward()
        expected.append(torch.cat([weight.grad.reshape(-1) for weight in run.weights.values()]))
    assert not torch.equal(*expected)
    run = Run(folder, SMALL, recipe, worker=worker)
    run.loss(run.weights, next(steps_of(run, *shards(folder))), with_prompt=True).backward()
    average_gradients(run.weights.values(), 2)
    found = torch.cat([weight.grad.reshape(-1) for weight in run.weights.values()])
    torch.testing.assert_close(found, (expected[0] + expected[1]) / 2)


def shards(folder: Path) -> tuple[Shard, Shard]:
    return shard_of(folder, "training"), shard_of(folder, "drills")


def test_a_workers_fault_is_raised_where_the_run_was_begun() -> None:
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match="worker 1 fell"):
        in_parallel(2, fall)


def fall(worker: int) -> None:
    if worker == 1:
        raise RuntimeError("worker 1 fell")


def test_no_worker_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="workers is 0, expected 1 or more"):
        in_parallel(0, fall)


@pytest.mark.parametrize(("percent", "expected"), [(0, 0), (25, 50), (50, 100), (75, 150), (100, 200)])
def test_drills_are_strewn_by_their_share(percent: int, expected: int) -> None:
    recipe = dataclasses.replace(RECIPE, drill_percent=percent)
    drawn = [is_drill(number, recipe) for number in range(200)]
    assert expected == sum(drawn)
    assert expected // 10 == sum(drawn[60:80])


def test_workers_share_each_steps_batches_and_leave_none_out(folder: Path) -> None:
    def taken(workers: int, worker: int, steps: int) -> list[bytes]:
        run = Run(folder, SMALL, dataclasses.replace(RECIPE, steps=6, bare_steps=0, workers=workers), worker)
        made = []
        for _, batch in zip(range(steps), steps_of(run, *shards(folder)), strict=False):
            made.append(batch.ids.tobytes())
            run.step += 1
        return made

    first, second = taken(2, 0, 3), taken(2, 1, 3)
    assert taken(1, 0, 6) == [ids for pair in zip(first, second, strict=True) for ids in pair]


def test_a_resumed_run_ends_as_one_that_never_stopped(folder: Path) -> None:
    whole = trained(folder, RECIPE)
    (folder / "checkpoint.pt").unlink()
    run = Run(folder, SMALL, RECIPE)
    steps = steps_of(run, *shards(folder))
    for _ in range(2):
        run.train_step(next(steps))
    run.save()
    resumed = trained(folder, RECIPE)
    assert whole["at"] == resumed["at"]
    for name, weight in whole["weights"].items():  # type: ignore[attr-defined]  # a dictionary of tensors
        torch.testing.assert_close(weight, resumed["weights"][name])  # type: ignore[index]


def test_a_checkpoint_from_before_there_were_drills_begins_them(folder: Path) -> None:
    run = Run(folder, SMALL, RECIPE)
    run.step, run.at_lives = 3, Place(1, 2)
    run.save()
    state = torch.load(run.checkpoint, weights_only=True)
    torch.save(state | {"at": state["at"][:3]}, run.checkpoint)
    resumed = Run(folder, SMALL, RECIPE)
    resumed.resume()
    assert (resumed.step, resumed.at_lives, resumed.at_drills) == (3, Place(1, 2), Place(0, 0))


def test_written_out_attention_is_the_librarys() -> None:
    chance = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn((2, 3, 7, 8), generator=chance) for _ in range(3))
    seen = torch.rand((2, 1, 7, 7), generator=chance) < 0.5
    seen |= torch.eye(7, dtype=torch.bool)
    unseen = torch.zeros(seen.shape).masked_fill_(~seen, -torch.inf)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    torch.testing.assert_close(mix(q, k, v, unseen), expected)


def test_a_run_that_rounded_leaves_matrices_that_the_export_rounds_to_themselves(folder: Path) -> None:
    from tools.export_brain.quantize import quantize

    recipe = dataclasses.replace(RECIPE, steps=2)
    state = trained(folder, recipe)
    rounded, loose = (as_trained(state["weights"], [{"recipe": {"quantized_steps": n}}]) for n in (1, 0))  # type: ignore[arg-type]  # a dictionary of tensors
    name = "model.layers.0.mlp.up_proj.weight"
    for weights, lost in ((rounded, 0.0), (loose, 1e-4)):
        matrix = weights[name].detach().numpy()
        error = abs(quantize(matrix, bits=4, axis=1).undone() - matrix).max()
        assert (error <= 1e-6) if lost == 0.0 else (error > lost)
