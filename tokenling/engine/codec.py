"""Declared shapes: one declaration checks a save, reads it, writes it and describes it as JSON Schema.

A shape refuses with the JSON Pointer of the first wrong field. What `parse_save_json` could not accept stands in the
parsed value as a `Wrong`, so that it is refused with its path too.

Each shape has two ways to load. `load` is the careful one: it knows where it is, and what it says is the verdict. A
`reader` is quick: it takes what is plainly right, gives the same for it, and leaves all else (refusals, unknown
members) to the careful one by raising `Doubt`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

from tokenling.engine.errors import SaveRefused
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.text import is_clean

T_co = TypeVar("T_co", covariant=True)
REQUIRED = object()


class Wrong:
    """Stands for what JSON may hold and a save may not: a float, NaN, a huge integer, a duplicate key."""

    __slots__ = ("code",)

    def __init__(self, code: str) -> None:
        self.code = code


class Doubt(Exception):
    """Raised by a reader for whatever is not plainly right: `load` has the word then."""


Reader = Callable[[object], object]


class Shape(Protocol):
    """How one member of a save looks."""

    def reader(self) -> Reader: ...
    def load(self, value: object, path: str) -> object: ...
    def dump(self, value: object) -> JsonValue: ...
    def schema(self) -> JsonObject: ...


def refuse_wrong(value: object, path: str) -> None:
    """Raise when the parser already found the value wrong."""
    if isinstance(value, Wrong):
        raise SaveRefused(value.code, path)


def canonical(value: JsonValue) -> str:
    """The one JSON text of a value: sorted keys, no spaces, characters as they are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True)
class Int:
    """An integer from `low` to `high`, a multiple of `step`."""

    low: int
    high: int
    step: int = 1

    def load(self, value: object, path: str) -> object:
        refuse_wrong(value, path)
        if type(value) is not int:
            raise SaveRefused("not_an_integer", path)
        if not self.low <= value <= self.high or value % self.step:
            raise SaveRefused("out_of_range", path)
        return value

    def reader(self) -> Reader:
        low, high, step = self.low, self.high, self.step

        def read(value: object) -> object:
            if type(value) is int and low <= value <= high and not value % step:
                return value
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert type(value) is int
        assert self.low <= value <= self.high
        return value

    def schema(self) -> JsonObject:
        step: JsonObject = {"multipleOf": self.step} if self.step > 1 else {}
        return {"type": "integer", "minimum": self.low, "maximum": self.high, **step}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def load(self, value: object, path: str) -> object:
        refuse_wrong(value, path)
        if not isinstance(value, bool):
            raise SaveRefused("not_a_flag", path)
        return value

    def reader(self) -> Reader:
        def read(value: object) -> object:
            if value is True or value is False:
                return value
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, bool)
        return value

    def schema(self) -> JsonObject:
        return {"type": "boolean"}


ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def load_text(value: object, path: str) -> str:
    """A string of whole characters."""
    refuse_wrong(value, path)
    if not isinstance(value, str):
        raise SaveRefused("not_a_text", path)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SaveRefused("lone_surrogate", path) from None
    return value


@dataclass(frozen=True, slots=True)
class Text:
    """A clean line of `low` to `high` code points: printable, trimmed, without square brackets."""

    low: int
    high: int

    def load(self, value: object, path: str) -> object:
        text = load_text(value, path)
        if not self.low <= len(text) <= self.high:
            raise SaveRefused("wrong_length", path)
        if not is_clean(text):
            raise SaveRefused("unclean_text", path)
        return text

    def reader(self) -> Reader:
        low, high = self.low, self.high

        def read(value: object) -> object:
            if type(value) is str and low <= len(value) <= high and is_clean(value):
                return value
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, str)
        assert self.low <= len(value) <= self.high
        return value

    def schema(self) -> JsonObject:
        return {"type": "string", "minLength": self.low, "maxLength": self.high}


