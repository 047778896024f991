"""The line of due pets: in order, so many at once, and nobody twice."""

from tokenling.host.due_line import PLACES_MIN, PLACES_PER_LANE, DueLine, places_for


def test_pets_are_lived_in_the_order_in_which_they_came() -> None:
    line = DueLine(3)
    for pet_id in ("a", "b", "c"):
        line.join(pet_id)
    assert ["a", "b", "c", None] == [line.next() for _ in range(4)]


def test_no_more_are_lived_at_once_than_there_are_places() -> None:
    line = DueLine(2)
    for pet_id in ("a", "b", "c"):
        line.join(pet_id)
    assert ["a", "b", None] == [line.next() for _ in range(3)]
    assert 1 == len(line)
    line.leave("a")
    assert ["c", None] == [line.next() for _ in range(2)]


def test_who_waits_already_keeps_the_place() -> None:
    line = DueLine(1)
    for pet_id in ("a", "b", "a"):
        line.join(pet_id)
    assert 2 == len(line)
    assert "a" == line.next()


def test_who_is_driven_for_somebody_waits_no_more_and_takes_no_place() -> None:
    line = DueLine(1)
    for pet_id in ("a", "b", "c"):
        line.join(pet_id)
    line.leave("a")
    assert "b" == line.next()
    line.leave("b")
    assert "c" == line.next()


def test_who_had_its_turn_yields_to_those_who_wait_and_to_nobody_else() -> None:
    line = DueLine(1)
    line.join("a")
    line.next()
    assert not line.must_yield("a")
    line.join("b")
    assert line.must_yield("a")
    line.join("a")
    line.ended("a")
    assert ["b", None] == [line.next() for _ in range(2)]
    line.leave("b")
    assert not line.must_yield("b")
    assert "a" == line.next()


def test_places_grow_with_the_lanes() -> None:
    assert PLACES_MIN == places_for(1)
    assert 100 * PLACES_PER_LANE == places_for(100)
