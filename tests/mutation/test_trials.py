"""How the mutation run tries a fault: by a fresh import or in a session collected once, with the same verdict."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tools.mutate_engine.campaign import nearest, ranked
from tools.mutate_engine.mutants import Mutant, mutants_of
from tools.mutate_engine.record import Known
from tools.mutate_engine.session import LIVES_AT_IMPORT
from tools.mutate_engine.swap import changed_function, swap

ROOT = Path(__file__).parents[2]
HELD = """
from functools import lru_cache

class Kept:
    limit = 1 + 1

    @property
    def doubled(self):
        return self.held * 2

    @staticmethod
    def least(value):
        return value < 1

    def __init__(self, held=3):
        self.held = held

@lru_cache(maxsize=4)
def cached(value):
    return value + 1

def outer(value):
    def inner():
        return value - 1
    return inner()
"""


def loaded(source):
    module = ModuleType("held")
    exec(source, vars(module))  # noqa: S102 - the text above
    return module


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("Kept.doubled", lambda held: held.Kept().doubled, (6, 1)),
        ("Kept.least", lambda held: held.Kept.least(1), (False, True)),
        ("cached", lambda held: held.cached(5), (6, 4)),
        ("outer", lambda held: held.outer(5), (4, 6)),
    ],
)
def test_a_fault_within_a_function_is_put_into_what_is_loaded(name, before, after):
    changes = [changed_function(HELD, number) for number in range(count(HELD))]
    first = next(changed for changed in changes if changed is not None and changed[0] == name)
    held = loaded(HELD)
    assert swap(held, *first)
    assert after == (before(loaded(HELD)), before(held))


def count(source):
    return len(mutants_of("held", source))


@pytest.mark.parametrize(
    "source",
    ["x = 1 + 1", "def f(x=1): ...", "class C:\n    x = 1", "f = lambda x: x + 1", "x = [y + 1 for y in z]"],
)
def test_a_fault_outside_of_functions_needs_a_fresh_import(source):
    assert [None] * count(source) == [changed_function(source, number) for number in range(count(source))]


def test_what_is_no_function_here_is_not_swapped():
    name, code = changed_function("def f(x):\n    return x + 1", 0) or ("", None)
    assert not swap(loaded("f = 1"), name, code)
    assert not swap(loaded("g = 1"), name, code)


def test_tests_that_noticed_most_for_their_cost_go_first():
    def known(module, by):
        return Known(Mutant(module, 0, 1, "flip", "", "", "d"), "killed", by, 1.0)

    costs = {"a/x.py::dear": 1.0, "a/x.py::cheap": 0.01, "a/y.py::good": 0.1, "a/z.py::elsewhere": 0.1}
    history = [known("m", "a/y.py::good")] * 9 + [known("n", "a/z.py::elsewhere")] * 9
    assert ["a/y.py::good", "a/z.py::elsewhere", "a/x.py::cheap", "a/x.py::dear"] == ranked(costs, "m", history)
    assert ["a/x.py::cheap", "a/y.py::good", "a/z.py::elsewhere", "a/x.py::dear"] == ranked(costs, "m", [])
    assert ["x.py", "y.py", "z.py"] == nearest(ranked(costs, "m", []))


@pytest.fixture(scope="module")
def found():
    """What both ways say, from a process that has not loaded the engine."""
    script = Path(__file__).parent / "both_ways.py"
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, check=True, timeout=300)
    return json.loads(done.stdout)


def test_a_session_and_a_fresh_import_give_the_same_verdicts(found):
    assert [pair[0] for pair in found["verdicts"]] == [pair[1] for pair in found["verdicts"]]
    assert {"passed", "failed"} == {pair[0] for pair in found["verdicts"]}


def test_a_fault_without_an_end_is_noticed_by_its_time(found):
    assert ["timeout", "timeout"] == found["endless"]


def test_a_fault_leaves_no_trace_in_the_session(found):
    assert [pair[0] for pair in found["verdicts"]] == found["again"]


def test_no_file_of_the_session_calls_the_engine_at_import(found):
    assert [] == found["called by files"]
    assert all(list((ROOT / "tests").rglob(name)) for name in LIVES_AT_IMPORT)
