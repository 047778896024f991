"""docs/balance.md: the balance's integers from their source, and what simulated lives show of them."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tokenling.engine import balance
from tools.simulate_life.figures import Figures, figures_of, means_at
from tools.simulate_life.life import METERS, Life, simulate
from tools.simulate_life.owners import ABSENT, ATTENTIVE, BUSY, OWNERS, WEEKEND
from tools.simulate_life.words import Writer

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "balance.md"
IMAGES = DOCS / "images"
SEEDS = ("fern", "moss", "ivy")
"""Pets of the page's figures; the first is drawn."""
_REGION = re.compile(r"(<!-- drawn: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SECTION = re.compile(r"# -{3} (?P<title>[^-].*?) -{3,}$")


# --- the integers --------------------------------------------------------------------------------------------------


def integers() -> str:
    """A table of the balance: each name, its value, what its source says of it."""
    source = inspect.getsource(balance)
    lines = source.splitlines()
    body = ast.parse(source).body
    rows, told = ["| name | value | |", "|---|---|---|"], 0
    for node, after in zip(body, [*body[1:], None], strict=True):
        name = _name_of(node)
        if name is not None:
            rows.extend(_sections(lines[told : node.lineno]))
            rows.append(f"| `{name}` | {shown(getattr(balance, name))} | {_about(lines, node, after)} |")
            told = node.lineno
    return "\n".join(rows)


def _name_of(node: ast.stmt) -> str | None:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) and target.id.isupper() and not target.id.startswith("_") else None


def _sections(lines: Sequence[str]) -> Iterator[str]:
    """The headings among lines."""
    for line in lines:
        if found := _SECTION.match(line):
            yield f"| **{found['title']}** | | |"


def _about(lines: Sequence[str], node: ast.stmt, after: ast.stmt | None) -> str:
    """The docstring behind a name, or the comment right above it, on one line."""
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
        return " ".join(after.value.value.split())
    above = lines[node.lineno - 2]
    return above.removeprefix("# ") if above.startswith("# ") and not _SECTION.match(above) else ""


def shown(value: object) -> str:
    """An integer with its thousands apart, members with their names."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {shown(held)}" for name, held in value.items())
    if isinstance(value, tuple):
        return ", ".join(shown(held) for held in value)
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)


# --- the figures ---------------------------------------------------------------------------------------------------


def simulated(writer: Writer, seeds: Sequence[str] = SEEDS) -> dict[str, list[Life]]:
    """Lives by owner."""
    return {owner.name: [simulate(owner, seed, writer) for seed in seeds] for owner in OWNERS}


def figures(lives: Mapping[str, Sequence[Life]]) -> str:
    """The table of what owners see."""
    columns = [
        ("attentive", figures_of(lives[ATTENTIVE.name])),
        ("busy", figures_of(lives[BUSY.name])),
        ("absent: the ten days", figures_of(lives[ABSENT.name], days=range(3, 13))),
        ("weekend: Saturday, Sunday", figures_of(lives[WEEKEND.name], days=range(5, 7))),
    ]
    rows = ["| | " + " | ".join(name for name, _ in columns) + " |", "|---|" + "---|" * len(columns)]
    for label, cell in CELLS:
        rows.append(f"| {label} | " + " | ".join(cell(found) for _, found in columns) + " |")
    for meter in METERS:
        spreads = (found.meters[meter] for _, found in columns)
        rows.append(f"| {meter}, % | " + " | ".join(f"{low} – **{mid}** – {high}" for low, mid, high in spreads) + " |")
    return "\n".join(rows)


def _asks(found: Figures) -> str:
    return f"{found.asks_a_day:.1f} (at most {found.asks_most})"


def _pages(found: Figures) -> str:
    low, high = found.pages
    return str(low) if low == high else f"{low} to {high}"


CELLS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("asks for something, times a day", _asks),
    ("asleep, 23:00 to 5:00", lambda found: f"{found.asleep_by_night} %"),
    ("asleep, 8:00 to 20:00", lambda found: f"{found.asleep_by_day} %"),
    ("lines a day", lambda found: f"{found.lines_a_day:.0f}"),
    ("idle turns with a deed", lambda found: f"{found.idle_with_deed} %"),
    ("a meter at an end", lambda found: f"{found.at_an_end_percent} %"),
    ("diary pages over all days", _pages),
)
"""Rows of the figures: what they are called, and how they are written."""
WEEKEND_TIMES = (
    ("Friday, 22:00", 4, 22 * 60),
    ("Monday, 8:00, alone since Friday", 7, 8 * 60),
    ("Monday, 9:00, fed and greeted", 7, 9 * 60 + 1),
)
"""What it is called, the day from 0, the local minute."""


def weekend(lives: Mapping[str, Sequence[Life]]) -> str:
    """What a weekend alone does: each meter on Friday evening, on Monday morning, an hour after the owner's return."""
    rows = ["| | " + " | ".join(METERS) + " |", "|---|" + "---|" * len(METERS)]
    for label, day, minute in WEEKEND_TIMES:
        means = means_at(lives[WEEKEND.name], day, minute)
        rows.append(f"| {label} | " + " | ".join(f"{means[meter]} %" for meter in METERS) + " |")
    return "\n".join(rows)


def drawn(text: str, lives: Mapping[str, Sequence[Life]]) -> str:
    """The page with every table written anew."""
    tables = {"integers": integers(), "figures": figures(lives), "weekend": weekend(lives)}
    return _REGION.sub(lambda match: f"{match[1]}{tables[match['name']]}\n{match[3]}", text)
