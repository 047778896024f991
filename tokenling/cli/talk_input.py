"""What an owner types, and what a line asks for. Nothing here touches a pet."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tokenling.cli.lines import Lines
from tokenling.engine import Command, JsonObject, JsonValue, parse_command
from tokenling.host.errors import ApiError
from tokenling.host.strict_json import parse

LINE_BYTES_MAX = 65_536
"""More than the longest text that the engine reads, in its longest encoding: what comes after is dropped."""
WAIT_MINUTES_MAX = 30 * 1440
"""`/wait` at most a month: its turns are a few minutes of a small brain's work. A guess."""
PAGES_SHOWN = 7
"""A week of diary, unless more is asked for."""
_SPAN = re.compile(r"([1-9][0-9]{0,4})([mhd])", re.ASCII)
_MINUTES = {"m": 1, "h": 60, "d": 1440}


class LineRefused(Exception):
    """Raised for a line that asks for nothing this program knows. `code` is stable; `expected` helps a person."""

    def __init__(self, code: str, expected: str) -> None:
        super().__init__(f"{code}: expected {expected}")
        self.code = code
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Act:
    """Something for the engine."""

    command: Command


@dataclass(frozen=True, slots=True)
class Catch:
    """The score of the running game, whose id the pet's state knows."""

    score: int


@dataclass(frozen=True, slots=True)
class Show:
    """A question about the pet: `body`, `diary`, `memories`, `help`; `count` bounds a list."""

    what: str
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Time to live through."""

    minutes: int


@dataclass(frozen=True, slots=True)
class Quit:
    """The end of the talk."""


Typed = Act | Catch | Show | Wait | Quit

HELP: Mapping[str, str] = {
    "WORDS": "say something",
    "/feed [FOOD]": "a meal; without FOOD what the pantry has",
    "/stroke, /wash, /tuck, /lamp": "care",
    "/offer food|toy|gift|catch [ITEM]": "hold something out; the pet decides",
    "/catch SCORE": "the result of a game that it accepted",
    "/name NAME, /chatter 0|1|2|4, /zone ZONE": "settings",
    "/body, /memories, /diary [PAGES]": "look",
    "/wait 30m|3h|2d": "live that time as if you had been away",
    "/quit": "stop; so does the end of input",
}


def parse_line(line: str, *, may_be_json: bool = False) -> Typed | None:
    """What a line asks for; None for an empty one. Raises `LineRefused`, or `CommandRefused` from the engine.

    A line that begins with `//` says what follows the first stroke. With `may_be_json` a line that begins with `{` is
    a command as the host's API takes it.
    """
    line = line.strip()
    if not line:
        return None
    if may_be_json and line.startswith("{"):
        return Act(parse_command(_object(line)))
    if not line.startswith("/") or line.startswith("//"):
        return Act(parse_command({"kind": "say", "text": line.removeprefix("/")}))
    word, _, rest = line.partition(" ")
    parser = _PARSERS.get(word)
    if parser is None:
        raise LineRefused("unknown_command", "/help, or words without a stroke in front")
    return parser(rest.strip())


def _object(line: str) -> JsonValue:
    """One JSON value, as strictly as the host reads it; a float is left for the engine to refuse by its field."""
    try:
        value: JsonValue = parse(line.encode())  # type: ignore[assignment]
    except ApiError:
        raise LineRefused("not_json", "one JSON object on a line") from None
    return value


def _care(action: str) -> Callable[[str], Typed]:
    def parse(rest: str) -> Typed:
        item: JsonObject = {"item": rest} if rest else {}
        return Act(parse_command({"kind": "care", "action": action, **item}))

    return parse


def _offer(rest: str) -> Typed:
    kind, _, item = rest.partition(" ")
    named: JsonObject = {"item": item.strip()} if item.strip() else {}
    return Act(parse_command({"kind": "offer", "offer": kind, **named}))


def _setting(name: str) -> Callable[[str], Typed]:
    def parse(rest: str) -> Typed:
        value = _number(rest, 9, "/chatter 0, 1, 2 or 4") if name == "chatter" else rest
        return Act(parse_command({"kind": "settings", name: value}))

    return parse


def _number(text: str, most: int, expected: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6 or int(text) > most:
        raise LineRefused("wrong_number", expected)
    return int(text)


def _catch(rest: str) -> Typed:
    return Catch(_number(rest, 999, "/catch and a score from 0 to 999"))


def _show(what: str) -> Callable[[str], Typed]:
    def parse(rest: str) -> Typed:
        if rest and what != "diary":
            raise LineRefused("unexpected_words", f"/{what} alone")
        return Show(what, _number(rest, 366, "/diary and how many pages, at most 366") if rest else PAGES_SHOWN)

    return parse


def _wait(rest: str) -> Typed:
    found = _SPAN.fullmatch(rest)
    minutes = int(found[1]) * _MINUTES[found[2]] if found else 0
    if not 1 <= minutes <= WAIT_MINUTES_MAX:
        raise LineRefused("wrong_span", "/wait 30m, 3h or 2d; at most 30d")
    return Wait(minutes)


def _quit(rest: str) -> Typed:
    if rest:
        raise LineRefused("unexpected_words", "/quit alone")
    return Quit()


_PARSERS: Mapping[str, Callable[[str], Typed]] = {
    **{f"/{action}": _care(action) for action in ("feed", "stroke", "wash", "tuck", "lamp")},
    "/offer": _offer,
    "/catch": _catch,
    "/name": _setting("name"),
    "/chatter": _setting("chatter"),
    "/zone": _setting("timeZone"),
    **{f"/{what}": _show(what) for what in ("body", "diary", "memories", "help")},
    "/wait": _wait,
    "/quit": _quit,
}


def next_line(lines: Lines, wait_s: float | None) -> str | None:
    """The next line, or None when `wait_s` passed without one. Raises `EOFError` at the end, `LineRefused`.

    A line over `LINE_BYTES_MAX` is cut there, which is past what the engine reads: it is refused like any long text.
    """
    line = lines.next(wait_s)
    return None if line is None else _decoded(line[:LINE_BYTES_MAX])


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise LineRefused("not_utf8", "text in UTF-8") from None
