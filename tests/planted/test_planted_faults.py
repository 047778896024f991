"""The table of planted faults fits the source of today: each place stands there once, each named test exists."""

import ast

import pytest
from planted_faults import FAULTS, ROOT, Fault, planted

ASKED_FOR = {
    "skip the sync",
    "drop the store's fence",
    "apply an operation twice",
    "reply before the commit",
    "forget the shield",
    "check the epoch before the operation receipt",
    "forget the tombstone",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_fits_its_place_and_still_parses(fault: Fault) -> None:
    for change in fault.changes:
        text = (ROOT / change.file).read_text()
        faulty = planted(text, change)
        assert ast.dump(ast.parse(faulty)) != ast.dump(ast.parse(text))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_test_that_catches_a_fault_exists(fault: Fault) -> None:
    file, _, name = fault.caught_by.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert not name or name.partition("[")[0] in names


def test_every_fault_that_was_asked_for_is_planted() -> None:
    assert {fault.name for fault in FAULTS} >= ASKED_FOR
