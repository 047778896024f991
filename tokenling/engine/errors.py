"""What the engine refuses, one tree. No message ever holds the owner's words, only codes and field paths."""


class EngineError(Exception):
    """A refusal by the rules. Anything else that a rule raises is a fault of that pet's state."""

    code = "engine"


class SaveRefused(EngineError):  # noqa: N818 - the name says what happened
    """Raised by `load_save`: nothing was accepted. The same bytes are refused again, so a retry is useless.

    `path` is the JSON Pointer of the first wrong field ("" is the whole save); unknown names are shown as "?".
    """

    def __init__(self, code: str, path: str) -> None:
        super().__init__(f"save refused: {code} at {path or 'the whole save'}")
        self.code = code
        self.path = path


class CommandRefused(EngineError):  # noqa: N818 - the name says what happened
    """Raised by `parse_command` and `apply_command`: nothing changed. The same command may fit a later state."""

    def __init__(self, code: str, path: str = "") -> None:
        super().__init__(f"command refused: {code} at {path or 'the whole command'}")
        self.code = code
        self.path = path


class TurnsPending(EngineError):  # noqa: N818 - the name says what happened
    """Raised by `apply_command` while an idle turn is due: skip it (reason `owner_came`) and apply again."""

    code = "turns_pending"

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"an idle turn is due: {turn_id}")
        self.turn_id = turn_id


class StaleTurn(EngineError):  # noqa: N818 - the name says what happened
    """Raised by `apply_reply` and `skip_turn`: the turn is no longer the one that is due. Drop the reply."""

    code = "stale_turn"

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"not the due turn: {turn_id}")
        self.turn_id = turn_id
