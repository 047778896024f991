"""The training loop: a stable rate, then a decay to zero, resumable at every checkpoint.

The rate follows warm-up, stable, decay: the stable part may be prolonged (`--steps`) and resumed without knowing the
end beforehand; the decay's last part runs with `FakeQuant`, so that the shipped int4 is what was trained.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import torch
import torch.nn.functional as F  # noqa: N812 - the name that every PyTorch text uses
from torch import Tensor
from tqdm import tqdm

from tools.train_brain.fake_quant import FakeQuant
from tools.train_brain.model import Places, Weights, fresh_weights, hidden_states, logits_of, rotary_table
from tools.train_brain.optimizer import Muon
from tools.train_brain.parallel import average_gradients
from tools.train_brain.pieces import EARLIER, GIVEN, OWN
from tools.train_brain.recipe import Recipe
from tools.train_brain.shape import Shape
from tools.train_brain.shards import Batch, Shard, batches, load_shard, without_trunks

PROMPT_SHARE = 0.15
"""The share of prompt positions that are learned too: chat lines teach words, at a seventh of their cost."""
PROMPT_WEIGHT = 0.25
"""What such a position counts beside one of the reply."""
EARLIER_WEIGHT = 0.4
"""What a position in an earlier reply of the pet's counts: learned for free, but the body may have moved since."""
VALIDATION_BATCHES_MAX = 24
"""Held-out batches looked at between training steps."""


@dataclass
class Place:
    """Where a run stands in a shard: its epoch, and the batches of it that were taken."""

    epoch: int = 0
    batch: int = 0

    def turn(self) -> None:
        """The next epoch begins."""
        self.epoch, self.batch = self.epoch + 1, 0


class Run:
    """A training run in a directory: checkpoint.pt, log.jsonl, and at the end weights that the export reads."""

    def __init__(self, folder: Path, shape: Shape, recipe: Recipe, worker: int = 0) -> None:
        self.folder, self.shape, self.recipe, self.worker = folder, shape, recipe, worker
        torch.set_num_threads(recipe.threads)
        self.weights: Weights = fresh_weights(shape, recipe.seed)
        for weight in self.weights.values():
            weight.requires_grad_()
        inner = {name: w for name, w in self.weights.items() if w.dim() == 2 and "embed" not in name}
        self.muon = Muon(list(inner.values()))
        outer = [w for name, w in self.weights.items() if name not in inner]
        self.adam = torch.optim.AdamW(outer, lr=recipe.rate, betas=(0.9, 0.95), weight_decay=0.01)
        self.cos, self.sin = rotary_table(shape, shape.max_position_embeddings)
        self.fake_quant = FakeQuant()
        self.stages = staged([], 0, recipe)
        self.grown_from: dict[str, object] = {}
        """The brain that this one began as a larger copy of, if it did."""
        self.step = 0
        """Updates made."""
        self.at_lives, self.at_drills = Place(), Place()

    @property
    def checkpoint(self) -> Path:
        """Where the run stands is kept here."""
        return self.folder / "checkpoint.pt"

    def save(self) -> None:
        """The checkpoint is replaced whole: a run that is killed while saving resumes from the one before."""
        state = {
            "at": [self.step, *astuple(self.at_lives), *astuple(self.at_drills)],
            "shape": asdict(self.shape),
            "stages": self.stages,
            "grown_from": self.grown_from,
            "weights": self.weights,
            "muon": self.muon.buffers,
            "adam": self.adam.state_dict(),
        }
        fresh = self.checkpoint.with_suffix(".new")
        torch.save(state, fresh)
        fresh.replace(self.checkpoint)

    def begin_from(self, weights: Weights, origin: dict[str, object]) -> None:
        """The run's first checkpoint holds these weights, and from where they came."""
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(weights[name])
        self.grown_from, self.stages = origin, []
        self.save()

    def resume(self) -> None:
        """Goes on where the checkpoint stands; the shape must be the same, the recipe may have grown."""
        state = torch.load(self.checkpoint, weights_only=True)
        if state["shape"] != asdict(self.shape):
            raise ValueError(f"checkpoint has shape {state['shape']}, expected {asdict(self.shape)}")
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(state["weights"][name])
            for buffer, kept in zip(self.muon.buffers, state["muon"], strict=True):
                buffer.copy_(kept)
        self.adam.load_state_dict(state["adam"])
        self.grown_from = state.get("grown_from", {})
        self.step, *places = state["at"]
        self.at_lives, self.at_drills = Place(*places[:2]), Place(*places[2:])  # an older one knows no drills
        self.stages = staged(state["stages"], self.step, self.recipe)

    def loss(self, weights: Weights, batch: Batch, *, with_prompt: bool) -> Tensor:
        """Mean loss of the learned positions, and of a share of the prompt's if asked for."""
        ids = torch.from_numpy(batch.ids)  # (B, T)
        kinds = torch.from_numpy(batch.kinds[:, 1:])  # (B, T-1): what the next id is
        counts = (kinds == OWN).float()
        if with_prompt:
            counts[kinds == EARLIER] = EARLIER_WEIGHT
            chance = torch.Generator().manual_seed(self.recipe.seed * 1_000_003 + self.step)
            drawn = torch.rand(counts.shape, generator=chance) < PROMPT_SHARE
            counts = torch.where((kinds == GIVEN) & drawn, PROMPT_WEIGHT, counts)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = hidden_states(self.shape, weights, ids[:, :-1], self.places(batch))  # (B, T-1, D)
            chosen = counts > 0
            logits = logits_of(weights, hidden[chosen])  # (N, V)
        losses = F.cross_entropy(logits.float(), ids[:, 1:][chosen], reduction="none")  # (N,)
        return (losses * counts[chosen]).sum() / counts[chosen].sum()

    def places(self, batch: Batch) -> Places:
        """Positions and sight of all but the last ids."""
        positions = torch.from_numpy(batch.positions[:, :-1])
        seen = torch.from_numpy(batch.seen()[:, None, :-1, :-1])
        unseen = torch.zeros(seen.shape, dtype=torch.bfloat16).masked_fill_(~seen, -torch.inf)
        return Places(self.cos[positions][:, None], self.sin[positions][:, None], unseen)

    def train_step(self, batch: Batch) -> float:
        """One update; returns the loss before it."""
        rate = self.recipe.rate_at(self.step)
        rounded = self.step >= self.recipe.steps - self.recipe.quantized_steps
        weights = self.fake_quant(self.weights) if rounded else self.weights
        loss = self.loss(weights, batch, with_prompt=True)
        loss.backward()
        average_gradients(self.weights.values(), self.recipe.workers)
        torch.nn.utils.clip_grad_norm_(self.weights.values(), 1.0)
        self.muon.step(rate)
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        for weight in self.weights.values():
            weight.grad = None
        self.step += 1
        return float(loss.detach())

    def validate(self, shard: Shard) -> float:
        """The mean reply loss over held-out batches, always the same ones."""
        total, seen = 0.0, 0
        with torch.no_grad():
            for batch in batches(shard, self.recipe.batch_tokens, seed=0):
                total += float(self.loss(self.weights, batch, with_prompt=False))
                seen += 1
                if seen == VALIDATION_BATCHES_MAX:
                    break
        return total / max(1, seen)


