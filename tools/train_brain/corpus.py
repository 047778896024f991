"""The corpus: lives of many owners, one turn a line, in an order that the seed alone decides."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tokenling.engine import ENGINE_VERSION, PROMPT_VERSION
from tools.train_brain.drills import drill_lines
from tools.train_brain.habits import habit_lines
from tools.train_brain.lives import live, record_of
from tools.train_brain.owners import make_owner
from tools.train_brain.phrases import Chance

HELD_OUT_SHARE = 12
"""One owner in so many is held out, with phrases that no other owner uses."""


def corpus_lines(*, owners: int, days: int, seed: int, untried: bool) -> Iterator[str]:
    """The turns of `owners` lives as JSON lines."""
    for number in range(owners):
        owner = make_owner(number, seed, untried=untried)
        for lived in live(owner, Chance("life", seed, number, untried), days):
            yield json.dumps(record_of(lived), ensure_ascii=False, sort_keys=True)


def write_corpus(work: Path, *, owners: int, days: int, seed: int) -> dict[str, object]:
    """corpus.jsonl, held_out.jsonl and corpus.json of the folder; answers the latter's content."""
    work.mkdir(parents=True, exist_ok=True)
    facts: dict[str, object] = {
        "owners": owners, "days": days, "seed": seed, "promptVersion": PROMPT_VERSION, "engineVersion": ENGINE_VERSION,
    }  # fmt: skip
    for name, untried, count in (("corpus", False, owners), ("held_out", True, max(1, owners // HELD_OUT_SHARE))):
        lines = corpus_lines(owners=count, days=days, seed=seed, untried=untried)
        facts[name] = write_lines(work / f"{name}.jsonl", lines)
    write_facts(work, facts)
    return facts


def write_drills(work: Path, *, pets: int, seed: int) -> dict[str, object]:
    """drills.jsonl beside the corpus of the folder, and its line in corpus.json; answers the latter's content."""
    facts: dict[str, object] = json.loads((work / "corpus.json").read_bytes())
    lines = chain(drill_lines(pets=pets, seed=seed), habit_lines(pets=pets, seed=seed))
    written = write_lines(work / "drills.jsonl", lines)
    facts["drills"] = {"pets": pets, "seed": seed, **written}
    write_facts(work, facts)
    return facts


def write_lines(path: Path, lines: Iterator[str]) -> dict[str, object]:
    """The file holds the lines; answers its digest and what is in it."""
    digest, cues = hashlib.sha256(), Counter[str]()
    with path.open("w") as file:
        for line in lines:
            file.write(line + "\n")
            digest.update(line.encode() + b"\n")
            cues[json.loads(line)["cue"]] += 1
    return {"sha256": digest.hexdigest(), "examples": cues.total(), "cues": dict(sorted(cues.items()))}


def write_facts(work: Path, facts: dict[str, object]) -> None:
    """corpus.json holds the facts."""
    (work / "corpus.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")
