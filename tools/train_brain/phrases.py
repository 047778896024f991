"""A phrase with choices in it, and the seeded chance that makes them.

Worked example: `"(hi|hello)( there|) <name>!"` may become `"hello Pip!"`. Choices nest; a choice may be empty; `<slot>`
is filled from a mapping after the choices are made.
"""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
SLOT = re.compile(r"<([a-z_]+)>")
ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")
"""The `a` that a vowel follows."""
INNERMOST = re.compile(r"\(([^()]*)\)")
WORD = re.compile(r"<[a-z_]+>|[\w']+")


class Chance:
    """Seeded choices that depend on `random.random()` alone, which no Python version has changed."""

    def __init__(self, *key: object) -> None:
        self._random = random.Random(hashlib.sha256(repr(key).encode()).digest())  # noqa: S311 - a corpus, no secret

    def below(self, bound: int) -> int:
        """An integer from 0 up to `bound`, not included."""
        return int(self._random.random() * bound)

    def holds(self, percent: float) -> bool:
        """True in `percent` of a hundred."""
        return self._random.random() * 100 < percent

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.below(len(options))]

    def weighted(self, options: dict[T, float]) -> T:
        """One of `options` by its weight."""
        left = self._random.random() * sum(options.values())
        for option, weight in options.items():
            left -= weight
            if left < 0:
                return option
        return next(reversed(options))


def expand(phrase: str, chance: Chance, slots: Mapping[str, str]) -> str:
    """`phrase` with every choice made and every slot filled; an unknown slot is a `KeyError`."""
    return filled(chosen(phrase, chance), slots)


def chosen(phrase: str, chance: Chance) -> str:
    """`phrase` with every choice made; its slots stay open."""
    while (found := INNERMOST.search(phrase)) is not None:
        phrase = phrase[: found.start()] + chance.pick(found.group(1).split("|")) + phrase[found.end() :]
    return phrase


def filled(text: str, slots: Mapping[str, str]) -> str:
    """`text` with every slot filled; an unknown slot is a `KeyError`."""
    return ARTICLE.sub(r"\1n ", SLOT.sub(lambda slot: slots[slot.group(1)], text))


def wordings(phrase: str) -> frozenset[str]:
    """The words of everything that `phrase` may become, its slots open."""
    found = INNERMOST.search(phrase)
    if found is None:
        return frozenset((bare_words(phrase),))
    before, after = phrase[: found.start()], phrase[found.end() :]
    return frozenset().union(*(wordings(before + option + after) for option in found.group(1).split("|")))


def bare_words(text: str) -> str:
    """The words of a text alone, in lower case; slots count as words."""
    return " ".join(WORD.findall(text.lower()))


def held_out(phrase: str) -> bool:
    """True for the twelfth of all phrases that training never sees."""
    return hashlib.sha256(phrase.encode()).digest()[0] % 12 == 0
