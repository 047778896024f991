"""The reports of `python -m tools.bench.capacity`, read again from a file."""

import json
from dataclasses import dataclass
from pathlib import Path

CORES = ("brain", "loop", "store")
"""Whose processor time a picture shows."""


@dataclass(frozen=True, slots=True)
class Point:
    """One window, by the pets whose traffic it carried."""

    pets: int
    replies_in_time: float
    idle_soon: float
    turns_per_s: float
    asked_per_s: float
    bare_per_s: float
    cores: dict[str, float]
    kept: bool


class NoPicture(Exception):  # noqa: N818 - says what there is not
    """The file holds no reports, or one alone."""


def read(path: Path) -> list[Point]:
    """The points in a file of reports, one behind the other however they are broken into lines; fewest pets first.

    Raises `NoPicture`.
    """
    decoder, found = json.JSONDecoder(), []
    try:
        rest = path.read_text().strip()
        while rest:
            window, end = decoder.raw_decode(rest)
            found.append(
                Point(
                    window["asOf"], window["owners"]["within2s"] or 0.0, window["idleWithin60s"] or 0.0,
                    window["turnsPerS"], window["askedPerS"], window["bare"]["turnsPerS"],
                    {name: window["cpu"][name] for name in CORES}, window["kept"],
                )
            )  # fmt: skip
            rest = rest[end:].strip()
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise NoPicture(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        raise NoPicture(f"{path}: a report without the field {error}") from None
    if len(found) < 2:
        raise NoPicture(f"{path}: found {len(found)} reports, expected two at least")
    return sorted(found, key=lambda point: point.pets)
