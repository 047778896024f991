"""JSON as the engine knows it: no floats anywhere."""

from typing import TypeAlias, Union

JsonValue: TypeAlias = Union[bool, int, str, list["JsonValue"], dict[str, "JsonValue"], None]  # noqa: UP007 - recursive
JsonObject: TypeAlias = dict[str, JsonValue]
