"""Many faults against tests that are collected once: a pytest session that forks for each fault.

Collecting the engine's tests costs more than most faults need to be noticed. What a fault meets is the same as with a
fresh import, because the session holds only test files that call no function of the engine while they are imported,
and takes only faults within a function that nothing has called yet (`Session.takes`).
"""

import gc
import importlib
import json
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import NoReturn

import pytest

from tools.mutate_engine.swap import changed_function, swap
from tools.mutate_engine.trial import PLUGINS, ROOT, Outcome, Watcher, answer_of, forked, in_order, silenced, spent_s

LIVES_AT_IMPORT = ("test_contract.py", "test_days.py", "test_invariants.py", "test_prompts.py", "test_save_format.py")
"""Files that call the engine while they are imported: a fault there meets them in a process of its own, afterwards."""
ENGINE_DIR = str(ROOT / "tokenling" / "engine") + os.sep
TEST_FACTOR, TEST_EXTRA_S = 4, 3
"""How much of a processor a test may take: this many times what it takes without a fault, and some seconds."""
TRIAL_LIMIT_S = 3600
"""By the clock, for a test that waits for ever without a processor: none does."""
HEAD_BYTES = 8
NO_SWAP = "no swap"


class Session:
    """A forked pytest session over some tests, asked for one fault at a time. It ends with this process."""

    def __init__(self, tests: Mapping[str, float]) -> None:
        asked, self._ask = os.pipe()
        told, writer = os.pipe()
        if os.fork() == 0:
            os.close(self._ask)
            os.close(told)
            _serve(tests, asked, writer)
        os.close(asked)
        os.close(writer)
        self._told = os.fdopen(told)
        self.called = frozenset((module, name) for module, name in json.loads(self._told.readline()))
        """Functions of the engine that ran before any test did."""

    def takes(self, module: str, source: str, number: int) -> bool:
        """Whether a fault can be tried here."""
        changed = changed_function(source, number)
        return changed is not None and (module, changed[0]) not in self.called

    def run(self, module: str, source: str, number: int, order: Sequence[str]) -> Outcome | None:
        """The session's tests, in an order, with a fault; None when it cannot be put in."""
        question = json.dumps({"module": module, "source": source, "number": number, "order": list(order)}).encode()
        _write(self._ask, len(question).to_bytes(HEAD_BYTES, "big") + question)
        told = json.loads(self._told.readline())
        if told is None:
            return None
        verdict, by, seconds = told
        return Outcome(verdict, by, seconds, {})


def _serve(tests: Mapping[str, float], asked: int, told: int) -> NoReturn:
    """The session's process: collect, then a fork for each question, until there are no more."""
    try:
        silenced()
        calls = Calls()
        sys.setprofile(calls)
        files = sorted({test.partition("::")[0] for test in tests})
        pytest.main([*PLUGINS, "-q", "--rootdir", str(ROOT), *files], plugins=[Loop(tests, calls, asked, told)])
    finally:
        os._exit(0)


class Calls:
    """A profiler that keeps which functions of the engine were called."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ENGINE_DIR):
            self.seen.add((Path(code.co_filename).stem, code.co_qualname.partition(".<locals>")[0]))


class Loop:
    """In the place of pytest's loop over the tests: wait for faults, and run the tests on each in a fork."""

    def __init__(self, tests: Mapping[str, float], calls: Calls, asked: int, told: int) -> None:
        self._tests, self._calls, self._asked, self._told = tests, calls, asked, told

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._tests]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.setprofile(None)
        self._tell(sorted(self._calls.seen))
        gc.freeze()
        while head := _read(self._asked, HEAD_BYTES):
            question = json.loads(_read(self._asked, int.from_bytes(head, "big")))
            items = in_order(session.items, {test: place for place, test in enumerate(question["order"])})
            self._tell(self._outcome(items, question["module"], question["source"], question["number"]))
        return True

    def _tell(self, value: object) -> None:
        _write(self._told, json.dumps(value).encode() + b"\n")

    def _outcome(self, items: list[pytest.Item], module: str, source: str, number: int) -> list[object] | None:
        changed = changed_function(source, number)
        if changed is None:
            return None
        loaded = importlib.import_module(f"tokenling.engine.{module}")
        outcome = forked(lambda writer: self._child(items, loaded, changed, writer), TRIAL_LIMIT_S)
        return None if outcome.by == NO_SWAP else [outcome.verdict, outcome.by, outcome.seconds]

    def _child(self, items: list[pytest.Item], loaded: ModuleType, changed: tuple[str, CodeType], writer: int) -> None:
        """The fork: only here is the engine another one."""
        if not swap(loaded, *changed):
            answer_of(writer, passed=False, by=NO_SWAP)
            return
        watcher = Watcher(())
        items[0].config.pluginmanager.register(watcher)
        for item, following in zip(items, [*items[1:], None], strict=True):
            limit_s = spent_s() + TEST_FACTOR * self._tests[item.nodeid] + TEST_EXTRA_S
            resource.setrlimit(resource.RLIMIT_CPU, (round(limit_s), resource.RLIM_INFINITY))
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if watcher.failed:
                break
        answer_of(writer, passed=not watcher.failed, by=watcher.failed)


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


def _read(source: int, size: int) -> bytes:
    """So many bytes, or fewer when the other end is closed."""
    whole = b""
    while len(whole) < size and (piece := os.read(source, size - len(whole))):
        whole += piece
    return whole
