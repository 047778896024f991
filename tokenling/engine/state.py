"""What a pet is: frozen records, opaque outside the engine. Field order here is reading order; saves sort by name.

Each record's `extra` holds the members of a save that this engine does not know, as canonical JSON ("" for none).
"""

from dataclasses import dataclass

from tokenling.engine.bounds import TICK_MS


@dataclass(frozen=True, slots=True)
class Hosting:
    """Where the pet lives: `mode` is local or remote; `brain_id` is empty while no brain is chosen."""

    mode: str
    brain_id: str
    time_zone: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """Six meters in millionths."""

    fullness: int
    energy: int
    mood: int
    hygiene: int
    warmth: int
    bond: int
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Character:
    """Drawn once from the pet's seed and kept, so that a longer list never changes a living pet."""

    traits: tuple[str, ...]
    food: str
    toy: str
    place: str
    hue: int
    extra: str = ""


@dataclass(frozen=True, slots=True)
class OpenOffer:
    """What the owner holds out. `asked` is false while it waits for a sleeper."""

    kind: str
    item: str
    at_ms: int
    expires_ms: int
    asked: bool
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Game:
    """A running game of catch."""

    id: str
    started_ms: int
    expires_ms: int
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A reactive turn that is owed: what it answers (`cue`, `item`, `n`), when, and under which context revision."""

    number: int
    at_ms: int
    revision: int
    cue: str
    item: str = ""
    n: int = 0
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Owed:
    """A diary page that is owed for a local day (days since 1970)."""

    day: int
    at_ms: int
    revision: int
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Want:
    """What the pet asks for: the alert."""

    kind: str
    at_ms: int
    extra: str = ""


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A line of chat; `turn` names the turn that wrote it, "" for the owner's."""

    who: str
    text: str
    at_ms: int
    turn: str = ""
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What the pet chose to remember; `recalled` counts how often it came back to mind."""

    text: str
    at_ms: int
    recalled: int = 0
    extra: str = ""


@dataclass(frozen=True, slots=True)
class DiaryPage:
    """One page a local date, with a keepsake of that day."""

    date: str
    text: str
    at_ms: int
    keepsake: str = ""
    turn: str = ""
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `n` counts equal ones in a row, or a score."""

    kind: str
    at_ms: int
    item: str = ""
    n: int = 1
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something for the page to play once; `id` only grows."""

    id: int
    kind: str
    at_ms: int
    item: str = ""
    n: int = 0
    extra: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A whole pet. `body_clock_ms` is the last minute that its body has lived, a multiple of a tick."""

    hosting: Hosting
    pet_seed: str
    weather_seed: str
    name: str
    born_ms: int
    body_clock_ms: int
    character: Character
    body: Body
    stage: str
    minutes_lived: int
    quiet_minutes: int
    care: int
    care_ms: int
    asleep: bool
    tucked: bool
    lamp: bool
    disturbance: int
    place: str
    feeling: str
    local_hour: int
    weather: str
    season: str
    snacks: int
    treasures: tuple[str, ...]
    chatter: int
    want: Want | None
    want_ms: int
    offer: OpenOffer | None
    game: Game | None
    games: int
    best_score: int
    context_revision: int
    asked: Asked | None
    asked_next: Asked | None
    asked_count: int
    cancels: int
    owed: Owed | None
    diary_day: int
    diary_since_ms: int
    slot_ms: int
    slot_day: int
    quiet_slots: int
    owner_ms: int
    stroke_ms: int
    next_effect: int
    chat: tuple[ChatLine, ...]
    memories: tuple[Memory, ...]
    diary: tuple[DiaryPage, ...]
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]
    extra: str = ""

    @property
    def tick(self) -> int:
        """The last minute lived, in minutes since the epoch."""
        return self.body_clock_ms // TICK_MS
