"""Write `tokenling/runtime/exp2_table.py`: 2^32 * 2^(-j/1024), rounded to the nearest integer, exactly.

`python tools/make_exp2_table.py` writes it; `--check` fails if the committed file differs.
"""

import sys
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "tokenling" / "runtime" / "exp2_table.py"
ENTRIES = 1024
PER_LINE = 9


def entries() -> list[int]:
    """The table, at 60 digits before rounding: no entry is near a half, so each is the true nearest integer."""
    with localcontext() as context:
        context.prec = 60
        step = -Decimal(2).ln() / ENTRIES
        return [int((Decimal(2**32) * (step * j).exp()).to_integral_value(ROUND_HALF_EVEN)) for j in range(ENTRIES)]


def source() -> str:
    """The module's text."""
    numbers = [f"{value}," for value in entries()]
    lines = ["    " + " ".join(numbers[i : i + PER_LINE]) for i in range(0, ENTRIES, PER_LINE)]
    return "\n".join(
        [
            '"""2^32 * 2^(-j/1024) for j in 0..1023, to the nearest integer. Made by tools/make_exp2_table.py."""',
            "",
            "# fmt: off",
            "EXP2_TABLE: tuple[int, ...] = (",
            *lines,
            ")",
            "",
        ]
    )


def main() -> int:
    if "--check" in sys.argv[1:]:
        same = TARGET.read_text("utf-8") == source()
        print("unchanged" if same else "the committed table differs from its generator")
        return 0 if same else 1
    TARGET.write_text(source(), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
