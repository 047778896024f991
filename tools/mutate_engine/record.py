"""What is known of faults: one JSON object a line, added to as trials end, read again by the next run."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.mutate_engine.mutants import Mutant


@dataclass(frozen=True, slots=True)
class Known:
    """A fault and what became of it: `killed`, `timeout` (noticed too) or `survived`."""

    mutant: Mutant
    verdict: str
    by: str
    seconds: float


class Record:
    """A file of what is known; lines about other source than today's are left in it and not counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known: dict[str, Known] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            value = json.loads(line)
            known = Known(Mutant(**value.pop("mutant")), **value)
            self.known[known.mutant.id] = known

    def add(self, known: Known) -> None:
        """Keep one more."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as target:
            target.write(json.dumps(asdict(known)) + "\n")
        self.known[known.mutant.id] = known

    def of(self, sample: Sequence[Mutant]) -> list[Known]:
        """What is known of a sample."""
        return [self.known[mutant.id] for mutant in sample if mutant.id in self.known]


def percent_noticed(found: Sequence[Known]) -> float:
    """The share of faults that some test noticed."""
    return 100 * sum(known.verdict != "survived" for known in found) / len(found) if found else 0


def report(found: Sequence[Known], sample: int, of: int) -> str:
    """The counts, and the survivors as a Markdown table."""
    counts = Counter(known.verdict for known in found)
    tried = f"{len(found)} of a sample of {sample} (of {of} faults that fit)"
    noticed = f"{counts['killed']} noticed by a test, {counts['timeout']} by its time, {counts['survived']} survived"
    lines = [f"{tried}: {noticed}; {percent_noticed(found):.1f} % noticed", "", "| where | fault |", "|---|---|"]
    survivors = sorted((known.mutant for known in found if known.verdict == "survived"), key=lambda mutant: mutant.id)
    for mutant in survivors:
        after = f"`{_cell(mutant.after)}`" if mutant.after else "left out"
        lines.append(f"| `{mutant.module}.py`:{mutant.line} | `{_cell(mutant.before)}` → {after} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")[:100]
