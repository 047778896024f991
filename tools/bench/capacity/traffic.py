"""When owners come and go, as a pure plan: the traffic of the issue over one window of real time.

An owner is present 20 minutes a day, spread evenly over the clock, so at any moment 20 in 1440 are. The window begins
in the middle of that: some are here already, each with the rest of a stay before it, and others come while it lasts. A
stay is a view of the pet, then a long-poll that is asked again whenever it ends, and something said every 20 s, the
first time after a share of 20 s of its own. Who is not present asks nothing: their pages are closed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

STAY_S = 20 * 60.0
DAY_S = 86_400.0
SAY_EVERY_S = 20.0
SAID = (
    "good morning, little one",
    "are you hungry?",
    "what is the weather like?",
    "do you remember the kite?",
    "I had a long day and I am glad to see you",
    "shall we play?",
    "tell me something you like",
    "where did you put the ball?",
)


@dataclass(frozen=True, slots=True)
class Stay:
    """One owner's stay within the window, in seconds from its beginning."""

    number: int
    from_s: float
    until_s: float
    first_say_s: float


def stays(pets: int, window_s: float, *, as_of: int, seed: int = 1) -> tuple[Stay, ...]:
    """Who is here at the beginning, and who comes later. Nobody comes twice.

    As many owners come as a population `as_of` so many has; they own some of the first `pets` pets.
    """
    return tuple(_stays(random.Random(f"stays {seed} {pets}"), pets, window_s, as_of))  # noqa: S311 - no secret


def _stays(chance: random.Random, pets: int, window_s: float, as_of: int) -> Iterator[Stay]:
    here = round(as_of * STAY_S / DAY_S)
    come = round(as_of * window_s / DAY_S)
    numbers = chance.sample(range(pets), min(pets, here + come))
    for index, number in enumerate(numbers):
        from_s = 0.0 if index < here else chance.uniform(0.0, window_s)
        until_s = chance.uniform(0.0, STAY_S) if index < here else from_s + STAY_S
        yield Stay(number, from_s, min(until_s, window_s), from_s + chance.uniform(0.0, SAY_EVERY_S))


def turns_per_s(pets: int) -> dict[str, float]:
    """What this traffic asks of the brain, by arithmetic: turns a second of each kind."""
    return {"idle": pets * 4 / 3600, "reactive": pets * STAY_S / DAY_S / SAY_EVERY_S}
