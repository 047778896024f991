"""Words made safe by code-point ranges alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenling.engine.text import clean, cut, is_clean, shares_word, without_brackets, words_of


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("  two\n\nlines\t here \r\n", "two lines here"),
        ("a\x00b\x1b[31mc\x7f", "ab[31mc"),
        ("\u202eabc\u202c\u200f\u2066x\u2069", "abcx"),
        ("\ud800lone\udfff", "lone"),
        ("\ue000\ufffe\uffff\U0010ffff\U000e0041", ""),
        ("\u200d\ufe0f \u200c", ""),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\U0001f469\u200d\U0001f680 \u2764\ufe0f", "\U0001f469\u200d\U0001f680 \u2764\ufe0f"),
        ("e\u0301\u00e9", "e\u0301\u00e9"),
        ("\u3000wide\u00a0space\u2003", "wide space"),
        ("\u3164\u115f\uffa0\u180e\u2060", ""),
    ],
)
def test_cleaning_leaves_one_printable_line(text: str, line: str) -> None:
    assert line == clean(text)


@given(st.text(alphabet=st.characters(), max_size=60), st.integers(0, 20))
def test_cleaning_and_cutting_are_final(text: str, length: int) -> None:
    line = clean(text)
    assert clean(line) == line
    assert len(cut(line, length)) <= length
    assert is_clean(without_brackets(cut(line, length)))
    line.encode()


def test_a_cut_leaves_no_invisible_rest() -> None:
    assert cut("\u200d" * 10 + "x", 5) == ""
    assert cut("ab cd", 3) == "ab"


def test_words_are_lower_case_in_ascii_only() -> None:
    assert words_of("The RED \u00c4pfel, it's 2 p.m.!") == ("the", "red", "\u00c4pfel", "it", "s", "2", "p", "m")


@given(st.text("abAB\u00e4\u00c4 1.", max_size=12), st.frozensets(st.text("ab\u00e4\u00c41", min_size=1, max_size=3)))
def test_a_word_is_shared_when_it_is_among_the_texts_words(text: str, words: frozenset[str]) -> None:
    assert shares_word(text, words) == bool(words.intersection(words_of(text)))


def test_a_part_of_a_word_is_not_shared() -> None:
    assert shares_word("The Kite flew.", frozenset(("kite",)))
    assert not shares_word("The kitesurfer flew.", frozenset(("kite",)))
