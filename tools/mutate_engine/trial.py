"""One fault against the tests, in a forked process: the parent has pytest and Hypothesis loaded and the engine not.

The child finds the faulty module through an import hook, so no file is touched, and stops at the first test that fails.
All limits and costs are seconds of a processor: a machine that is busy changes no verdict.
"""

import importlib
import importlib.abc
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

ROOT = Path(__file__).parents[2]
TESTS = ("tests/engine", "tests/save_format")
BUSY_FACTOR = 20
"""A limit is seconds of a processor; one that waits for anything else ends after this many times that by the clock."""
MEMORY_BYTES_MAX = 3 * 2**30
"""A fault may make a loop fill a list: ten times what the tests need."""
PLUGINS = (
    "-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "no:threadexception",
    "-p", "pytest_trio.plugin", "-p", "_hypothesis_pytestplugin",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
"""No cache, and no full garbage collection at the end of a trial; what else is installed loads in no child.

Hypothesis is loaded already, on purpose: its assertions need no rewriting.
"""
NO_NEWS = ("test_pyodide.py", "test_speed.py", "test_purity.py")
"""Tests of another interpreter, of time, and of the source's text: a faulty module is not theirs to see."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: `passed`, `failed` (by the named test) or `timeout`; what each test that ran took, by id."""

    verdict: str
    by: str
    seconds: float
    costs: Mapping[str, float]


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
    """Puts known tests into the order they are known in, keeps what each takes, and names the first that failed."""

    def __init__(self, known: Sequence[str]) -> None:
        self._place = {test: place for place, test in enumerate(known)}
        self.costs: dict[str, float] = {}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.path.name not in NO_NEWS]
        if self._place:
            items[:] = in_order((item for item in items if item.nodeid in self._place), self._place)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = spent_s()
        try:
            return (yield)
        finally:
            self.costs[item.nodeid] = spent_s() - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def spent_s() -> float:
    """What this process and its children took of a processor."""
    return sum(os.times()[:4])


def in_order(items: Iterable[pytest.Item], place: Mapping[str, int]) -> list[pytest.Item]:
    """The tests by their places."""
    return sorted(items, key=lambda item: place[item.nodeid])


def run(fault: FaultyModule | None, known: Sequence[str], limit_s: float) -> Outcome:
    """The tests in `known`, in that order (all of them when empty), with a fault or without.

    Only their files are collected: that costs more than most tests.
    """
    return forked(lambda writer: _child(fault, known, writer, round(limit_s)), limit_s * BUSY_FACTOR)


def forked(work: Callable[[int], None], limit_s: float) -> Outcome:
    """What a forked process writes of its work, which ends with `answer_of`; the process goes no further."""
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    told = _read(reader, limit_s)
    os.close(reader)
    if told is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seconds = round(time.monotonic() - began, 2)
    if told is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return Outcome("timeout", "", seconds, {})
    # a child that died without a word was killed by its fault (memory, recursion)
    if not told:
        return Outcome("failed", "the process ended", seconds, {})
    found = json.loads(told)
    return Outcome("passed" if found["passed"] else "failed", found["by"], seconds, found["costs"])


def answer_of(writer: int, *, passed: bool, by: str, costs: Mapping[str, float] | None = None) -> None:
    """Write how a trial ended."""
    told = json.dumps({"passed": passed, "by": by, "costs": dict(costs or {})}).encode()
    while told:
        told = told[os.write(writer, told) :]


def _read(reader: int, limit_s: float) -> bytes | None:
    """All that the child writes, None when its time is over."""
    told, end = b"", time.monotonic() + limit_s
    while select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
        piece = os.read(reader, 65_536)
        if not piece:
            return told
        told += piece
    return None


def silenced() -> None:
    """No output of this process from now on."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)


def _child(fault: FaultyModule | None, known: Sequence[str], writer: int, limit_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
    silenced()
    if fault is not None:
        sys.meta_path.insert(0, fault)
    watcher = Watcher(known)
    files = sorted({test.partition("::")[0] for test in known}) or TESTS
    code = pytest.main(["-x", *PLUGINS, "-q", "--rootdir", str(ROOT), *files], plugins=[watcher])
    by = watcher.failed or ("" if code == 0 else "collection")
    answer_of(writer, passed=code == 0, by=by, costs=watcher.costs)


def prepare() -> None:
    """Load what every child needs, and make random tests the same each time.

    No shrinking and no explaining: a fault is noticed by the first example that fails, the smallest changes no verdict.
    """
    for module in ("jsonschema", "pytest_trio.plugin", "trio"):
        importlib.import_module(module)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutation", derandomize=True, database=None, deadline=None, phases=phases)
    hypothesis.settings.load_profile("mutation")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
