"""Lists of records, read and written by columns: a member of all of them at once, in passes that run in C.

A save holds hundreds of lines and events. What `ListOf` makes of them one by one comes out the same in a third of the
time; what is not plainly right is left to `ListOf.load`, as by every reader (`engine/codec.py`).
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import cast

from tokenling.engine.codec import (
    ALPHANUMERIC,
    REQUIRED,
    Checked,
    Doubt,
    Int,
    ListOf,
    OneOf,
    Reader,
    Record,
    Shape,
    Text,
    Token,
    with_unknown,
)
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.text import are_clean

Check = Callable[[list[object]], bool]
"""Whether something holds of all values of a column, of which there is at least one."""
FEW = 8
"""Records from which on columns win: fewer are read and written one by one (measured, about equal from 4 to 8)."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A member of the records: `may_read` is what its shape's reader asks of a value, `may_write` what `dump` does."""

    attribute: str
    name: str
    default: object
    may_read: Check
    may_write: Check


@dataclass(frozen=True, slots=True)
class Rows(ListOf):
    """A list of at most `high` records whose members are single values."""

    shape: Record[object]
    _columns: tuple[_Column, ...] = field(init=False, repr=False, compare=False)
    _by_name: tuple[_Column, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = tuple(
            _Column(attribute, name, member.default, _may_read(member.shape), _may_write(member.shape))
            for attribute, name, member in self.shape.members
        )
        assert min(columns, key=attrgetter("name")).default is REQUIRED, "rows begin with what each record holds"
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_by_name", tuple(sorted(columns, key=attrgetter("name"))))

    def reader(self) -> Reader:
        low, high, columns, filled = self.low, self.high, self._columns, _filler(self.shape.make)
        one = self.shape.reader()

        def read(value: object) -> object:
            if type(value) is not list or not low <= len(value) <= high:
                raise Doubt
            if len(value) < FEW:
                return tuple([one(each) for each in value])
            return filled(_columns_of(value, columns), len(value))

        return read

    def dump(self, value: object) -> JsonValue:
        assert isinstance(value, tuple)
        assert self.low <= len(value) <= self.high
        if len(value) < FEW:
            return ListOf.dump(self, value)
        first, *others = self._by_name
        rows: list[JsonObject] = [{first.name: held} for held in _held(value, first)]
        for column in others:
            _write_column(rows, column, _held(value, column))
        extras: list[str] = [record.extra for record in value]
        if any(extras):
            rows = [with_unknown(row, extra) if extra else row for row, extra in zip(rows, extras, strict=True)]
        return cast("JsonValue", rows)


def _columns_of(values: list[object], columns: Sequence[_Column]) -> Iterable[list[object]]:
    """The values of each column, checked. Raises `Doubt` also for a default that is written out: seldom, never ours."""
    if not _are(dict, values):
        raise Doubt
    rows = cast("list[dict[str, object]]", values)
    found: list[list[object]] = []
    members = 0
    for column in columns:
        held, count = _taken(rows, column)
        members += count
        if not column.may_read(held):
            raise Doubt
        found.append(held)
    if members != sum(map(len, rows)):  # one that nobody declared
        raise Doubt
    return found


def _taken(rows: list[dict[str, object]], column: _Column) -> tuple[list[object], int]:
    """A column's values, and how many of them are written out."""
    name, default = column.name, column.default
    if default is not REQUIRED:
        held = [row.get(name, default) for row in rows]
        return held, len(rows) - held.count(default)
    try:
        return [row[name] for row in rows], len(rows)
    except KeyError:
        raise Doubt from None


def _held(records: tuple[object, ...], column: _Column) -> list[JsonValue]:
    """The column of records, which a save may hold."""
    held = list(map(attrgetter(column.attribute), records))
    assert column.may_write(held), f"{column.name} holds what a save may not"
    return held


def _write_column(rows: list[JsonObject], column: _Column, held: list[JsonValue]) -> None:
    name, default = column.name, column.default
    if default is REQUIRED:
        for row, value in zip(rows, held, strict=True):
            row[name] = value
        return
    for row, value in zip(rows, held, strict=True):
        if value != default:
            row[name] = value


def _filler(make: type[object]) -> Callable[[Iterable[list[object]], int], tuple[object, ...]]:
    """Makes records of columns, `extra` empty. A frozen dataclass's own `__init__` takes twice the time."""
    assert not hasattr(make, "__post_init__"), "a record that checks itself is made one by one"
    names = [each.name for each in fields(make)]  # type: ignore[arg-type]
    assert names[-1] == "extra"
    new = object.__new__
    setters: list[Callable[[object, object], None]] = [getattr(make, name).__set__ for name in names]

    def filled(columns: Iterable[list[object]], count: int) -> tuple[object, ...]:
        made = tuple([new(make) for _ in range(count)])
        extra: list[object] = [""] * count
        for put, column in zip(setters, (*columns, extra), strict=True):
            deque(map(put, made, column), maxlen=0)
        return made

    return filled


# --- what holds of a whole column ----------------------------------------------------------------------------


def _may_read(shape: Shape) -> Check:
    match shape:
        case Int():
            return _may_write(shape)
        case OneOf():
            listed = _may_write(shape)
            return lambda values: _are(str, values) and listed(values)
        case Text(low, high):
            return lambda values: _are_strings(values, low, high) and are_clean(cast("list[str]", values))
        case Token(low, high, marks):
            return _only(low, high, f"{ALPHANUMERIC}{marks}".encode())
        case Checked():
            return _each(shape.reader())
    raise TypeError(f"a row's members are single values, not {type(shape).__name__}")


def _may_write(shape: Shape) -> Check:
    match shape:
        case Int(low, high, step):
            return lambda values: _are_integers(values, low, high, step)
        case OneOf(members):
            return frozenset(members).issuperset
        case Text(low, high):
            return lambda values: _are_strings(values, low, high)
        case _:
            return lambda values: _are(str, values)


def _are(kind: type, values: list[object]) -> bool:
    return list(map(type, values)).count(kind) == len(values)


def _are_integers(values: list[object], low: int, high: int, step: int) -> bool:
    if not _are(int, values):
        return False
    numbers = cast("list[int]", values)
    return low <= min(numbers) and max(numbers) <= high and (step == 1 or not any(n % step for n in numbers))


def _are_strings(values: list[object], low: int, high: int) -> bool:
    if not _are(str, values):
        return False
    texts = cast("list[str]", values)
    longest = len(max(texts, key=len))
    return longest <= high and (low == 0 or (all(texts) if low == 1 else low <= len(min(texts, key=len))))


def _only(low: int, high: int, allowed: bytes) -> Check:
    """Strings out of some ASCII characters."""

    def check(values: list[object]) -> bool:
        if not _are_strings(values, low, high):
            return False
        joined = "".join(cast("list[str]", values))
        return joined.isascii() and not joined.encode().translate(None, delete=allowed)

    return check


def _each(read: Reader) -> Check:
    def check(values: list[object]) -> bool:
        for value in values:
            read(value)
        return True

    return check
