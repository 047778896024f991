"""`python -m tools.mutate_engine`: see the package."""

import argparse
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tqdm import tqdm

from tools.mutate_engine.mutants import Mutant, mutants_of, mutated
from tools.mutate_engine.record import Known, Record, percent_noticed, report
from tools.mutate_engine.trial import ROOT, FaultyModule, prepare, run

ENGINE = ROOT / "tokenling" / "engine"
DATA = ("__init__", "balance", "bounds", "lists", "errors", "jsonvalue")
"""Modules of plain data: docs/balance.md, docs/save-format.md and the contract hold their values."""
RECORD = ROOT / "build" / "mutation.jsonl"
NOTICED_MIN_PERCENT = 85
FAST_TEST_S = 1.0
"""Slower tests are left out of trials: together they cost more than all others and seldom notice what those did not."""
BASELINE_LIMIT_S = 900
LIMIT_FACTOR, LIMIT_EXTRA_S = 4, 10
"""How long a trial may take: this many times what the tests take without a fault, and some seconds of start."""


def sources() -> dict[str, str]:
    """The modules in which faults are looked for."""
    return {path.stem: path.read_text() for path in sorted(ENGINE.glob("*.py")) if path.stem not in DATA}


def sample_of(faults: list[Mutant], seed: int, size: int) -> list[Mutant]:
    """A seeded sample: a larger one of the same seed holds the smaller."""
    return sorted(faults, key=lambda mutant: sha256(f"{seed}\n{mutant.id}".encode()).digest())[:size]


def fast_tests() -> tuple[dict[str, float], float]:
    """The fast tests with what each takes, and what they take together. Ends the program when one fails."""
    baseline = run(None, {}, BASELINE_LIMIT_S)
    if baseline.verdict != "passed":
        sys.exit(f"without any fault the tests end with {baseline.verdict}: {baseline.by}")
    fast = {test: seconds for test, seconds in baseline.durations.items() if seconds <= FAST_TEST_S}
    again = run(None, fast, BASELINE_LIMIT_S)
    return fast, again.seconds


def tried(mutant: Mutant, source: str, tests: Mapping[str, float], limit_s: float) -> Known:
    """What the tests make of one fault."""
    faulty = mutated(source, mutant.number)
    fault = FaultyModule(f"tokenling.engine.{mutant.module}", faulty, ENGINE / f"{mutant.module}.py")
    outcome = run(fault, tests, limit_s)
    verdict = {"passed": "survived", "failed": "killed", "timeout": "timeout"}[outcome.verdict]
    return Known(mutant, verdict, outcome.by, outcome.seconds)


def is_left(known: Known | None, *, again: bool) -> bool:
    """Whether a fault is to be tried."""
    return known is None or (again and known.verdict == "survived")


def main() -> None:
    """Try what is not known yet of the sample, then report; exits with 1 when too little is noticed."""
    parser = argparse.ArgumentParser(description="Put small faults into the engine and see whether its tests notice.")
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--again", action="store_true", help="try survivors again: the tests have grown")
    parser.add_argument("--report", action="store_true", help="only tell what is known")
    chosen = parser.parse_args()
    texts = sources()
    faults = [mutant for module, text in texts.items() for mutant in mutants_of(module, text)]
    sample = sample_of(faults, chosen.seed, chosen.sample)
    record = Record(chosen.record)
    left = [mutant for mutant in sample if is_left(record.known.get(mutant.id), again=chosen.again)]
    if left and not chosen.report:
        prepare()
        tests, seconds = fast_tests()
        print(f"{len(tests)} fast tests, {seconds:.0f} s without a fault; {len(left)} faults to try")
        for mutant in tqdm(left, unit="fault"):
            record.add(tried(mutant, texts[mutant.module], tests, LIMIT_FACTOR * seconds + LIMIT_EXTRA_S))
    found = record.of(sample)
    print(report(found, len(sample), len(faults)))
    sys.exit(percent_noticed(found) < NOTICED_MIN_PERCENT)


if __name__ == "__main__":
    main()
