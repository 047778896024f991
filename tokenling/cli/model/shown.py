"""Numbers and tables as a person reads them."""

import json
from collections.abc import Mapping, Sequence

import click


def size(count: int) -> str:
    """Bytes in the largest fitting binary unit, three digits."""
    value, units = float(count), ("bytes", "KiB", "MiB", "GiB", "TiB")
    place = 0
    while abs(value) >= 1000 and place < len(units) - 1:
        value /= 1024
        place += 1
    return f"{count} bytes" if place == 0 else f"{value:.3g} {units[place]}"


def amount(count: int) -> str:
    """How many, in thousands, millions or billions, four digits."""
    for least, name in ((10**9, "billion"), (10**6, "million"), (10**4, "thousand")):
        if count >= least:
            return f"{count / (1000 if least == 10**4 else least):.4g} {name}"
    return str(count)


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Columns two spaces apart; those in `right` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def put_json(value: Mapping[str, object]) -> None:
    """One line of JSON on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False))
