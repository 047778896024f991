"""Write the exp2 tables of the runtime and of the page: 2^32 * 2^(-j/1024), rounded to the nearest integer, exactly.

`python tools/make_exp2_table.py` writes both; `--check` fails if a committed file differs.
"""

import sys
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / "tokenling" / "runtime" / "exp2_table.py"
TYPESCRIPT = ROOT / "tokenling" / "web" / "src" / "brain" / "exp2_table.ts"
ENTRIES = 1024
PER_LINE = 9


def entries() -> list[int]:
    """The table, at 60 digits before rounding: no entry is near a half, so each is the true nearest integer."""
    with localcontext() as context:
        context.prec = 60
        step = -Decimal(2).ln() / ENTRIES
        return [int((Decimal(2**32) * (step * j).exp()).to_integral_value(ROUND_HALF_EVEN)) for j in range(ENTRIES)]


def rows(indent: str) -> list[str]:
    """The numbers in lines of equal count."""
    numbers = [f"{value}," for value in entries()]
    return [indent + " ".join(numbers[i : i + PER_LINE]) for i in range(0, ENTRIES, PER_LINE)]


def python_source() -> str:
    """The runtime's module."""
    title = '"""2^32 * 2^(-j/1024) for j in 0..1023, to the nearest integer. Made by tools/make_exp2_table.py."""'
    return "\n".join([title, "", "# fmt: off", "EXP2_TABLE: tuple[int, ...] = (", *rows("    "), ")", ""])


def typescript_source() -> str:
    """The page's module."""
    title = "/* 2^32 * 2^(-j/1024) for j in 0..1023, to the nearest integer. Made by tools/make_exp2_table.py. */"
    return "\n".join([title, "", "export const EXP2_TABLE: readonly number[] = [", *rows("  "), "];", ""])


def main() -> int:
    made = {PYTHON: python_source(), TYPESCRIPT: typescript_source()}
    if "--check" in sys.argv[1:]:
        same = all(path.exists() and path.read_text("utf-8") == source for path, source in made.items())
        print("unchanged" if same else "a committed table differs from its generator")
        return 0 if same else 1
    for path, source in made.items():
        path.write_text(source, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
