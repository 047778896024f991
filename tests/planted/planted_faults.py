"""Builds with a planted fault, and the test that must notice each: `nox -s planted`, or this file by hand.

A fault is a change of source text, made in a copy of the tree. The named test must pass without it and fail with it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("tokenling", "tests", "docs", "tools", "pyproject.toml")
TEST_S_MAX = 300


@dataclass(frozen=True)
class Change:
    """In `file`, `old` (which stands there once) becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Fault:
    """What is planted, and the test that notices."""

    name: str
    changes: tuple[Change, ...]
    caught_by: str


DECISION, ROWS = "tokenling/protocol/decision.py", "tokenling/store/rows.py"
CRASH = "tests/crash/test_kills.py::"
DISK = "tests/crash/test_failing_disk.py::"
CLIENT = "tests/crash/test_vanishing_client.py::"
SIMULATION = "tests/simulation/test_simulation.py::"
RECEIPT = """            if (replay := _receipt(record, event, found)) is not None:
                return replay
            _check_epoch(record, event.operation.epoch)
"""

FAULTS = (
    Fault(
        "skip the sync",
        (Change("tokenling/store/database.py", '"synchronous": "full",', '"synchronous": "off",'),),
        CRASH + "test_a_disk_that_drops_what_was_not_synced_loses_nothing_told",
    ),
    Fault(
        "drop the store's fence",
        (
            Change(
                ROWS,
                "save = ? WHERE pet_id = ? AND epoch = ? AND revision = ?",
                "save = ? WHERE pet_id = ? AND (epoch = ? OR 1) AND (revision = ? OR 1)",
            ),
        ),
        SIMULATION + "test_a_life_on_the_real_store_keeps_every_invariant",
    ),
    Fault(
        "drop the executor's fence",
        (Change(DECISION, "            _check_revision(record, event.revision)\n", ""),),
        SIMULATION + "test_a_life_keeps_every_invariant",
    ),
    Fault(
        "apply an operation twice",
        (
            Change(DECISION, "    return Replay(found)\n", "    return None\n"),
            Change(ROWS, '"INSERT INTO operations (pet,', '"INSERT OR REPLACE INTO operations (pet,'),
        ),
        SIMULATION + "test_a_life_on_the_real_store_keeps_every_invariant",
    ),
    Fault(
        "reply before the commit",
        (
            Change(
                "tokenling/store/task.py",
                "        try:\n            done = await in_thread(partial(run_group, self._database, calls),",
                "        for call in calls:\n            if call.writes:\n                call.answer(Done(None))\n"
                "        try:\n            done = await in_thread(partial(run_group, self._database, calls),",
            ),
        ),
        DISK + "test_whichever_call_fails_the_host_says_503_keeps_its_word_and_recovers[EIO-for_good]",
    ),
    Fault(
        "forget the shield",
        (
            Change(
                "tokenling/host/dispatch.py",
                "CancelScope(shield=True):\n            try:\n                await self._store.carry_out",
                "CancelScope():\n            try:\n                await self._store.carry_out",
            ),
        ),
        CLIENT + "test_a_pet_answers_an_owner_who_vanished_while_the_words_were_committed",
    ),
    Fault(
        "check the epoch before the operation receipt",
        (
            Change(
                DECISION,
                RECEIPT,
                "            _check_epoch(record, event.operation.epoch)\n" + "".join(RECEIPT.splitlines(True)[:2]),
            ),
        ),
        CLIENT + "test_fifty_identical_operations_at_once_have_one_effect_and_one_answer",
    ),
    Fault(
        "forget the tombstone",
        (
            Change(ROWS, '    unit.connection.execute("INSERT OR IGNORE INTO tombstones VALUES (?)", (digest,))\n', ""),
            Change(ROWS, "    unit.buried.append(digest)\n", "    del digest\n"),
        ),
        CRASH + "test_kills_at_random_moments_lose_nothing_told",
    ),
    Fault(
        "park without a new epoch",
        (Change("tokenling/protocol/table.py", "        epoch=after.epoch + 1,\n", "        epoch=after.epoch,\n"),),
        SIMULATION + "test_a_life_keeps_every_invariant",
    ),
    Fault(
        "commit a decision in pieces",
        (Change("tokenling/store/database.py", 'connection.execute("ROLLBACK TO one_call")', "pass"),),
        "tests/store/test_store_calls.py::test_two_prepares_decided_side_by_side_cannot_both_take_the_last_room",
    ),
    Fault(
        "restore without a floor",
        (
            Change(
                "tokenling/store/restoring.py",
                "_Old(survey.highest(connection), ",
                "_Old(0, ",
            ),
        ),
        "tests/store/test_restore_floor.py",
    ),
)


def planted(text: str, change: Change) -> str:
    """The text with the fault; the place must be there, once."""
    assert text.count(change.old) == 1, f"{change.file}: {change.old!r} stands there {text.count(change.old)} times"
    return text.replace(change.old, change.new)


def run(test: str, tree: Path) -> tuple[int, str]:
    """pytest's exit code and output for a test within a tree."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TEST_S_MAX, check=False
    )
    return done.returncode, done.stdout


def caught(fault: Fault, tree: Path) -> bool:
    """Whether the named test fails, and not for want of something to run, with the fault in the tree."""
    originals = {change.file: (tree / change.file).read_text() for change in fault.changes}
    try:
        for change in fault.changes:
            path = tree / change.file
            path.write_text(planted(path.read_text(), change))
        code, output = run(fault.caught_by, tree)
    finally:
        for file, text in originals.items():
            (tree / file).write_text(text)
    return code == 1 and f"FAILED {fault.caught_by.partition('::')[0]}" in output


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("only", nargs="*", help="parts of faults' names")
    wanted = parser.parse_args().only
    faults = [fault for fault in FAULTS if not wanted or any(part in fault.name for part in wanted)]
    missed = []
    with tempfile.TemporaryDirectory(prefix="tokenling-planted-") as folder:
        tree = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tree / name)
        for test in sorted({fault.caught_by for fault in faults}):
            code, output = run(test, tree)
            assert code == 0, f"{test} fails without any fault:\n{output[-2000:]}"
        for fault in faults:
            begun = time.monotonic()
            found = caught(fault, tree)
            missed += [] if found else [fault.name]
            verdict = "caught" if found else "MISSED"
            sys.stdout.write(f"| {fault.name} | {verdict} | `{fault.caught_by}` | {time.monotonic() - begun:.0f} s |\n")
            sys.stdout.flush()
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
