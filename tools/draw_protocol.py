"""Draw the protocol's table into docs/protocol.md: `python -m tools.draw_protocol`, or `--check` to compare only.

The page's own words stay; what stands between `<!-- drawn: NAME -->` and `<!-- end -->` is written from
`tokenling.protocol.TABLE`.
"""

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from tokenling.protocol import TABLE, Event, RefusalCode, Rule, State, bounds
from tokenling.protocol.errors import HTTP_STATUS, MEANINGS
from tokenling.protocol.events import Fenced, OwnerOperation

PAGE = Path(__file__).parent.parent / "docs" / "protocol.md"
_REGION = re.compile(r"(<!-- drawn: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def diagram() -> str:
    """The states and the events that lead from one to another, as Mermaid."""
    edges: dict[tuple[State, State], list[str]] = {}
    for event, row in TABLE.items():
        for state, rule in row.items():
            if isinstance(rule, Rule) and (rule.to is not state or rule.effects):
                edges.setdefault((state, rule.to), []).append(event.__name__)
    lines = [f"    {start.value} --> {to.value}: {', '.join(names)}" for (start, to), names in edges.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> absent", *lines, "```"])


def transitions() -> str:
    """What each event leads to in each state: the state behind it, or the refusal."""
    head = ["| event | " + " | ".join(state.value for state in State) + " |", "|---|" + "---|" * len(State)]
    rows = [f"| **{event.__name__}** | " + " | ".join(_cell(row[state]) for state in State) + " |"
            for event, row in TABLE.items()]  # fmt: skip
    return "\n".join(head + rows)


def _cell(rule: Rule | RefusalCode) -> str:
    if not isinstance(rule, Rule):
        return f"`{rule}`"
    return rule.to.value if rule.effects else f"{rule.to.value} (nothing changes)"


def rules() -> str:
    """Each event: who may send it, what it is checked for, the record that follows, the effects."""
    head = ["| event | in | fenced by | guards | the record that follows | effects |", "|---|---|---|---|---|---|"]
    rows = [_rule_row(event, states, rule) for event, row in TABLE.items() for rule, states in _grouped(row)]
    return "\n".join(head + rows)


def _grouped(row: Mapping[State, Rule | RefusalCode]) -> list[tuple[Rule, list[State]]]:
    groups: list[tuple[Rule, list[State]]] = []
    for state in State:
        rule = row[state]
        if not isinstance(rule, Rule):
            continue
        for known, states in groups:
            if (known.change, known.effects, known.guards) == (rule.change, rule.effects, rule.guards):
                states.append(state)
                break
        else:
            groups.append((rule, [state]))
    return groups


def _rule_row(event: type[Event], states: list[State], rule: Rule) -> str:
    cells = [
        f"**{event.__name__}**",
        ", ".join(state.value for state in states),
        _fence(event),
        "; ".join(_words(guard) for guard in rule.guards) or "–",
        _words(rule.change),
        "; ".join(_words(build) for build in rule.effects) or "–",
    ]
    return "| " + " | ".join(cells) + " |"


def _fence(event: type[Event]) -> str:
    if event in get_args(OwnerOperation):
        return "operation receipt, epoch"
    return "epoch, revision" if event in get_args(Fenced) else "–"


def _words(function: object) -> str:
    return (function.__doc__ or "").strip().splitlines()[0].replace("|", "\\|")


def refusals() -> str:
    """Every refusal code with its hint for HTTP and its meaning."""
    head = ["| code | HTTP | meaning |", "|---|---|---|"]
    return "\n".join(head + [f"| `{code}` | {HTTP_STATUS[code]} | {MEANINGS[code]} |" for code in RefusalCode])


def limits() -> str:
    """The protocol's bounds and their reasons, from the source that defines them."""
    source = Path(bounds.__file__).read_text(encoding="utf-8")
    found = re.findall(r'^([A-Z_]+) = [^\n]*\n"""(.*?)"""', source, re.DOTALL | re.MULTILINE)
    rows = [f"| `{name}` | {getattr(bounds, name):,} | {' '.join(reason.split())} |" for name, reason in found]
    return "\n".join(["| bound | value | reason |", "|---|---|---|", *rows])


DRAWINGS: dict[str, Callable[[], str]] = {
    "diagram": diagram,
    "transitions": transitions,
    "rules": rules,
    "refusals": refusals,
    "limits": limits,
}


def redrawn(page: str) -> str:
    """The page with every drawing in it made anew. Raises `KeyError` for a drawing that is not known."""
    return _REGION.sub(lambda found: f"{found[1]}{DRAWINGS[found['name']]()}\n{found[3]}", page)


def main() -> int:
    """0 when the page is as it should be, after writing it unless `--check` is given."""
    old = PAGE.read_text(encoding="utf-8")
    new = redrawn(old)
    if "--check" in sys.argv[1:]:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "page", "table"))
        return int(old != new)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
