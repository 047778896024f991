"""How a brain is made, step by step; each step reads and writes one work folder.

python -m tools.train_brain corpus  WORK --owners 400 --days 6     corpus.jsonl, held_out.jsonl, corpus.json
python -m tools.train_brain drills  WORK --pets 240                drills.jsonl; more of corpus.json
python -m tools.train_brain encode  WORK                           tokenizer.json and the .npz of each of these
python -m tools.train_brain grow    WORK SOURCE --layers 7         checkpoint.pt of a larger brain that knows as much
python -m tools.train_brain train   WORK --steps 4000 --workers 2  checkpoint.pt, log.jsonl (resumes by itself)
python -m tools.train_brain repeat  WORK --steps 200 --workers 2   two digests of the weights, and whether they are one
python -m tools.train_brain finish  WORK SOURCE --id my-brain      the source that tools.export_brain reads
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path

from tools.train_brain.recipe import Recipe
from tools.train_brain.shape import Shape

WORK_HELP = "the work folder"


def main() -> None:
    """Runs one step."""
    parser = argparse.ArgumentParser(
        prog="tools.train_brain", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(required=True)
    add_corpus(steps.add_parser("corpus", help="live simulated days and write them down"))
    add_drills(steps.add_parser("drills", help="write short examples that force reading"))
    add_encode(steps.add_parser("encode", help="train the tokenizer, encode the examples"))
    add_grow(steps.add_parser("grow", help="begin as a larger copy of an earlier brain"))
    add_train(steps.add_parser("train", help="train, or go on training"))
    add_train(steps.add_parser("repeat", help="train twice from nothing, and compare the weights"), run=run_repeat)
    add_finish(steps.add_parser("finish", help="write the fp16 source"))
    chosen = parser.parse_args()
    chosen.run(chosen)


def add_corpus(step: argparse.ArgumentParser) -> None:
    """The corpus step."""
    step.add_argument("work", type=Path, help=WORK_HELP)
    step.add_argument("--owners", type=int, default=400, help="how many owners live with a pet each")
    step.add_argument("--days", type=int, default=6, help="days each of them lives")
    step.add_argument("--seed", type=int, default=1)
    step.set_defaults(run=run_corpus)


def add_drills(step: argparse.ArgumentParser) -> None:
    """The drills step."""
    step.add_argument("work", type=Path, help=WORK_HELP)
    step.add_argument("--pets", type=int, default=240, help="how many pets are drilled")
    step.add_argument("--seed", type=int, default=1)
    step.set_defaults(run=run_drills)


def add_encode(step: argparse.ArgumentParser) -> None:
    """The encode step."""
    step.add_argument("work", type=Path, help=WORK_HELP)
    step.add_argument("--vocab", type=int, default=2048)
    step.add_argument("--length", type=int, default=448, help="ids of a tree at most")
    step.add_argument("--tokenizer", type=Path, help="take this tokenizer instead of training one")
    step.set_defaults(run=run_encode)


def add_grow(step: argparse.ArgumentParser) -> None:
    """The grow step."""
    step.add_argument("work", type=Path, help=WORK_HELP)
    step.add_argument("source", type=Path, help="the source folder of the earlier brain")
    add_shape(step)
    step.set_defaults(run=run_grow)


def add_shape(step: argparse.ArgumentParser) -> None:
    """The numbers of a shape that may be chosen."""
    step.add_argument("--layers", type=int, default=Shape().num_hidden_layers)
    step.add_argument("--hidden", type=int, default=Shape().hidden_size)
    step.add_argument("--intermediate", type=int, default=Shape().intermediate_size)


def add_train(step: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None] | None = None) -> None:
    """The train step, or another that takes a recipe: every number of it is an option."""
    step.add_argument("work", type=Path, help=WORK_HELP)
    for number in fields(Recipe):
        kind = float if number.name == "rate" else int
        step.add_argument("--" + number.name.replace("_", "-"), type=kind, default=number.default)
    add_shape(step)
    step.set_defaults(run=run or run_train)


def add_finish(step: argparse.ArgumentParser) -> None:
    """The finish step."""
    step.add_argument("work", type=Path, help=WORK_HELP)
    step.add_argument("source", type=Path, help="the folder that tools.export_brain reads")
    step.add_argument("--id", required=True)
    step.add_argument("--succeeds", nargs="*", default=[])
    step.set_defaults(run=run_finish)


def run_corpus(chosen: argparse.Namespace) -> None:
    """corpus.jsonl and held_out.jsonl of the work folder are written anew."""
    from tools.train_brain.corpus import write_corpus

    facts = write_corpus(chosen.work, owners=chosen.owners, days=chosen.days, seed=chosen.seed)
    print(json.dumps(facts, indent=2))


def run_drills(chosen: argparse.Namespace) -> None:
    """drills.jsonl of the work folder is written anew; corpus.json tells of it."""
    from tools.train_brain.corpus import write_drills

    print(json.dumps(write_drills(chosen.work, pets=chosen.pets, seed=chosen.seed)["drills"], indent=2))


def run_encode(chosen: argparse.Namespace) -> None:
    """The tokenizer and both shards of the work folder are written anew."""
    from tools.train_brain.encode import encode_corpus

    print(encode_corpus(chosen.work, chosen.vocab, chosen.length, chosen.tokenizer))


def run_grow(chosen: argparse.Namespace) -> None:
    """The work folder's checkpoint is an earlier brain, grown; a run that was there before is refused."""
    from tools.train_brain.grow import grown_from
    from tools.train_brain.train import Run

    run = Run(chosen.work, shape_of(chosen), Recipe(threads=1))
    if run.checkpoint.exists():
        raise SystemExit(f"{run.checkpoint} is there already: growing would lose it")
    run.begin_from(*grown_from(chosen.source, run.shape, run.recipe.seed))
    print(run.checkpoint)


def run_repeat(chosen: argparse.Namespace) -> None:
    """The recipe's steps run twice, each time from nothing; another digest the second time is an error."""
    from tools.train_brain.repeat import repeated

    digests = []
    for digest in repeated(chosen.work, shape_of(chosen), recipe_of(chosen)):
        print(digest, flush=True)
        digests.append(digest)
    if len(set(digests)) > 1:
        raise SystemExit("the same recipe gave other weights the second time")


def run_train(chosen: argparse.Namespace) -> None:
    """The run of the work folder goes on from its checkpoint, if there is one, to the recipe's end."""
    from tools.train_brain.parallel import in_parallel
    from tools.train_brain.train import run_worker

    recipe = recipe_of(chosen)
    in_parallel(recipe.workers, partial(run_worker, folder=chosen.work, shape=shape_of(chosen), recipe=recipe))


def recipe_of(chosen: argparse.Namespace) -> Recipe:
    """The recipe that the command line names."""
    return Recipe(**{number.name: getattr(chosen, number.name) for number in fields(Recipe)})


def shape_of(chosen: argparse.Namespace) -> Shape:
    """The shape that the command line names."""
    return Shape(num_hidden_layers=chosen.layers, hidden_size=chosen.hidden, intermediate_size=chosen.intermediate)


def run_finish(chosen: argparse.Namespace) -> None:
    """The source folder holds the run's weights in fp16 and its record; a loss plot lies in the work folder."""
    from tools.train_brain.record import write_source

    print(write_source(chosen.work, chosen.source, brain_id=chosen.id, succeeds=tuple(chosen.succeeds)))


if __name__ == "__main__":
    main()
