"""How a talk looks: as text for a person, or as JSON lines for a program."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from tokenling.cli.save_view import SaveView
from tokenling.cli.talk_input import HELP
from tokenling.cli.talk_view import NOTICES, body_lines, deeds, diary_lines, last, memory_lines
from tokenling.engine import JsonObject, JsonValue, Step, Turn
from tokenling.engine.bounds import DIARY_TEXT_MAX, TEXT_MAX
from tokenling.engine.tags import parted

TOLD_LINES = 5
"""What is told of a time that was missed: the last things that were said."""
BODY_MEMBERS = (
    "name", "stage", "minutesLived", "asleep", "place", "feeling", "body", "snacks", "treasures", "want", "offer",
    "game",
)  # fmt: skip
"""Members of a save that `/body` gives as JSON, as docs/save-format.md names them."""


class Unfolding:
    """Words of a reply as it is written. The engine's own rule says which they are; tags never show.

    While a tag is half written, or a space or mark may still go, less shows than will: never anything else.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._raw = ""
        self.shown = ""

    def push(self, piece: str) -> str:
        """What can be shown now that could not be before."""
        self._raw += piece
        return self._show(parted(self._raw, self._length)[0])

    def finish(self, words: str) -> str | None:
        """The rest of the words that count, None when what was shown does not begin them."""
        return self._show(words) if words.startswith(self.shown) else None

    def _show(self, words: str) -> str:
        if not words.startswith(self.shown):
            return ""
        fresh, self.shown = words[len(self.shown) :], words
        return fresh


class TextScreen:
    """For a person: lines of talk on standard output, a bar on standard error."""

    def __init__(self, name_of: Callable[[], str], *, bar: bool) -> None:
        self._name_of = name_of
        self._bar = bar
        self._unfolding: Unfolding | None = None
        self._missed: list[str] | None = None
        self._prompting = False

    def met(self, pet: SaveView, *, file: str, brain_id: str, newborn: bool) -> None:
        """Who is here."""
        greeting = "An egg lies in the nest." if newborn else f"{pet.text('name')} is here."
        self._say(f"{greeting} ({brain_id}; {file}; /help tells what you can do)")

    def piece(self, turn: Turn, text: str) -> None:
        if self._missed is not None:
            return
        if self._unfolding is None:
            self._unfolding = Unfolding(_length(turn))
        first = not self._unfolding.shown
        fresh = self._unfolding.push(text)
        if fresh:
            self._say((f"{self._speaker(turn)} " if first else "") + fresh, nl=False)

    def replied(self, turn: Turn, words: str, step: Step) -> None:
        unfolding, self._unfolding = self._unfolding, None
        if self._missed is not None:
            self._missed.extend([f"{self._speaker(turn)} {words}"] if words else [])
            return
        self._end_line(turn, words, unfolding or Unfolding(_length(turn)))
        self._tell(deeds(step.effects) or (() if words else ("is quiet",)))

    def _end_line(self, turn: Turn, words: str, unfolding: Unfolding) -> None:
        begun = bool(unfolding.shown)
        rest = unfolding.finish(words)
        if rest is None:  # what was shown does not stand: the line that counts follows it
            self._say(f"\n{self._speaker(turn)} {words}")
        elif words:
            self._say(("" if begun else f"{self._speaker(turn)} ") + rest)

    def failed(self, turn: Turn, code: str) -> None:
        if self._unfolding is not None and self._unfolding.shown:
            self._say("")
        self._unfolding = None
        self._warn(f"tokenling: {self._name_of()} found no words ({turn.kind} turn, {code})")

    def happened(self, effects: tuple[JsonObject, ...], notices: tuple[JsonObject, ...]) -> None:
        for notice in notices:
            self._warn(f"tokenling: {NOTICES[str(notice['kind'])]}")
        if self._missed is None:
            self._tell(deeds(effects))

    def _tell(self, told: Sequence[str]) -> None:
        if told:
            self._say(f"  ({self._name_of()} {', '.join(told)})")

    @contextmanager
    def catching_up(self, minutes: int) -> Iterator[Callable[[int], None]]:
        self._leave_prompt()
        self._missed = []
        label = f"living {_span(minutes)}"
        with click.progressbar(
            length=minutes, label=label, file=sys.stderr, hidden=not self._bar, show_eta=False
        ) as bar:
            yield lambda done: bar.update(max(0, min(minutes, done) - bar.pos))
        missed, self._missed = self._missed, None
        self._say(f"{_span(minutes)} went by." + ("" if missed else " It was quiet."))
        for line in missed[-TOLD_LINES:]:
            self._say(f"  {line}")

    def shown(self, what: str, pet: SaveView, count: int) -> None:
        """The answer to a question about the pet."""
        self._say("\n".join(f"  {line}" for line in _shown_lines(what, pet, count)))

    def refused(self, line: int, code: str, detail: str) -> None:
        """A line that asked for nothing that can be done."""
        self._warn(f"tokenling: line {line}: {code}: {detail}")

    def prompt(self) -> None:
        """The owner is asked for a line, unless that is still on the screen."""
        if not self._prompting:
            self._say("> ", nl=False)
            self._prompting = True

    def entered(self) -> None:
        """The owner ended a line: what comes next stands on a fresh one."""
        self._prompting = False

    def _say(self, text: str, *, nl: bool = True) -> None:
        self._leave_prompt()
        click.echo(text, nl=nl)

    def _warn(self, text: str) -> None:
        self._leave_prompt()
        click.echo(text, err=True)

    def _leave_prompt(self) -> None:
        """What the pet says by itself does not stand behind the prompt."""
        if self._prompting:
            click.echo("")
            self._prompting = False

    def _speaker(self, turn: Turn) -> str:
        return f"{self._name_of()} writes:" if turn.kind == "diary" else f"{self._name_of()}:"


