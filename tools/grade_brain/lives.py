"""The questions of the card: turns of owners whose phrases no training saw, as the writer lived them."""

from collections.abc import Iterator

from tools.train_brain.lives import Lived, live
from tools.train_brain.owners import make_owner
from tools.train_brain.phrases import Chance

SEED = 1_000_003
"""Grading lives are other lives than any training's."""
DAYS = 3
TAKEN_PERCENT = 33
"""One turn in three is taken: neighbours share a trunk."""


def held_out_turns(count: int) -> Iterator[Lived]:
    """So many turns."""
    taken = number = 0
    while taken < count:
        chance = Chance("grade", SEED, number)
        for lived in live(make_owner(number, SEED, untried=True), chance, DAYS):
            if taken < count and chance.holds(TAKEN_PERCENT):
                taken += 1
                yield lived
        number += 1
