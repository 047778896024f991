"""What the tests make of one fault, at the least cost: in which way it is tried, and which tests go first.

Neither changes a verdict: a fault survives when every fast test has passed with it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tools.mutate_engine.mutants import Mutant, mutated
from tools.mutate_engine.record import Known
from tools.mutate_engine.session import LIVES_AT_IMPORT, Session
from tools.mutate_engine.trial import ROOT, FaultyModule, Outcome, run

FAST_TEST_S = 1.0
"""Slower tests are left out of trials: together they cost more than all others and seldom notice what those did not."""
TEST_COST_S, HERE = 0.002, 5
"""What any test costs at least, and how much more a fault noticed in the same module tells than one in another."""
NEAREST_FILES = 3
"""Collecting a file costs about as much as its tests: few go first."""
BASELINE_LIMIT_S = 300
LIMIT_FACTOR, LIMIT_EXTRA_S = 4, 10
"""How long a trial may take: this many times what the tests take without a fault, and some seconds of start."""
VERDICTS = {"passed": "survived", "failed": "killed", "timeout": "timeout"}


class TestsFail(Exception):
    """Raised when the tests fail without any fault: nothing can be told of one."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """The fast tests with what each takes, and the session that holds most of them."""

    costs: Mapping[str, float]
    session: Session

    def tried(self, mutant: Mutant, source: str, known: Collection[Known]) -> Known:
        """The verdict on one fault. `known` tells which tests noticed the most so far: they go first."""
        order = ranked(self.costs, mutant.module, known)
        outcome, left = None, order
        if self.session.takes(mutant.module, source, mutant.number):
            outcome = self.session.run(mutant.module, source, mutant.number, order)
        if outcome is not None:
            left = [test for test in order if lives_at_import(test)]
        if outcome is None or outcome.verdict == "passed":
            earlier_s = outcome.seconds if outcome is not None else 0.0
            outcome = self._by_import(mutant, source, left, earlier_s)
        return Known(mutant, VERDICTS[outcome.verdict], outcome.by, round(outcome.seconds, 2))

    def _by_import(self, mutant: Mutant, source: str, order: Sequence[str], earlier_s: float) -> Outcome:
        """The tests in processes that import the faulty module, those of the nearest files first."""
        faulty = mutated(source, mutant.number)
        path = ROOT / "tokenling" / "engine" / f"{mutant.module}.py"
        near = nearest(order)
        first = [test for test in order if file_of(test) in near]
        seconds = earlier_s
        outcome = Outcome("passed", "", 0.0, {})
        for some in (first, [test for test in order if file_of(test) not in near]):
            if some and outcome.verdict == "passed":
                limit_s = LIMIT_FACTOR * sum(self.costs[test] for test in some) + LIMIT_EXTRA_S
                outcome = run(FaultyModule(f"tokenling.engine.{mutant.module}", faulty, path), some, limit_s)
                seconds += outcome.seconds
        return Outcome(outcome.verdict, outcome.by, seconds, {})


def started() -> Campaign:
    """The tests run once without a fault, the fast ones collected. Raises `TestsFail`."""
    baseline = run(None, (), BASELINE_LIMIT_S)
    if baseline.verdict != "passed":
        raise TestsFail(f"without any fault the tests end with {baseline.verdict}: {baseline.by}")
    fast = {test: seconds for test, seconds in baseline.costs.items() if seconds <= FAST_TEST_S}
    return Campaign(fast, Session({test: cost for test, cost in fast.items() if not lives_at_import(test)}))


def ranked(costs: Mapping[str, float], module: str, known: Collection[Known]) -> list[str]:
    """The tests, first those that noticed most for what they cost: in the module most of all."""
    here = Counter(one.by for one in known if one.mutant.module == module)
    anywhere = Counter(one.by for one in known)
    return sorted(costs, key=lambda test: (costs[test] + TEST_COST_S) / (1 + HERE * here[test] + anywhere[test]))


def nearest(order: Sequence[str]) -> list[str]:
    """The files of the first tests of an order."""
    return list(dict.fromkeys(map(file_of, order)))[:NEAREST_FILES]


def file_of(test: str) -> str:
    """The name of the file that a test is in."""
    return test.partition("::")[0].rpartition("/")[2]


def lives_at_import(test: str) -> bool:
    """Whether a test is none for the session."""
    return file_of(test) in LIVES_AT_IMPORT
