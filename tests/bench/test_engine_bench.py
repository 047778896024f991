"""The engine's bench: the same work here and in Pyodide, bounds that can break, promises that the page repeats."""

import ast
import sys
from pathlib import Path

import pytest

from tools.bench import engine_work
from tools.bench.engine import BOUNDS_MS, broken, in_pyodide, table

PAGE = (Path(__file__).parents[2] / "docs" / "engine.md").read_text()


def test_the_work_needs_the_engine_and_the_standard_library_only():
    tree = ast.parse(Path(engine_work.__file__).read_text())
    froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imports = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {"tokenling.engine"} == {name for name in froms | imports if name not in sys.stdlib_module_names} - {
        "collections.abc"
    }


def test_every_piece_of_work_is_done_and_timed():
    calls = []
    found = engine_work.times(lambda: calls.append(1), 3, 2)
    assert (6, {"medianMs", "bestMs"}) == (len(calls), set(found))
    lived = engine_work.lived()
    assert 20 * 1440 == (lived.body_clock_ms - engine_work.START_MS) // 60_000
    assert 200 == len(lived.chat)


@pytest.mark.parametrize("where", BOUNDS_MS)
def test_a_bound_that_is_broken_is_told(where):
    kept = {name: {"medianMs": most, "bestMs": most} for name, most in BOUNDS_MS[where].items()}
    assert [] == broken(where, kept)
    name = next(iter(kept))
    most = BOUNDS_MS[where][name]
    slow = {**kept, name: {"medianMs": most * 2, "bestMs": most + 0.5}}
    assert [f"{where}: {name} took {most + 0.5} ms, at most {most} ms are promised"] == broken(where, slow)


def test_without_pyodide_that_half_is_reported_as_not_run(tmp_path):
    assert "not run: needs Node and the npm package pyodide" == in_pyodide(tmp_path)
    times = {"a minute": {"medianMs": 1.25, "bestMs": 1.0}}
    assert "| a minute | 1.25 (1) |" in table({"CPython": times, "Pyodide": in_pyodide(tmp_path)})


def test_the_page_promises_what_is_measured():
    assert 400 == BOUNDS_MS["CPython"]["30 days without turns"]
    assert 4000 == BOUNDS_MS["Pyodide"]["30 days without turns"]
    words = " ".join(PAGE.split())
    assert "at most 400 ms on CPython and 4 s in Pyodide; a command and a prompt in at most 1 ms" in words
    for name in ("30 days without turns", "a command (words)", "a prompt"):
        assert f"| {name} |" in PAGE
