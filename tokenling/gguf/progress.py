"""How far the opening of a model came, for whoever shows it."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done (`reading` for digests, `building`, `loading`), and how much of how much is done."""


def silent(_what: str, _done: int, _total: int) -> None:
    """Nobody is watching."""
