"""How a request becomes a prompt, and which lines fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenling.engine import first_kept_line, insertion_text, prompt_text


def test_a_prompt_is_closed_lines_and_an_open_prefix() -> None:
    assert prompt_text("You are Pip.", ("Owner: hi",), "Pip:") == "You are Pip.\nOwner: hi\nPip:"
    assert prompt_text("", (), "hello little friend") == "hello little friend"


def test_a_lookups_answer_stands_in_parentheses() -> None:
    assert insertion_text("rain") == "(rain)"


@pytest.mark.parametrize(
    ("lines", "budget", "first"),
    [((5, 5, 5), 27, 0), ((5, 5, 5), 26, 1), ((5, 5, 5), 16, 3), ((5, 9, 5), 20, 2), ((), 12, 0)],
)
def test_the_oldest_lines_go_first(lines: tuple[int, ...], budget: int, first: int) -> None:
    assert first == first_kept_line(10, lines, 2, budget)


def test_header_and_prefix_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ValueError, match="12 tokens, the budget is 11"):
        first_kept_line(10, (1,), 2, 11)


@given(st.lists(st.integers(0, 50), max_size=12), st.integers(12, 300))
def test_what_is_kept_fits_and_one_line_more_would_not(lines: list[int], budget: int) -> None:
    first = first_kept_line(10, lines, 2, budget)
    assert 12 + sum(lines[first:]) <= budget
    assert first == 0 or 12 + sum(lines[first - 1 :]) > budget
