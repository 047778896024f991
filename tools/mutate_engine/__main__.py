"""`python -m tools.mutate_engine`: see the package."""

import argparse
import sys
from hashlib import sha256
from pathlib import Path

from tqdm import tqdm

from tools.mutate_engine.campaign import TestsFail, started
from tools.mutate_engine.mutants import Mutant, mutants_of
from tools.mutate_engine.record import Known, Record, percent_noticed, report
from tools.mutate_engine.trial import ROOT, prepare

ENGINE = ROOT / "tokenling" / "engine"
DATA = ("__init__", "balance", "bounds", "lists", "errors", "jsonvalue")
"""Modules of plain data: docs/balance.md, docs/save-format.md and the contract hold their values."""
RECORD = ROOT / "build" / "mutation.jsonl"
NOTICED_MIN_PERCENT = 85


def sources() -> dict[str, str]:
    """The modules in which faults are looked for."""
    return {path.stem: path.read_text() for path in sorted(ENGINE.glob("*.py")) if path.stem not in DATA}


def sample_of(faults: list[Mutant], seed: int, size: int) -> list[Mutant]:
    """A seeded sample: a larger one of the same seed holds the smaller."""
    return sorted(faults, key=lambda mutant: sha256(f"{seed}\n{mutant.id}".encode()).digest())[:size]


def is_left(known: Known | None, *, again: bool) -> bool:
    """Whether a fault is to be tried."""
    return known is None or (again and known.verdict == "survived")


def try_all(left: list[Mutant], texts: dict[str, str], record: Record) -> None:
    """Try faults, each verdict kept as it comes."""
    prepare()
    campaign = started()
    print(f"{len(campaign.costs)} fast tests, {sum(campaign.costs.values()):.0f} s without a fault")
    for mutant in tqdm(left, unit="fault"):
        record.add(campaign.tried(mutant, texts[mutant.module], record.known.values()))


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
        try:
            try_all(left, texts, record)
        except TestsFail as error:
            sys.exit(str(error))
    found = record.of(sample)
    print(report(found, len(sample), len(faults)))
    sys.exit(percent_noticed(found) < NOTICED_MIN_PERCENT)


if __name__ == "__main__":
    main()
