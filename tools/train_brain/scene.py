"""What the writer may know of a turn: nothing that the prompt does not show.

A writer that used hidden state would teach the brain to guess; so a scene is read from the state only where the header
says the same in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokenling.engine import GenerationRequest, Turn
from tokenling.engine.balance import BANDS
from tokenling.engine.state import State
from tools.train_brain.owners import Said

METERS = ("fullness", "energy", "mood", "hygiene", "warmth", "bond")
NEEDS = (("hungry", "fullness"), ("tired", "energy"), ("cold", "warmth"), ("dirty", "hygiene"), ("low", "mood"))
"""What a low meter is called, the most pressing first."""
NAME_MEMORY = "owner's name is "
LOW_BAND = 1
"""Bands 0 and 1 of five are a need."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn as the writer sees it. `bands` holds 0 (least) to 4 (most) by meter."""

    cue: str
    name: str
    stage: str
    traits: tuple[str, ...]
    food: str
    place: str
    feeling: str
    part: str
    asleep: bool
    snacks: int
    bands: Mapping[str, int]
    item: str
    score: int
    knows: tuple[str, ...]
    lines: tuple[str, ...]
    tags: frozenset[str]
    answers: Mapping[str, str]
    today: tuple[str, ...] = ()
    said: Said | None = None
    slots: Mapping[str, str] = field(default_factory=dict)

    @property
    def known_name(self) -> str:
        """The owner's name as the header tells it, or ""."""
        return next((known.removeprefix(NAME_MEMORY) for known in self.knows if known.startswith(NAME_MEMORY)), "")

    def heard(self, topic: str) -> bool:
        """Whether the lines before the last one speak of it."""
        word = topic.rsplit(maxsplit=1)[-1].lower() if topic else ""
        return bool(word) and any(word in line.lower() for line in self.lines[:-1])

    @property
    def need(self) -> str:
        """The strongest need, or "fine"."""
        lowest = min(NEEDS, key=lambda need: self.bands[need[1]])
        return lowest[0] if self.bands[lowest[1]] <= LOW_BAND else "fine"


def scene_of(state: State, turn: Turn, request: GenerationRequest, said: Said | None) -> Scene:
    """The scene of a due turn."""
    asked = state.asked if turn.kind == "reactive" else None
    place = state.place
    return Scene(
        cue=asked.cue if asked is not None else turn.kind,
        name=state.name,
        stage=state.stage,
        traits=state.character.traits,
        food=state.character.food,
        place=place,
        feeling=state.feeling,
        part=part_of(request.header),
        asleep=state.asleep,
        snacks=state.snacks,
        bands={meter: band_of(getattr(state.body, meter)) for meter in METERS},
        item=item_of(state, asked.item if asked is not None else ""),
        score=asked.n if asked is not None else 0,
        knows=known_in(request.header),
        lines=request.lines,
        tags=frozenset(request.tags),
        answers=request.answers,
        today=today_in(request) if turn.kind == "diary" else (),
        said=said if asked is not None and asked.cue == "say" else None,
        slots={
            "name": state.name,
            "here": place,
            "food": state.character.food,
            "stage": state.stage,
            "season": season_in(request.header),
            "at": whereabouts_in(request.header),
        },
    )


def band_of(value: int) -> int:
    """0 to 4: how many of the engine's marks a meter has reached."""
    return sum(value >= mark for mark in BANDS)


def item_of(state: State, item: str) -> str:
    """What is fed or offered, as the header names it."""
    if state.offer is not None and not item:
        return state.offer.item or state.offer.kind
    return item


def part_of(header: str) -> str:
    """The part of the day that the header's second sentence names."""
    line = next(line for line in header.split("\n") if line.startswith(("Awake ", "Asleep ")))
    return line.split(", ")[1]


def whereabouts_in(header: str) -> str:
    """Where the header's second sentence has the pet: `in the nest`, `at the window`."""
    line = next(line for line in header.split("\n") if line.startswith(("Awake ", "Asleep ")))
    return line.split(", ")[0].partition(" ")[2]


def season_in(header: str) -> str:
    """The season that the header's second sentence names."""
    line = next(line for line in header.split("\n") if line.startswith(("Awake ", "Asleep ")))
    return line.split(", ")[2]


def known_in(header: str) -> tuple[str, ...]:
    """The memories that the header shows."""
    shown = [line for line in header.split("\n") if line.startswith("Knows: ")]
    return tuple(shown[0].removeprefix("Knows: ").removesuffix(".").split("; ")) if shown else ()


def today_in(request: GenerationRequest) -> tuple[str, ...]:
    """What the diary's line tells of the day, in order."""
    line = request.lines[-1].removeprefix("(Today: ").removesuffix(".)")
    return tuple(part for part in line.split(", ") if part)
