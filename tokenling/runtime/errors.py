"""The runtime's errors, one tree. Each carries a stable `code` and says what was found and what was expected.

No message ever holds prompt text or generated text: subjects are file, field and tensor names, findings are shapes,
types, counts and short quotations from a brain's own files.
"""

import json

FOUND_CHARS_MAX = 200
"""A finding is quoted from a file nobody vouches for: bounded so that a log line stays a line."""


class BrainError(Exception):
    """Any refusal or failure of the runtime. `code` is stable; the message is for people."""

    def __init__(self, code: str, subject: str, found: object, expected: str) -> None:
        self.code = code
        self.subject = subject
        self.found = quote(found)
        self.expected = expected
        super().__init__(f"{subject}: found {self.found}, expected {expected} ({code})")


class BrainRefused(BrainError):  # noqa: N818 - a contract name
    """A brain directory breaks the contract. Raised while opening, before any turn; a retry needs other files."""


class GenerationRefused(BrainError):  # noqa: N818 - a contract name
    """A request cannot be asked of this brain: it does not fit or is malformed. Nothing ran; a retry fails too."""


class LaneFailed(BrainError):  # noqa: N818 - a contract name
    """A step broke its promise (cache growth, finite logits) or ORT failed. The turn is lost, the lane stays usable."""


class ReceiptRefused(BrainError):  # noqa: N818 - a contract name
    """A turn receipt cannot be verified at all: malformed, another version, or without request and tokens."""


def quote(found: object) -> str:
    """`found` as one bounded printable line: a text as it is, anything else as JSON, as a brain's files have it."""
    text = found if isinstance(found, str) else "nothing" if found is None else _as_json(found)
    line = "".join(char if char.isprintable() else " " for char in text)
    return line if len(line) <= FOUND_CHARS_MAX else line[:FOUND_CHARS_MAX] + "…"


def _as_json(found: object) -> str:
    try:
        return json.dumps(found, ensure_ascii=False, default=str)
    except RecursionError:
        return "a value that is nested too deeply"
