"""A save as its readers see it: members by the names of docs/save-format.md. A state itself is opaque out here."""

import json

from tokenling.engine import JsonObject, JsonValue, State, dump_save


class SaveView:
    """One object of a save. A member of another kind than asked for is a fault of the caller's, and asserts."""

    def __init__(self, value: JsonValue) -> None:
        assert isinstance(value, dict)
        self.members: JsonObject = value

    def text(self, name: str) -> str:
        """A string; "" for one that is left out."""
        value = self.members.get(name, "")
        assert isinstance(value, str)
        return value

    def number(self, name: str, default: int = 0) -> int:
        """An integer."""
        value = self.members.get(name, default)
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.members[name]
        assert isinstance(value, bool)
        return value

    def inner(self, name: str) -> "SaveView | None":
        """An object, None when there is none now."""
        value = self.members.get(name)
        return None if value is None else SaveView(value)

    def all(self, name: str) -> "tuple[SaveView, ...]":
        """A list of objects."""
        return tuple(SaveView(value) for value in self._list(name))

    def words(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(value for value in self._list(name) if isinstance(value, str))

    def _list(self, name: str) -> list[JsonValue]:
        value = self.members[name]
        assert isinstance(value, list)
        return value


def view_of(state: State) -> SaveView:
    """What a save of the state holds."""
    value: JsonValue = json.loads(dump_save(state))
    return SaveView(value)
