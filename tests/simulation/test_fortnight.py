"""Days of a life with the shipped brain, and a fortnight with a script; each fault that is looked for can be found."""

from dataclasses import replace
from functools import cache

import pytest
from fortnight import faults, live, longest_at_an_end, report

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.engine import Reply
from tools.simulate_life.words import brain_writer, scripted


@cache
def fortnight():
    return live(scripted, 14)


def test_two_days_with_the_shipped_brain_are_days_of_a_pet():
    life = live(brain_writer(shipped_brain_dir()), 2)
    assert [] == faults(life), report(life)
    assert all(turn.spoke for turn in life.turns if turn.kind == "diary")


def test_a_fortnight_with_a_script_is_one_of_a_pet():
    assert [] == faults(fortnight()), report(fortnight())
    assert 400 <= len(fortnight().turns) <= 560


def test_a_pet_that_only_talks_is_found_out():
    assert ["0 % of the idle turns carry an action"] == [
        text for text in faults(live(lambda _request: Reply("La la la.", "newline", ()), 2)) if "action" in text
    ]


def test_a_pet_without_a_diary_is_found_out():
    silent = live(lambda _request: Reply("", "eos", ()), 3)
    assert "0 diary pages in 3 days" in faults(silent)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda look: replace(look, asleep=False), "asleep 0 % of the nights"),
        (lambda look: replace(look, asleep=True), "asleep 100 % of the days"),
        (lambda look: replace(look, meters={**look.meters, "mood": 1_000_000}), "mood stood at an end for"),
        (lambda look: replace(look, meters={**look.meters, "hygiene": 40_000}), "hygiene stood at an end for"),
    ],
)
def test_nights_awake_days_asleep_and_stuck_meters_are_found_out(change, told):
    life = replace(fortnight(), looks=[change(look) for look in fortnight().looks])
    assert any(text.startswith(told) for text in faults(life))


def test_a_run_at_an_end_is_counted_in_looks():
    looks = fortnight().looks[:6]
    marks = [1_000_000, 500_000, 40_000, 40_000, 1_000_000, 500_000]
    life = replace(
        fortnight(), looks=[replace(look, meters={"mood": held}) for look, held in zip(looks, marks, strict=True)]
    )
    assert 3 == longest_at_an_end(life, "mood")
