"""One fault against the tests, in a forked process: the parent has pytest and Hypothesis loaded and the engine not.

The child finds the faulty module through an import hook, so no file is touched, and stops at the first test that fails.
"""

import importlib.abc
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

ROOT = Path(__file__).parents[2]
TESTS = (ROOT / "tests" / "engine", ROOT / "tests" / "save_format")
MEMORY_BYTES_MAX = 3 * 2**30
"""A fault may make a loop fill a list: ten times what the tests need."""
NO_NEWS = ("test_pyodide.py", "test_speed.py", "test_purity.py")
"""Tests of another interpreter, of time, and of the source's text: a faulty module is not theirs to see."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: `passed`, `failed` (by the named test) or `timeout`; durations of tests that ran, by id."""

    verdict: str
    by: str
    seconds: float
    durations: Mapping[str, float]


class FaultyModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, with other source than its file's."""

    def __init__(self, name: str, source: str, path: Path) -> None:
        self._name, self._source, self._path = name, source, path

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, str(self._path), "exec"), vars(module))  # noqa: S102 - our own source, one fault in it


class Watcher:
    """Puts known tests into order of their cost, keeps durations, and names the first that failed."""

    def __init__(self, known: Mapping[str, float]) -> None:
        self._known = known
        self.durations: dict[str, float] = {}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.path.name not in NO_NEWS]
        if self._known:
            items[:] = sorted((item for item in items if item.nodeid in self._known), key=self._cost)

    def _cost(self, item: pytest.Item) -> float:
        return self._known[item.nodeid]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0) + report.duration
        if report.failed and not self.failed:
            self.failed = report.nodeid


def run(fault: FaultyModule | None, known: Mapping[str, float], limit_s: float) -> Outcome:
    """The tests in `known`, cheapest first (all of them when empty), with a fault or without."""
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(fault, known, writer)
    os.close(writer)
    told = _read(reader, limit_s)
    os.close(reader)
    if told is None:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seconds = round(time.monotonic() - began, 2)
    if told is None:
        return Outcome("timeout", "", seconds, {})
    # a child that died without a word was killed by its fault (memory, recursion)
    if not told:
        return Outcome("failed", "the process ended", seconds, {})
    found = json.loads(told)
    return Outcome("passed" if found["passed"] else "failed", found["by"], seconds, found["durations"])


def _read(reader: int, limit_s: float) -> bytes | None:
    """All that the child writes, None when its time is over."""
    told, end = b"", time.monotonic() + limit_s
    while select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
        piece = os.read(reader, 65_536)
        if not piece:
            return told
        told += piece
    return None


def _child(fault: FaultyModule | None, known: Mapping[str, float], writer: int) -> None:
    """Run the tests and end this process: nothing of the parent's goes on here."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        if fault is not None:
            sys.meta_path.insert(0, fault)
        watcher = Watcher(known)
        code = pytest.main(_arguments(), plugins=[watcher])
        by = watcher.failed or ("" if code == 0 else "collection")
        found = {"passed": code == 0, "by": by, "durations": watcher.durations}
        os.write(writer, json.dumps(found).encode())
    finally:
        os._exit(code)


def _arguments() -> list[str]:
    # Hypothesis is loaded already, on purpose: its assertions need no rewriting
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return ["-x", "-q", "-p", "no:cacheprovider", *quiet, "--rootdir", str(ROOT), *map(str, TESTS)]


def prepare() -> None:
    """Load what every child needs, and make random tests the same each time."""
    import trio  # noqa: F401 - imported for the children

    hypothesis.settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("mutation")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
