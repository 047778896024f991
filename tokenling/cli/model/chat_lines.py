"""What a user types in a chat, and what a line asks for. Nothing here touches a model."""

from collections.abc import Mapping
from dataclasses import dataclass

from tokenling.cli.lines import Lines

LINE_BYTES_MAX = 2**20
"""Of one line: as much as may be encoded. A longer one is refused whole, never cut."""

HELP: Mapping[str, str] = {
    "WORDS": "say something; //… says a line that begins with a stroke",
    "/reset": "forget the conversation, keep the system's message",
    "/system [TEXT]": "begin anew with another system's message, or with none",
    "/undo": "forget the last question and its reply",
    "/save FILE": "the conversation as JSON, a new file",
    "/receipt FILE": "the last reply's receipt, a new file (needs --receipts)",
    "/context": "how much of the context is used",
    "/help": "this",
    "/quit": "stop; so does the end of input",
}
_NEEDS, _TAKES = frozenset({"/save", "/receipt"}), frozenset({"/save", "/receipt", "/system"})


class ChatLineRefused(Exception):
    """Raised for a line that asks for nothing this chat knows. `code` is stable; `expected` helps a person."""

    def __init__(self, code: str, expected: str) -> None:
        super().__init__(f"{code}: expected {expected}")
        self.code = code
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Say:
    """Something for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Do:
    """Something about the conversation: a command's word and what stands behind it."""

    word: str
    rest: str


def parse_line(line: str) -> Say | Do | None:
    """What a line asks for; None for an empty one. Raises `ChatLineRefused`."""
    line = line.strip()
    if not line:
        return None
    if not line.startswith("/") or line.startswith("//"):
        return Say(line.removeprefix("/") if line.startswith("//") else line)
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word not in {form.partition(" ")[0] for form in HELP}:
        raise ChatLineRefused("unknown_command", "/help, or words without a stroke in front")
    if word in _NEEDS and not rest:
        raise ChatLineRefused("missing_words", f"{word} and a file's name")
    if word not in _TAKES and rest:
        raise ChatLineRefused("unexpected_words", f"{word} alone")
    return Do(word, rest)


def next_line(lines: Lines) -> str:
    """The next line. Raises `EOFError` at the end, `ChatLineRefused` for one that is too long or no UTF-8."""
    line = lines.next()
    assert line is not None, "a wait without an end"
    if len(line) > LINE_BYTES_MAX:
        raise ChatLineRefused("line_long", f"at most {LINE_BYTES_MAX} bytes")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise ChatLineRefused("not_utf8", "text in UTF-8") from None
