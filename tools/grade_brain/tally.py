"""What a figure of the card is made of: so many of so many, or one share against another."""

from dataclasses import dataclass


@dataclass
class Tally:
    """So many of so many."""

    right: int = 0
    total: int = 0

    def count(self, right: bool) -> None:
        """One more."""
        self.total += 1
        self.right += right

    @property
    def percent(self) -> float:
        """The share, in a hundred."""
        return 100 * self.right / max(1, self.total)


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell of the card: a value, its unit (`%`, `points` or none), and what it rests on."""

    value: float
    unit: str = ""
    of: str = ""

    def __str__(self) -> str:
        number = f"{self.value:.1f}" if self.unit == "%" else f"{self.value:.0f}" if self.unit else f"{self.value:.2f}"
        return " ".join(part for part in (number, self.unit, f"({self.of})" if self.of else "") if part)


def share(tally: Tally) -> Figure:
    """The figure of a tally."""
    return Figure(round(tally.percent, 1), "%", f"of {tally.total}")
