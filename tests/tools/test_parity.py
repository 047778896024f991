"""The parity run: it asks other interpreters in earnest, and a build with other rules does not pass for the same."""

import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tokenling.engine.contract import contract
from tools.parity.__main__ import OTHERS, chosen_builds, table, verdict
from tools.parity.builds import PACKAGE, Build, NotRun, native, pyodide

HERE = Build("3.11.7", "linux", "14.0.0", 1, 1, "aa")


def other(**changes):
    return Build(**({"version": "3.14.2", "platform": "emscripten", "unicode": "16.0.0", "engine": 1, "prompt": 1,
                     "digest": "aa"} | changes))  # fmt: skip


def test_this_python_asked_from_outside_has_the_contract_of_this_process():
    found = native(Path(sys.executable))
    assert sha256(contract().encode()).hexdigest() == found.digest
    assert sys.version.startswith(found.version)


def test_a_build_with_another_balance_has_another_contract(tmp_path):
    package = tmp_path / "tokenling"
    shutil.copytree(PACKAGE / "engine", package / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "__init__.py", package)
    balance = package / "engine" / "balance.py"
    text = balance.read_text()
    balance.write_text(text.replace("FEED_FULLNESS = 340_000", "FEED_FULLNESS = 340_001"))
    assert text != balance.read_text()
    assert native(Path(sys.executable)).digest != native(Path(sys.executable), package).digest


@pytest.mark.parametrize("name", OTHERS)
def test_every_cpython_on_the_path_has_the_same_contract(name):
    path = shutil.which(name)
    if path is None or Path(path).resolve() == Path(sys.executable).resolve():
        pytest.skip("not here, or this one")
    try:
        found = native(Path(path))
    except NotRun as error:
        pytest.skip(str(error))
    assert sha256(contract().encode()).hexdigest() == found.digest


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"a": HERE, "b": other()}, ""),
        ({"a": HERE, "b": other(digest="ab")}, "2 different contracts"),
        ({"a": HERE, "b": other(engine=2)}, "2 different contracts"),
        ({"a": HERE, "b": other(prompt=2)}, "2 different contracts"),
        ({"a": HERE}, "only one interpreter ran: nothing to compare"),
        ({}, "only one interpreter ran: nothing to compare"),
    ],
)
def test_builds_agree_or_the_run_says_so(found, expected):
    assert expected == verdict(found)


def test_an_interpreter_that_is_not_there_or_fails_is_not_run(tmp_path):
    with pytest.raises(NotRun, match="python99 does not start"):
        native(tmp_path / "python99")
    with pytest.raises(NotRun, match="false ended with 1"):
        native(Path(shutil.which("false") or ""))
    with pytest.raises(NotRun, match="npm package pyodide"):
        pyodide(tmp_path)


def test_named_interpreters_are_asked_beside_this_one(tmp_path):
    asked = chosen_builds([tmp_path / "python3.99"], [tmp_path / "pyodide"])
    assert "this Python" == next(iter(asked))
    assert {str(tmp_path / "python3.99"), str(tmp_path / "pyodide")} <= set(asked)


def test_the_report_shows_no_path_of_the_machine():
    shown = table({"/opt/python": HERE, "b": other()})
    assert "/opt" not in shown
    assert "| 3.14.2 | emscripten | 16.0.0 | `aa` |" in shown
