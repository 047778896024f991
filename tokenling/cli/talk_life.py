"""A pet's executor in a terminal: it runs what the engine says is due, and keeps each step before the next begins.

No clock, no file, no terminal in here: time comes as an argument, bytes leave through `keep`, what happened through a
`Screen`. A turn's words come from `Words`: a brain, or a script in tests.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from tokenling.cli.save_view import SaveView, view_of
from tokenling.engine import (
    Command,
    GenerationRequest,
    JsonObject,
    Reply,
    Settings,
    State,
    Step,
    Turn,
    advance,
    apply_command,
    apply_reply,
    body_clock_ms,
    build_request,
    dump_save,
    skip_turn,
)
from tokenling.engine.balance import RETURN_GAP_MINUTES

MINUTE_MS = 60_000
CATCH_UP_MINUTES = 10
"""Time missed from here on is lived with a progress bar and told in short. A guess."""

OnPiece = Callable[[str], None]


class WordsFailed(Exception):
    """Raised when a turn got no words. `code` is the runtime's; the pet is as it was, a later turn may go well."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Words(Protocol):
    """Writes a turn's reply; `on_piece` gets its raw text as it comes."""

    def write(self, request: GenerationRequest, on_piece: OnPiece) -> Reply: ...


class Screen(Protocol):
    """Where things are told. Every call is about something that is already kept, except pieces of a reply."""

    def piece(self, turn: Turn, text: str) -> None: ...
    def replied(self, turn: Turn, words: str, step: Step) -> None: ...
    def failed(self, turn: Turn, code: str) -> None: ...
    def happened(self, effects: tuple[JsonObject, ...], notices: tuple[JsonObject, ...]) -> None: ...
    def catching_up(self, minutes: int) -> AbstractContextManager[Callable[[int], None]]: ...


class Life:
    """One pet's life while the program runs. `failures` counts turns that got no words."""

    def __init__(self, state: State, words: Words, screen: Screen, keep: Callable[[bytes], None]) -> None:
        self.state = state
        self.failures = 0
        self._words = words
        self._screen = screen
        self._keep = keep

    def catch_up(self, now_ms: int) -> None:
        """The pet has lived until `now_ms`, with a bar when much was missed."""
        start_ms = body_clock_ms(self.state)
        minutes = (now_ms - start_ms) // MINUTE_MS
        if minutes < CATCH_UP_MINUTES:
            self.live(now_ms)
            return
        with self._screen.catching_up(minutes) as progress:
            self.live(now_ms, lambda: progress((body_clock_ms(self.state) - start_ms) // MINUTE_MS))

    def live(self, now_ms: int, after_step: Callable[[], None] | None = None) -> None:
        """The pet has lived until `now_ms`, each turn that fell due answered at its own time."""
        while True:
            step = advance(self.state, now_ms)
            self._took(step)
            if after_step is not None:
                after_step()
            if step.turn is None:
                return
            self._answer(step.turn)

    def arrive(self, now_ms: int) -> None:
        """The owner is here and has done nothing yet: after a long absence the pet speaks first, unless it sleeps.

        A setting set to what it is already says just that: the engine sees a visit begin, and nothing else changes.
        """
        pet = view_of(self.state)
        if now_ms - pet.number("ownerMs") >= RETURN_GAP_MINUTES * MINUTE_MS:
            self.act(Settings(chatter=pet.number("chatter")), now_ms)

    def act(self, command: Command, now_ms: int) -> None:
        """The owner's act is done and answered. Raises `CommandRefused`: then it is not done."""
        self._make_room(now_ms)
        self._took(apply_command(self.state, command, now_ms))
        self.live(now_ms)

    def _make_room(self, now_ms: int) -> None:
        """What was due is done, idle turns are given up: the owner came."""
        while True:
            step = advance(self.state, now_ms)
            self._took(step)
            if step.turn is None:
                return
            if step.turn.kind == "idle":
                self._took(skip_turn(self.state, step.turn, "owner_came"))
            else:
                self._answer(step.turn)

    def _answer(self, turn: Turn) -> None:
        """The turn is done, with words or without: nothing is ever put in their place."""
        try:
            reply = self._words.write(build_request(self.state, turn), lambda text: self._screen.piece(turn, text))
        except WordsFailed as failure:
            self.failures += 1
            self._took(skip_turn(self.state, turn, "failed"))
            self._screen.failed(turn, failure.code)
            return
        step = apply_reply(self.state, turn, reply)
        self._took(step, tell=False)
        self._screen.replied(turn, words_of_turn(view_of(step.state), turn), step)

    def _took(self, step: Step, *, tell: bool = True) -> None:
        """The step's state is this pet's, on disk."""
        if step.state != self.state:
            self._keep(dump_save(step.state))
            self.state = step.state
        if tell and (step.effects or step.notices):
            self._screen.happened(step.effects, step.notices)


def words_of_turn(pet: SaveView, turn: Turn) -> str:
    """What the turn wrote into chat or diary, "" for nothing."""
    written = pet.all("diary" if turn.kind == "diary" else "chat")[-1:]
    return "".join(line.text("text") for line in written if line.text("turn") == turn.id)