def staged(stages: list[dict[str, object]], step: int, recipe: Recipe) -> list[dict[str, object]]:
    """The recipes of a run and the step from which each held: a resumed run may go on with another one."""
    own = asdict(recipe)
    return stages if stages and stages[-1]["recipe"] == own else [*stages, {"fromStep": step, "recipe": own}]


def run_worker(worker: int, folder: Path, shape: Shape, recipe: Recipe) -> None:
    """One process of a run: it goes on from the folder's checkpoint, if there is one, to the recipe's end."""
    run = Run(folder, shape, recipe, worker)
    if run.checkpoint.exists():
        run.resume()
    drills = load_shard(folder / "drills.npz") if recipe.drill_percent else None
    steps = steps_of(run, load_shard(folder / "training.npz"), drills)
    if worker == 0:
        train(run, steps, load_shard(folder / "held_out.npz"))
        return
    for batch in steps:
        run.train_step(batch)


def train(run: Run, steps: Iterator[Batch], held_out: Shard) -> None:
    """Steps until the recipe's end, with a progress bar, a log line now and then, and checkpoints."""
    started = time.monotonic()
    bar = tqdm(total=run.recipe.steps, initial=run.step, unit="step", smoothing=0.05)
    with (run.folder / "log.jsonl").open("a") as log:
        for batch in steps:
            loss = run.train_step(batch)
            bar.update()
            bar.set_postfix(loss=f"{loss:.3f}")
            note(run, log, loss, held_out, time.monotonic() - started)
    bar.close()
    run.save()


def steps_of(run: Run, lives: Shard, drills: Shard | None) -> Iterator[Batch]:
    """This worker's batch of each step that `run` has not made: of the step's batches, the one with its number."""
    recipe = run.recipe
    bare, whole = (endless(shard, recipe, run.at_lives) for shard in (without_trunks(lives), lives))
    drilled = endless(drills, recipe, run.at_drills) if drills is not None else None
    while run.step < recipe.steps:
        if run.step == recipe.bare_steps and run.at_lives.batch:
            run.at_lives.turn()
        first = run.step * recipe.workers
        usual = bare if run.step < recipe.bare_steps else whole
        numbers = range(first, first + recipe.workers)
        yield [next(drilled if drilled and is_drill(n, recipe) else usual) for n in numbers][run.worker]


def is_drill(number: int, recipe: Recipe) -> bool:
    """Whether the batch of that number is one of drills: `drill_percent` of a hundred are, evenly strewn."""
    return (number + 1) * recipe.drill_percent // 100 > number * recipe.drill_percent // 100


def endless(shard: Shard, recipe: Recipe, at: Place) -> Iterator[Batch]:
    """The shard's batches from where `at` stands, epoch after epoch; `at` moves on with each."""
    while True:
        for batch in islice(batches(shard, recipe.batch_tokens, recipe.seed * 1000 + at.epoch), at.batch, None):
            at.batch += 1
            yield batch
        at.turn()


def note(run: Run, log: TextIO, loss: float, held_out: Shard, seconds: float) -> None:
    """A log line each ten steps, a validation and a checkpoint when they are due."""
    line: dict[str, float] = {}
    if run.step % 10 == 0:
        line = {"step": run.step, "loss": round(loss, 4), "seconds": round(seconds, 1)}
    if run.step % run.recipe.validate_steps == 0:
        line |= {"step": run.step, "held_out": round(run.validate(held_out), 4)}
    if line:
        log.write(json.dumps(line) + "\n")
        log.flush()
    if run.step % run.recipe.checkpoint_steps == 0:
        run.save()
