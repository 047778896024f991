"""The faults that the mutation run puts in: each changes what the source does, in one place, and nothing else fits."""

import ast
from itertools import pairwise

import pytest

from tools.mutate_engine.__main__ import DATA, is_left, sample_of, sources
from tools.mutate_engine.mutants import mutants_of, mutated
from tools.mutate_engine.record import Known, Record, percent_noticed, report

CASES = [
    ("x = a < b", "a < b", "a <= b"),
    ("x = a <= b < c", "a <= b < c", "a < b < c"),
    ("x = a == b", "a == b", "a != b"),
    ("x = a in b", "a in b", "a not in b"),
    ("x = a is None", "a is None", "a is not None"),
    ("x = a + b", "a + b", "a - b"),
    ("x = a // b", "a // b", "a * b"),
    ("x = a and b", "a and b", "a or b"),
    ("x = 5", "5", "6"),
    ("x = True", "True", "False"),
    ("x = a if b else c", "a if b else c", "a if not b else c"),
]


@pytest.mark.parametrize(("source", "before", "after"), CASES)
def test_a_fault_changes_one_thing(source, before, after):
    first = mutants_of("m", source)[0]
    assert (before, after) == (first.before, first.after)
    assert f"x = {after}" == mutated(source, 0)


@pytest.mark.parametrize("statement", ["raise ValueError", "continue", "break", "x += 1", "call()"])
def test_a_statement_can_be_left_out(statement):
    source = f"for y in z:\n    {statement}\n    y = z"
    kinds = {mutant.kind: mutant for mutant in mutants_of("m", source)}
    assert statement == kinds["delete"].before
    assert "pass" in mutated(source, kinds["delete"].number)


@pytest.mark.parametrize(
    "source",
    [
        '"""Words 1 + 1."""',
        "assert a < b",
        "@lru_cache(maxsize=5)\ndef f(a: int | None = None) -> int | None: ...",
        "x = int | str",
        "x = 'a'",
        "import os",
    ],
)
def test_no_fault_fits_where_none_would_matter(source):
    assert [] == mutants_of("m", source)


@pytest.mark.parametrize("module", sorted(sources()))
def test_every_fault_of_a_module_is_python_and_differs(module):
    source = sources()[module]
    whole = ast.unparse(ast.parse(source))
    found = mutants_of(module, source)
    for mutant in found[:: max(1, len(found) // 20)]:
        faulty = mutated(source, mutant.number)
        compile(faulty, module, "exec")
        assert faulty != whole


def test_the_rules_are_all_in_it():
    assert {"life", "body", "turns", "owner", "replies", "saves", "codec", "tags", "text", "zones"} <= set(sources())
    assert set() == set(DATA) & set(sources())
    assert sum(len(mutants_of(module, source)) for module, source in sources().items()) > 1000


def test_a_larger_sample_holds_the_smaller():
    faults = [mutant for module, source in sources().items() for mutant in mutants_of(module, source)]
    samples = [{mutant.id for mutant in sample_of(faults, 1, size)} for size in (10, 100, 1000)]
    assert [10, 100, 1000] == [len(sample) for sample in samples]
    assert all(small < large for small, large in pairwise(samples))
    assert samples[1] != {mutant.id for mutant in sample_of(faults, 2, 100)}


def test_what_is_known_is_read_again_and_other_source_does_not_count(tmp_path):
    old, new = mutants_of("m", "x = a < b"), mutants_of("m", "x = a < c")
    record = Record(tmp_path / "known.jsonl")
    record.add(Known(old[0], "survived", "", 1.0))
    record.add(Known(new[0], "killed", "test", 1.0))
    again = Record(tmp_path / "known.jsonl")
    assert [new[0]] == [known.mutant for known in again.of(new)]
    assert 100 == percent_noticed(again.of(new))
    assert 50 == percent_noticed([*again.of(old), *again.of(new)])
    assert "| `m.py`:1 | `a < b` → `a <= b` |" in report(again.of(old), 1, 1)


def test_a_survivor_is_tried_again_when_asked_for():
    fault = mutants_of("m", "x = a < b")[0]
    verdicts = {verdict: Known(fault, verdict, "", 1.0) for verdict in ("killed", "timeout", "survived")}
    assert is_left(None, again=False)
    assert [] == [verdict for verdict, known in verdicts.items() if is_left(known, again=False)]
    assert ["survived"] == [verdict for verdict, known in verdicts.items() if is_left(known, again=True)]
