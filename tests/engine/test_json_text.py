"""A save's JSON text: one text by orjson and by the standard library, and what either does not take is left alone."""

import json
import runpy
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from engine_scenes import NOON, awake, live
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import dump_save, json_text, load_save
from tokenling.engine.bounds import INTEGER_MAX
from tokenling.engine.jsonvalue import JsonObject

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(params=[True, False], ids=["orjson", "standard library"])
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(json_text, "QUICK", request.param)
    return bool(request.param)


def both(work: object, given_: object) -> Iterator[object]:
    """What comes of it by either library: a value, or the error's name."""
    assert callable(work)
    with pytest.MonkeyPatch.context() as patch:
        for by_orjson in (True, False):
            patch.setattr(json_text, "QUICK", by_orjson)
            try:
                yield work(given_)
            except ValueError as wrong:
                yield "UnicodeEncodeError" if isinstance(wrong, UnicodeEncodeError) else "ValueError"


def test_a_host_has_orjson_and_uses_it() -> None:
    assert json_text.QUICK
    assert isinstance(sys.modules["orjson"], ModuleType)


def test_where_orjson_is_not_the_standard_library_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orjson", None)
    module = runpy.run_path(json_text.__file__)
    assert not module["QUICK"]
    assert b'{"a":"\xc3\xa9"}' == module["write"]({"a": "\u00e9"})
    assert {"a": 1} == module["read"](b'{"a":1}')


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def in_order(value: object) -> object:
    """The value with members by name, at every depth."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_both_libraries_write_the_canonical_bytes_and_read_them_again(value: dict[str, object]) -> None:
    expected = canonical(value)
    assert [expected] * 2 == list(both(json_text.write, in_order(value)))
    assert [value] * 2 == list(both(json_text.read, expected))


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01\x08\t\n\x0b\x0c\r\x1f",
        '"\\/',
        "\x7f\x80\x85\xa0",
        "\u2028\u2029",
        "\ufeff\ufffe\uffff",
        "\U0001f431\U0010ffff",
    ],
    ids=ascii,
)
def test_every_character_is_written_alike(text: str) -> None:
    assert [canonical({"a": text, text: 1})] * 2 == list(both(json_text.write, in_order({"a": text, text: 1})))


@pytest.mark.parametrize("number", [INTEGER_MAX, -INTEGER_MAX, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30])
def test_every_integer_is_written_in_its_digits(number: int) -> None:
    assert [f'{{"n":{number}}}'.encode()] * 2 == list(both(json_text.write, {"n": number}))


def test_a_lone_surrogate_is_never_written(quick: bool) -> None:
    for value in ({"a": "\ud800"}, {"\udfff": 1}):
        with pytest.raises(UnicodeEncodeError):
            json_text.write(value)  # type: ignore[arg-type] # each is an object


NOT_COMPACT = {
    "nothing": b"",
    "null": b"null",
    "a space": b'{"a": 1}',
    "a space behind": b"{} ",
    "a byte-order mark": b"\xef\xbb\xbf{}",
    "a member twice": b'{"a":1,"a":1}',
    "a member twice, within": b'{"a":[{"b":1,"b":2}]}',
    "a surrogate, escaped": b'{"a":"\\ud800"}',
    "a surrogate, as bytes": b'{"a":"\xed\xa0\x80"}',
    "not UTF-8": b'{"a":"\xff"}',
    "an overlong zero": b'{"a":"\xc0\x80"}',
    "an escape that is not needed": b'{"a":"\\u0041"}',
    "an escaped slash": b'{"a":"\\/"}',
    "a control, raw": b'{"a":"\x01"}',
    "minus zero": b'{"a":-0}',
    "a zero before": b'{"a":01}',
    "not a number": b'{"a":NaN}',
    "endless": b'{"a":Infinity}',
    "an exponent": b'{"a":1E5}',
    "beyond any float": b'{"a":1e999}',
    "cut off": b'{"a":1',
    "a comma too many": b'{"a":1,}',
    "two values": b"{}{}",
    "deep": b'{"a":' * 300 + b"1" + b"}" * 300,
    "deeper": b"[" * 100_000 + b"]" * 100_000,
    "deep and cut off": b"[" * 100_000,
}


@pytest.mark.parametrize("data", NOT_COMPACT.values(), ids=NOT_COMPACT)
def test_what_is_not_compact_json_is_not_read(quick: bool, data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - JSON's own errors are some
        json_text.read(data)


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_what_orjson_reads_the_standard_library_reads_alike(data: st.DataObject) -> None:
    whole = bytearray(dump_save(awake()))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b"0", b"1.5", b"-", b" ", b"\xff", b"\x7f", b"e1"]
            )
        )
    by_orjson, by_library = both(json_text.read, bytes(whole))
    if isinstance(by_orjson, dict) and isinstance(by_library, dict):
        assert by_orjson == by_library
    else:  # a float's digits may tell them apart: a save holds none
        assert by_orjson == by_library or b"." in whole or b"e1" in whole


def test_a_save_is_the_same_without_orjson(quick: bool) -> None:
    state = live(awake(chatter=2), NOON + 3 * 86_400_000)
    data = dump_save(state)
    assert canonical(json.loads(data)) == data
    assert state == load_save(data)


@pytest.mark.parametrize("data", [b"[]" * 9, b'{"a":"}{"}', b'{"a":"[","b":[{"c":"]"}]}', b'["",["{"],""]'])
def test_brackets_in_strings_do_not_nest(data: bytes) -> None:
    assert json_text._is_flat(data)


@pytest.mark.parametrize("data", [b"[" * 40 + b"]" * 40, b"[", b'{"a":"', b'["]","', b"]["])
def test_what_is_deep_or_cut_off_is_not_flat(data: bytes) -> None:
    assert not json_text._is_flat(data)


def test_members_keep_the_order_they_have(quick: bool) -> None:
    value: JsonObject = {"b": 1, "a": [{"d": 1, "c": 2}]}
    assert b'{"b":1,"a":[{"d":1,"c":2}]}' == json_text.write(value)