@dataclass(frozen=True, slots=True)
class Token:
    """A string of `low` to `high` characters out of letters, digits and `marks`."""

    low: int
    high: int
    marks: str = "-_."

    def load(self, value: object, path: str) -> object:
        text = load_text(value, path)
        if not self.low <= len(text) <= self.high:
            raise SaveRefused("wrong_length", path)
        if not all("0" <= c <= "9" or "A" <= c <= "Z" or "a" <= c <= "z" or c in self.marks for c in text):
            raise SaveRefused("unexpected_character", path)
        return text

    def reader(self) -> Reader:
        low, high, allowed = self.low, self.high, f"{ALPHANUMERIC}{self.marks}"

        def read(value: object) -> object:
            if type(value) is str and low <= len(value) <= high and not value.strip(allowed):
                return value
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, str)
        return value

    def schema(self) -> JsonObject:
        marks = "".join(f"\\{mark}" for mark in self.marks)
        return {"type": "string", "pattern": f"^[0-9A-Za-z{marks}]{{{self.low},{self.high}}}$"}


@dataclass(frozen=True, slots=True)
class OneOf:
    """A member of a closed list."""

    members: tuple[str, ...]

    def load(self, value: object, path: str) -> object:
        text = load_text(value, path)
        if text not in self.members:
            raise SaveRefused("unknown_member", path)
        return text

    def reader(self) -> Reader:
        members = frozenset(self.members)

        def read(value: object) -> object:
            if type(value) is str and value in members:
                return value
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, str)
        assert value in self.members
        return value

    def schema(self) -> JsonObject:
        return {"enum": list(self.members)}


@dataclass(frozen=True, slots=True)
class Checked:
    """A string that a rule of its own accepts: `rule` gives a refusal code or None."""

    name: str
    high: int
    rule: Callable[[str], str | None]

    def load(self, value: object, path: str) -> object:
        text = load_text(value, path)
        code = "wrong_length" if len(text) > self.high else self.rule(text)
        if code is not None:
            raise SaveRefused(code, path)
        return text

    def reader(self) -> Reader:
        high, rule = self.high, self.rule

        def read(value: object) -> object:
            if type(value) is str and len(value) <= high and rule(value) is None:
                return value
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, str)
        return value

    def schema(self) -> JsonObject:
        return {"type": "string", "maxLength": self.high, "description": self.name}


