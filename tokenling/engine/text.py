"""Words made safe: code-point ranges only, so that every Python version agrees."""

import re

_SPACES = re.compile("[\t\n\v\f\r\x1c-\x1f\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_REMOVED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e"
    "\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000e0000-\U0010ffff]"
)
"""Controls, invisible and direction marks, lone surrogates, private use, noncharacters. The joiners U+200C and
U+200D and the variation selectors stay: Persian and emoji are written with them."""
_PLAIN = re.compile("[ -~]*")
"""Printable ASCII: in it only the spaces are left to look at."""
_PLAIN_BYTES = bytes(byte for byte in range(0x20, 0x7F) if byte not in b"[]")
_UNCLEAN = re.compile(rf"{_SPACES.pattern}|{_REMOVED.pattern}|[][]")
_VISIBLE = re.compile("[^ \u200c\u200d\ufe00-\ufe0f]")
_RUNS = re.compile(" {2,}")
_BRACKETS = str.maketrans("[]", "()")
_WORD = re.compile("[0-9A-Za-z\u00c0-\u024f\u0370-\u1fff\u3040-\ud7ff]+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def clean(text: str) -> str:
    """One printable line: breaks and tabs are spaces, runs of spaces one, controls gone, ends trimmed.

    Empty when nothing visible is left. Cleaning twice changes nothing more.
    """
    line = _RUNS.sub(" ", _REMOVED.sub("", _SPACES.sub(" ", text))).strip(" ")
    return line if _VISIBLE.search(line) else ""


def without_brackets(text: str) -> str:
    """`[` and `]` as parentheses: nobody types tags into prompts or memories."""
    return text.translate(_BRACKETS)


def cut(text: str, length: int) -> str:
    """The clean start of a text, at most `length` code points."""
    return clean(text[:length])


def is_clean(text: str) -> bool:
    """Whether `clean` would leave the text as it is and no bracket is in it."""
    if "[" in text or "]" in text:
        return False
    if _PLAIN.fullmatch(text):
        return "  " not in text and text.strip(" ") == text
    return clean(text) == text


def are_clean(texts: list[str]) -> bool:
    """Whether each of the texts is clean, looked at together."""
    joined = "".join(texts)
    if "  " in joined:
        return False
    if joined.isascii():  # the only space left that `strip` takes is the space
        return not joined.encode().translate(None, delete=_PLAIN_BYTES) and list(map(str.strip, texts)) == texts
    if _UNCLEAN.search(joined) or not all(map(_VISIBLE.search, filter(None, texts))):
        return False
    return [text.strip(" ") for text in texts] == texts


def words_of(text: str) -> tuple[str, ...]:
    """The words in order, ASCII letters in lower case."""
    return tuple(_WORD.findall(text.translate(_ASCII_LOWER)))


def shares_word(text: str, words: frozenset[str]) -> bool:
    """Whether one of the words is among `words_of(text)`; quick where none is."""
    lowered = text.translate(_ASCII_LOWER)
    return any(word in lowered for word in words) and not words.isdisjoint(_WORD.findall(lowered))
