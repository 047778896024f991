"""Text leaves whole: no half character, no part of a stop, whatever the pieces."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.runtime.text_stream import TextStream


def pushed(stops: tuple[str, ...], *pieces: bytes) -> tuple[list[str], TextStream]:
    stream = TextStream(stops)
    return [stream.push(piece) for piece in pieces], stream


def test_a_character_split_over_three_tokens_leaves_once_whole() -> None:
    left, _ = pushed((), b"a\xf0\x9f", b"\x99", b"\x82b")
    assert left == ["a", "", "🙂b"]


@pytest.mark.parametrize("data", [b"a\xffb", b"a\xc3b", b"a\xe2\x82b", b"\x80a\xbfb"])
def test_bytes_that_are_no_text_are_dropped(data: bytes) -> None:
    _, stream = pushed((), data)
    assert stream.text == "ab"


def test_an_unfinished_character_at_the_end_is_dropped() -> None:
    _, stream = pushed((), b"ab\xe2\x82")
    assert stream.finish() == ""
    assert stream.text == "ab"


def test_a_stop_ends_the_text_before_it() -> None:
    left, stream = pushed(("\n",), b"hi", b" you\nand more")
    assert left == ["hi", " you"]
    assert stream.stopped


def test_half_a_stop_is_held_back_until_it_is_none() -> None:
    left, stream = pushed(("\n\n",), b"a\n", b"b", b"c\n", b"\n")
    assert left == ["a", "\nb", "c", ""]
    assert stream.stopped
    assert stream.text == "a\nbc"


def test_half_a_stop_at_the_end_is_text() -> None:
    _, stream = pushed(("\n\n",), b"a\n")
    assert stream.finish() == "\n"


@settings(deadline=None)
@given(st.text(max_size=40), st.lists(st.integers(0, 160), max_size=12))
def test_any_cutting_gives_the_same_text(text: str, cuts: list[int]) -> None:
    data = text.encode()
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[low:high] for low, high in itertools.pairwise(borders)]
    stream = TextStream(("\n\n", "END"))
    for piece in pieces:
        if not stream.stopped:
            stream.push(piece)
    if not stream.stopped:
        stream.finish()
    ends = [at for at in (text.find("\n\n"), text.find("END")) if at >= 0]
    assert stream.text == (text[: min(ends)] if ends else text)
