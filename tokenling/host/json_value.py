"""The type of parsed JSON."""

from typing import TypeAlias

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | None"
"""What a JSON text becomes; `bool` is an `int` to the type checker, so checks must ask for `bool` first."""
