"""Writes what docs say about saves from the declarations that check them: `python -m tools.save_format`, `--check`.

docs/save.schema.json is the engine's own JSON Schema. In docs/save-format.md the words stay, and what stands between
`<!-- drawn: NAME -->` and `<!-- end -->` is a table of the record with that name.
"""

import difflib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokenling.engine import ENGINE_VERSION, SAVE_VERSION, JsonObject, save_schema
from tokenling.engine import saves as declared
from tokenling.engine.bounds import METER_MAX
from tokenling.engine.codec import (
    REQUIRED,
    Checked,
    Flag,
    Int,
    ListOf,
    Member,
    OneOf,
    Optional,
    Record,
    Shape,
    Text,
    Token,
)

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "save-format.md"
SCHEMA = DOCS / "save.schema.json"
_REGION = re.compile(r"(<!-- drawn: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
KINDS: Mapping[type, str] = {
    Int: "integer",
    Flag: "true, false",
    Text: "clean text",
    Token: "string",
    Checked: "string",
    OneOf: "string",
}
"""Plain shapes, in words."""

RECORDS: tuple[str, ...] = tuple(name for name, value in vars(declared).items() if isinstance(value, Record))
"""Every record of the format; each has a table in the page."""

ABOUT: Mapping[str, str] = {
    "HOSTING.time_zone": "where the pet's days and hours are",
    "BODY.fullness": "how well fed it is",
    "BODY.energy": "how rested it is",
    "BODY.mood": "follows the mean of the others, moved by care and play",
    "BODY.hygiene": "how clean it is",
    "BODY.warmth": "follows season, weather, place, lamp, blanket",
    "BODY.bond": "how close it is to its owner",
    "CHARACTER.food": "its favourite",
    "CHARACTER.toy": "its favourite",
    "CHARACTER.place": "its favourite",
    "OFFER.kind": "what is held out",
    "OFFER.item": "which one; none for `catch`. It must be of the list of its kind",
    "OFFER.at_ms": "when it was held out",
    "OFFER.expires_ms": "when it passes",
    "GAME.id": "what a `game` command names",
    "GAME.started_ms": "when the pet accepted",
    "GAME.expires_ms": "when it ends without a score",
    "ASKED.number": "grows by one with each; the turn's id is `r` and this number",
    "ASKED.at_ms": "the turn's time",
    "ASKED.revision": "the context revision it was asked under",
    "ASKED.cue": "what it answers",
    "ASKED.item": "what the cue is about",
    "ASKED.n": "the score, for `game`",
    "OWED.day": "the local day, in days since 1970-01-01",
    "OWED.at_ms": "the turn's time",
    "OWED.revision": "the context revision it is owed under; part of the turn's id",
    "WANT.kind": "what it would like",
    "WANT.at_ms": "since when",
    "CHAT_LINE.who": "who said it",
    "CHAT_LINE.text": "the words, without tags",
    "CHAT_LINE.at_ms": "when",
    "MEMORY.text": "what it remembers",
    "MEMORY.at_ms": "since when",
    "MEMORY.recalled": "how often it came to mind; the least recalled goes first",
    "DIARY_PAGE.date": "the local date it tells of; no two pages share one",
    "DIARY_PAGE.text": "the page",
    "DIARY_PAGE.at_ms": "when it was written",
    "DIARY_PAGE.keepsake": "a small thing of that day",
    "DIARY_PAGE.turn": "the turn that wrote it",
    "EVENT.kind": "what happened",
    "EVENT.at_ms": "when; of equal ones in a row, the first",
    "EVENT.item": "what it was about: a list's member, an hour",
    "EVENT.n": "how many equal ones in a row; a score for `caught`; hours away for `came`",
    "EFFECT.id": "grows by one; below `nextEffect`",
    "EFFECT.kind": "what the page plays",
    "EFFECT.at_ms": "when",
    "EFFECT.item": "what it is about",
    "EFFECT.n": "a score",
    "STATE.hosting": "where it lives and with which brain",
    "STATE.name": "its name",
    "STATE.born_ms": "when the egg was laid",
    "STATE.character": "what it is like",
    "STATE.stage": "how grown it is; an `egg` is always asleep",
    "STATE.minutes_lived": "minutes its body has lived",
    "STATE.asleep": "whether it sleeps",
    "STATE.tucked": "whether it lies under a blanket",
    "STATE.lamp": "whether the lamp is on",
    "STATE.place": "where it is",
    "STATE.weather": "at its window, this hour",
    "STATE.season": "by local date",
    "STATE.snacks": "what it may eat by itself",
    "STATE.treasures": "toys and gifts that it took",
    "STATE.offer": "what the owner holds out",
    "STATE.game": "the running game of catch",
    "STATE.games": "games that ended with a score",
    "STATE.best_score": "its owner's best",
    "STATE.context_revision": "moves with words, offers, names and settings",
    "STATE.asked_count": "reactive turns so far",
    "STATE.next_effect": "the id of the next effect",
    "STATE.chat": "the last lines, oldest first",
    "STATE.memories": "oldest first",
    "STATE.diary": "the last pages, oldest first",
    "STATE.events": "the last ones, oldest first",
    "STATE.effects": "the last ones, oldest first, ids growing",
}
"""What a member is for, where its declaration does not say."""
UNITS: Mapping[str, str] = {
    "CHARACTER.hue": "degrees",
    "STATE.minutes_lived": "minutes",
    "STATE.quiet_minutes": "minutes",
    "STATE.local_hour": "hours since 1970, local",
    "STATE.chatter": "slots an hour",
    "STATE.diary_day": "days since 1970, local",
    "STATE.slot_day": "days since 1970, local",
    "OWED.day": "days since 1970, local",
}
"""Units that neither a name nor a range tells."""


@dataclass(frozen=True, slots=True)
class Row:
    """A member as the page shows it."""

    name: str
    kind: str
    unit: str
    bound: str
    absent: str
    about: str

    def text(self) -> str:
        """One line of the table."""
        return f"| `{self.name}` | {self.kind} | {self.unit} | {self.bound} | {self.absent} | {self.about} |"


def table(record_name: str) -> str:
    """The table of a record; the state's begins with the two versions."""
    record = getattr(declared, record_name)
    assert isinstance(record, Record)
    rows = [_row(record_name, *member) for member in record._members]
    if record_name == "STATE":
        rows = [*_versions(), *rows]
    head = ["| field | type | unit | range, bound | left out while | holds |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *(row.text() for row in rows)])


def _versions() -> list[Row]:
    return [
        Row("v", "integer", "", f"{SAVE_VERSION}; 1 is migrated", "", "the save version"),
        Row("engine", "integer", "", f"1 to {ENGINE_VERSION}; a newer one is refused", "", "the engine that wrote it"),
    ]


def _row(record_name: str, attribute: str, name: str, member: Member) -> Row:
    key = f"{record_name}.{attribute}"
    about = member.about or ABOUT[key]
    absent = (
        "" if member.default is REQUIRED else "none" if member.default is None else f"`{json.dumps(member.default)}`"
    )
    return Row(name, kind_of(member.shape), unit_of(key, member.shape), bound_of(member.shape), absent, about)


def kind_of(shape: Shape) -> str:
    """The JSON type of a shape, in words."""
    match shape:
        case Optional():
            return f"null or {_inner_kind(shape.shape)}"
        case ListOf():
            return f"list of {_inner_kind(shape.shape)}"
        case Record():
            return _inner_kind(shape)
    return KINDS[type(shape)]


def _inner_kind(shape: Shape | Record[object]) -> str:
    if isinstance(shape, Record):
        name = next(name for name in RECORDS if getattr(declared, name) is shape)
        return f"[{name.lower().replace('_', ' ')}](#{name.lower().replace('_', '-')})"
    return kind_of(shape)


def unit_of(key: str, shape: Shape) -> str:
    """What an integer counts."""
    if key in UNITS:
        return UNITS[key]
    if not isinstance(shape, Int):
        return ""
    if key.endswith("_ms"):
        return "ms since 1970"
    return "millionths" if (shape.low, shape.high) == (0, METER_MAX) else ""


def bound_of(shape: Shape) -> str:
    """What a value may be; "" for what has a table of its own, or no bound."""
    match shape:
        case Int():
            step = f", multiple of {shape.step}" if shape.step > 1 else ""
            bound = f"{shape.low} to {shape.high}{step}"
        case Text():
            bound = f"{shape.low} to {shape.high} code points"
        case Token():
            bound = f"{shape.low} to {shape.high} letters, digits, {_marks_of(shape.marks)}"
        case Checked():
            bound = f"{shape.name}, at most {shape.high} code points"
        case OneOf():
            bound = ", ".join(f"`{member}`" if member else "empty" for member in shape.members)
        case ListOf():
            count = f"{shape.low}" if shape.low == shape.high else f"{shape.low} to {shape.high}"
            bound = f"{count} members" + (f" of {bound_of(shape.shape)}" if isinstance(shape.shape, OneOf) else "")
        case _:
            bound = ""
    return bound


def _marks_of(marks: str) -> str:
    return " ".join("space" if mark == " " else f"`{mark}`" for mark in marks)


def schema_text() -> str:
    """docs/save.schema.json."""
    schema: JsonObject = save_schema()
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def drawn(text: str) -> str:
    """The page with every table written anew."""
    return _REGION.sub(lambda match: f"{match[1]}{table(match['name'])}\n{match[3]}", text)


def main() -> None:
    """Write both files, or with `--check` compare and exit 1 on a difference."""
    pages = {PAGE: drawn(PAGE.read_text()), SCHEMA: schema_text()}
    if "--check" not in sys.argv[1:]:
        for path, text in pages.items():
            path.write_text(text)
        return
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        old = path.read_text() if path.exists() else ""
        print("".join(difflib.unified_diff(old.splitlines(True), pages[path].splitlines(True), path.name, "now")))
    sys.exit(bool(stale))


if __name__ == "__main__":
    main()
