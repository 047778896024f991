"""A record with members changed is what `dataclasses.replace` makes of it, for every record that a save holds."""

import dataclasses
from dataclasses import dataclass

import pytest

from tokenling.engine import records, state

RECORDS = [each for each in vars(state).values() if dataclasses.is_dataclass(each) and isinstance(each, type)]


@pytest.mark.parametrize("make", RECORDS, ids=lambda make: make.__name__)
def test_each_member_of_each_record_is_replaced_alone(make: type) -> None:
    names = [each.name for each in dataclasses.fields(make)]
    record = make(**{name: f"{name} before" for name in names})
    for name in names:
        changed = {name: "after"}
        made = records.replace(record, **changed)
        assert dataclasses.replace(record, **changed) == made
        assert make is type(made)
        assert f"{name} before" == getattr(record, name)


def test_without_changes_it_is_an_equal_record_and_another_one() -> None:
    memory = state.Memory("the kite", 7)
    made = records.replace(memory)
    assert memory == made
    assert memory is not made


def test_what_is_made_stays_frozen() -> None:
    made = records.replace(state.Memory("the kite", 7), at_ms=8)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.at_ms = 9  # type: ignore[misc]


def test_a_member_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        records.replace(state.Memory("the kite", 7), nope=1)  # type: ignore[call-arg]


def test_a_record_that_checks_itself_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        low: int
        high: int

        def __post_init__(self) -> None:
            assert self.low <= self.high

    with pytest.raises(AssertionError):
        records.replace(Checked(1, 2), low=3)
