"""The phrase files: sections in brackets, one phrase a line, `#` for a remark."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from tools.train_brain.phrases import Chance, expand

HERE = Path(__file__).parent
PARTS: Mapping[str, tuple[str, ...]] = {
    "said": ("said", "said_more", "said_more2", "said_more3", "said_wide", "said_wide2", "said_wide3"),
    "answers": ("answers", "answers_more", "answers_wide", "answers_wide2"),
    "after": ("answers_after", "answers_after_wide"),
    "feelings": ("feelings", "feelings_more", "feelings_wide"),
    "deeds": ("deeds",),
    "skies": ("skies", "skies_wide"),
    "words": ("words",),
}
"""By book, its files; a later file adds phrases to the sections of an earlier one."""


@lru_cache(maxsize=len(PARTS))
def phrases_of(book: str) -> Mapping[str, tuple[str, ...]]:
    """The sections of one book."""
    sections: dict[str, tuple[str, ...]] = {}
    for file in PARTS[book]:
        for name, lines in sections_in(file).items():
            sections[name] = sections.get(name, ()) + lines
    return sections


def sections_in(file: str) -> Mapping[str, tuple[str, ...]]:
    """The sections of one phrase file. `ValueError` names the line that no section holds, or a section met twice."""
    sections: dict[str, list[str]] = {}
    here: list[str] | None = None
    for number, line in enumerate((HERE / f"{file}.txt").read_text(encoding="utf-8").splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            if line[1:-1] in sections:
                raise ValueError(f"{file}.txt line {number}: section {line} was there before")
            here = sections[line[1:-1]] = []
        elif here is None:
            raise ValueError(f"{file}.txt line {number}: expected a [section] first, found {line!r}")
        else:
            here.append(line)
    return {name: tuple(lines) for name, lines in sections.items()}


def say(file: str, section: str, chance: Chance, slots: Mapping[str, str], *, worldly: bool = False) -> str:
    """One phrase of a section, with its choices made; a `worldly` one is of the pet's own world, if there is such."""
    phrases = worldly_phrases(file, section) if worldly else ()
    return expand(chance.pick(phrases or phrases_of(file)[section]), chance, slots)


@lru_cache(maxsize=512)
def worldly_phrases(file: str, section: str) -> tuple[str, ...]:
    """The phrases of a section that take up the pet's own world."""
    marks = tuple(f"<{kind}>" for kind in WORLD)
    return tuple(phrase for phrase in phrases_of(file)[section] if any(mark in phrase for mark in marks))


@lru_cache(maxsize=64)
def words_of(kind: str) -> tuple[str, ...]:
    """The words that fill a slot."""
    return tuple(word.strip() for line in phrases_of("words")[kind] for word in line.split(","))


WORLD = ("critter", "treasure", "limb", "soft", "sound", "smell", "corner", "moment", "many", "gladly", "dayword")
"""Words of the pet's own world: one of each kind in a reply."""
PLURALS: Mapping[str, str] = {"mouse": "mice", "leaf": "leaves", "firefly": "fireflies"}


def world_words(chance: Chance) -> dict[str, str]:
    """What the pet's world holds just now, for the slots of one reply."""
    world = {kind: chance.pick(words_of(kind)) for kind in WORLD}
    return world | {f"{kind}s": PLURALS.get(world[kind], world[kind] + "s") for kind in ("critter", "treasure")}


CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
ONSETS = (*CONSONANTS, "h", "j", "w", "br", "ch", "cl", "dr", "fl", "gr", "pl", "sh", "sl", "st", "th", "tr", "")
NUCLEI = (*VOWELS, *VOWELS, "ai", "ea", "ee", "oo", "ou", "ie")
CODAS = ("", "", "n", "r", "l", "s", "t", "m", "ck", "nd", "st", "rk", "tt", "x", "p")
SMOOTH_PERCENT, SHORT_LETTERS = 35, 3


def invented_word(chance: Chance) -> str:
    """A word that no list holds: what the owner names must be heard, not guessed. Some are smooth, some are knotty."""
    count = 1 + chance.below(3)
    if chance.holds(SMOOTH_PERCENT):
        return "".join(chance.pick(CONSONANTS) + chance.pick(VOWELS) for _ in range(1 + count))
    word = "".join(chance.pick(ONSETS) + chance.pick(NUCLEI) + chance.pick(CODAS) for _ in range(count))
    return word if len(word) > SHORT_LETTERS else word + chance.pick(CONSONANTS) + chance.pick(VOWELS)