@dataclass(frozen=True, slots=True)
class Optional:
    """Null or a shape."""

    shape: Shape

    def load(self, value: object, path: str) -> object:
        return None if value is None else self.shape.load(value, path)

    def reader(self) -> Reader:
        inner = self.shape.reader()
        return lambda value: None if value is None else inner(value)

    def dump(self, value: object) -> JsonValue:
        return None if value is None else self.shape.dump(value)

    def schema(self) -> JsonObject:
        return {"anyOf": [{"type": "null"}, self.shape.schema()]}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of at most `high` members; an immutable tuple inside the engine."""

    shape: Shape
    high: int
    low: int = 0

    def load(self, value: object, path: str) -> object:
        refuse_wrong(value, path)
        if not isinstance(value, list):
            raise SaveRefused("not_a_list", path)
        if not self.low <= len(value) <= self.high:
            raise SaveRefused("wrong_length", path)
        return tuple(self.shape.load(member, f"{path}/{at}") for at, member in enumerate(value))

    def reader(self) -> Reader:
        low, high, inner = self.low, self.high, self.shape.reader()

        def read(value: object) -> object:
            if type(value) is list and low <= len(value) <= high:
                return tuple([inner(member) for member in value])
            raise Doubt

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, tuple)
        assert self.low <= len(value) <= self.high
        return [self.shape.dump(member) for member in value]

    def schema(self) -> JsonObject:
        return {"type": "array", "items": self.shape.schema(), "minItems": self.low, "maxItems": self.high}


def camel(attribute: str) -> str:
    """`body_clock_ms` as `bodyClockMs`."""
    first, *rest = attribute.split("_")
    return first + "".join(part[:1].translate(_UPPER) + part[1:] for part in rest)


_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(frozen=True, slots=True)
class Member:
    """A named member of a record; one with a default is left out of a save while it holds it."""

    shape: Shape
    default: object = REQUIRED
    about: str = ""


class Record(Generic[T_co]):
    """An object with declared members; others are kept as they are in the record's `extra`."""

    def __init__(self, make: type[T_co], members: Mapping[str, Member], fixed: Mapping[str, int] | None = None) -> None:
        self._make = make
        self._members = tuple((attribute, camel(attribute), member) for attribute, member in members.items())
        self._names = frozenset(name for _, name, _ in self._members) | frozenset(fixed or ())
        self._fixed = dict(fixed or {})
        self._in_order: JsonObject = {name: self._fixed.get(name) for name in sorted(self._names)}

    @property
    def make(self) -> type[T_co]:
        """What the record is inside the engine."""
        return self._make

    @property
    def members(self) -> tuple[tuple[str, str, Member], ...]:
        """Attribute, name in a save and declaration of each member, in the order of the attributes."""
        return self._members

    def load(self, value: object, path: str) -> T_co:
        refuse_wrong(value, path)
        if not isinstance(value, dict):
            raise SaveRefused("not_an_object", path)
        found: dict[str, object] = {}
        for attribute, name, member in self._members:
            if name in value:
                found[attribute] = member.shape.load(value[name], f"{path}/{name}")
            elif member.default is REQUIRED:
                raise SaveRefused("missing", f"{path}/{name}")
            else:
                found[attribute] = member.default
        unknown = {name: kept(value[name], f"{path}/?") for name in value if name not in self._names}
        for name in unknown:
            load_text(name, f"{path}/?")
        found["extra"] = canonical(unknown) if unknown else ""
        return self._make(**found)  # the members are the arguments, checked by a test

    def reader(self) -> Callable[[object], T_co]:
        """For records without members that nobody declared; those have `extra` to keep, and `load` does."""
        members = {
            attribute: (name, member.shape.reader(), member.default) for attribute, name, member in self._members
        }
        plan = [members[field.name] for field in fields(self._make) if field.name != "extra"]  # type: ignore[arg-type]
        make, fixed = self._make, len(self._fixed)

        def read(value: object) -> T_co:
            if type(value) is not dict:
                raise Doubt
            held: list[object] = []
            known = fixed
            for name, inner, default in plan:
                if name in value:
                    held.append(inner(value[name]))
                    known += 1
                elif default is REQUIRED:
                    raise Doubt
                else:
                    held.append(default)
            if known != len(value):
                raise Doubt
            return make(*held)

        return read

    def dump(self, value: object) -> JsonValue:
        written = self._in_order.copy()
        for attribute, name, member in self._members:
            held: object = getattr(value, attribute)
            if held != member.default:
                written[name] = member.shape.dump(held)
            else:
                del written[name]
        extra: object = getattr(value, "extra")  # noqa: B009 - typed as object on purpose
        assert isinstance(extra, str)
        return with_unknown(written, extra) if extra else written

    def schema(self) -> JsonObject:
        properties: JsonObject = {name: {"const": number} for name, number in self._fixed.items()}
        required: list[JsonValue] = list(self._fixed)
        for _, name, member in self._members:
            about: JsonObject = {"description": member.about} if member.about else {}
            properties[name] = {**member.shape.schema(), **about}
            if member.default is REQUIRED:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required}


def with_unknown(written: JsonObject, extra: str) -> JsonObject:
    """A record's members with those that nobody declared, by name."""
    unknown: JsonObject = json.loads(extra)
    assert canonical(unknown) == extra, "a record's extra is canonical"
    return dict(sorted({**written, **unknown}.items(), key=itemgetter(0)))


def kept(value: object, path: str) -> JsonValue:
    """An unknown member as it is, once everything in it is JSON that a save may hold."""
    refuse_wrong(value, path)
    if isinstance(value, list):
        return [kept(member, path) for member in value]
    if isinstance(value, dict):
        return {load_text(name, path): kept(member, path) for name, member in value.items()}
    if isinstance(value, str):
        return load_text(value, path)
    assert value is None or isinstance(value, bool | int)
    return value
