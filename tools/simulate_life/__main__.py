"""`python -m tools.simulate_life`: see the package."""

import argparse
from pathlib import Path

from tqdm import tqdm

from tools.simulate_life.life import Life, simulate
from tools.simulate_life.owners import ABSENT, ATTENTIVE, BUSY, OWNERS
from tools.simulate_life.page import IMAGES, PAGE, SEEDS, drawn, figures, weekend
from tools.simulate_life.words import Writer, brain_writer, scripted


def lives_of(writer: Writer, pets: int) -> dict[str, list[Life]]:
    """Lives by owner, with a bar of simulated half hours."""
    seeds = [*SEEDS, *(f"pet-{number}" for number in range(pets))][:pets]
    total = pets * sum(len(owner.days) * 48 - 16 for owner in OWNERS)
    with tqdm(total=total, unit="look", desc="living") as bar:
        return {
            owner.name: [simulate(owner, seed, writer, watch=lambda _life: bar.update()) for seed in seeds]
            for owner in OWNERS
        }


def main() -> None:
    """Print the figures; with `--write` bring docs up to date."""
    parser = argparse.ArgumentParser(description="Simulate lives and show what owners would see.")
    parser.add_argument("--brain", type=Path, help="a brain directory; without it a small script answers")
    parser.add_argument("--pets", type=int, default=len(SEEDS), help="lives for each owner")
    parser.add_argument("--write", action="store_true", help="write docs/balance.md and its plots (scripted words)")
    chosen = parser.parse_args()
    if chosen.write and (chosen.brain or chosen.pets != len(SEEDS)):
        parser.error("--write is for the page's own pets and words: leave --brain and --pets away")
    lives = lives_of(brain_writer(chosen.brain) if chosen.brain else scripted, chosen.pets)
    print(figures(lives), weekend(lives), sep="\n\n")
    if chosen.write:
        from tools.simulate_life.plots import draw

        PAGE.write_text(drawn(PAGE.read_text(), lives))
        for owner in (ATTENTIVE, BUSY, ABSENT):
            draw(lives[owner.name][0], IMAGES / f"balance-{owner.name}.png")


if __name__ == "__main__":
    main()
