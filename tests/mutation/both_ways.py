# ruff: noqa: T201 - it prints its report
"""Faults of `tokenling/engine/memories.py` tried in both ways, as JSON: a process of its own, with no engine loaded."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.mutate_engine.mutants import mutants_of, mutated
from tools.mutate_engine.session import LIVES_AT_IMPORT, Session
from tools.mutate_engine.trial import NO_NEWS, ROOT, TESTS, FaultyModule, prepare, run

MODULE = "memories"
PATH = ROOT / "tokenling" / "engine" / f"{MODULE}.py"
MEMORY_TESTS = ["tests/engine/test_replies.py::test_a_full_mind_forgets_the_least_recalled_then_the_oldest",
                "tests/engine/test_replies.py::test_a_memory_told_again_is_recalled_not_doubled"]  # fmt: skip
ENDLESS = "def with_memory(state, text, at_ms):\n    while 2 < 1:\n        pass\n    return state"
"""A fault negates the loop's condition."""
LIMIT_S = 3


class BothWays:
    """The same fault in a session and by a fresh import."""

    def __init__(self) -> None:
        self.session = Session(dict.fromkeys(MEMORY_TESTS, 0.1))

    def verdicts(self, source: str, number: int) -> tuple[str, str]:
        told = self.session.run(MODULE, source, number, MEMORY_TESTS)
        fault = FaultyModule(f"tokenling.engine.{MODULE}", mutated(source, number), PATH)
        fresh = run(fault, MEMORY_TESTS, LIMIT_S)
        return (told.verdict if told is not None else "not put in"), fresh.verdict


def called_by_files() -> list[tuple[str, str]]:
    """What the files of the session call of the engine while they are imported, beside its own import."""
    left_out = {*LIVES_AT_IMPORT, *NO_NEWS}
    files = [path for folder in TESTS for path in (ROOT / folder).glob("test_*.py") if path.name not in left_out]
    everything = Session({f"{path.relative_to(ROOT)}::none": 0.0 for path in files})
    alone = Session({"tests/engine/test_bridge.py::none": 0.0})
    return sorted(everything.called - alone.called)


def main() -> None:
    prepare()
    both = BothWays()
    source = PATH.read_text()
    numbers = [n for n in range(len(mutants_of(MODULE, source))) if both.session.takes(MODULE, source, n)]
    some = numbers[:: len(numbers) // 10]
    verdicts = [both.verdicts(source, number) for number in some]
    longer = f"{source}\n\n{ENDLESS}"
    negated = next(one.number for one in mutants_of(MODULE, longer) if one.before.startswith("while 2 < 1"))
    print(json.dumps({
        "verdicts": verdicts,
        "endless": both.verdicts(longer, negated),
        "again": [both.session.run(MODULE, source, number, MEMORY_TESTS).verdict for number in some],
        "called by files": called_by_files(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