class JsonScreen:
    """For a program: one JSON object a line on standard output, nothing else there."""

    def met(self, pet: SaveView, *, file: str, brain_id: str, newborn: bool) -> None:
        self._put("pet", name=pet.text("name"), brainId=brain_id, file=file, newborn=newborn)

    def piece(self, turn: Turn, text: str) -> None:
        self._put("piece", turn=turn.id, text=text)

    def replied(self, turn: Turn, words: str, step: Step) -> None:
        self._put("turn", turn=turn.id, turnKind=turn.kind, atMs=turn.at_ms, text=words, effects=list(step.effects))

    def failed(self, turn: Turn, code: str) -> None:
        self._put("failed", turn=turn.id, turnKind=turn.kind, code=code)

    def happened(self, effects: tuple[JsonObject, ...], notices: tuple[JsonObject, ...]) -> None:
        self._put("step", effects=list(effects), notices=list(notices))

    @contextmanager
    def catching_up(self, minutes: int) -> Iterator[Callable[[int], None]]:
        self._put("catchingUp", minutes=minutes)
        yield lambda _done: None
        self._put("caughtUp", minutes=minutes)

    def shown(self, what: str, pet: SaveView, count: int) -> None:
        self._put(what, **_answer(what, pet, count))

    def prompt(self) -> None:
        """Programs need none."""

    def entered(self) -> None:
        """Nothing stands in the way."""

    def refused(self, line: int, code: str, detail: str) -> None:
        self._put("refused", line=line, code=code, detail=detail)

    def _put(self, kind: str, /, **members: JsonValue) -> None:
        click.echo(json.dumps({"kind": kind, **members}, ensure_ascii=False))


def _shown_lines(what: str, pet: SaveView, count: int) -> tuple[str, ...]:
    match what:
        case "body":
            return body_lines(pet)
        case "memories":
            return memory_lines(pet)
        case "diary":
            return diary_lines(pet, count)
        case _:
            return tuple(f"{form:34} {about}" for form, about in HELP.items())


def _answer(what: str, pet: SaveView, count: int) -> JsonObject:
    match what:
        case "body":
            return {name: pet.members.get(name) for name in BODY_MEMBERS}
        case "help":
            return {"forms": dict(HELP)}
        case _:
            held = pet.all(what)
            return {what: [each.members for each in (last(held, count) if what == "diary" else held)]}


def _length(turn: Turn) -> int:
    return DIARY_TEXT_MAX if turn.kind == "diary" else TEXT_MAX


def _span(minutes: int) -> str:
    """A span in the largest fitting unit."""
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{count} {name}{'s' * (count != 1)}"
    return "no time"
