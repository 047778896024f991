"""Strict JSON: a table of what strangers send, with verdicts; and that what is taken is what the parser says."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenling import engine
from tokenling.engine.bounds import EXTRA_BYTES_MAX
from tokenling.host import strict_json
from tokenling.host.errors import ApiError
from tokenling.host.strict_json import INTEGER_LIMIT, JSON_DEPTH_MAX, REASONS, STRINGS_MAX, STRUCTURE_MAX, parse

DEEP = 30_000
WIDE = 690_000

REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "syntax"),
    "spaces only": (b"  \n", "syntax"),
    "half an object": (b'{"a":', "syntax"),
    "trailing text": (b"{} {}", "syntax"),
    "trailing comma": (b"[1,]", "syntax"),
    "comment": (b"[1] // one", "syntax"),
    "single quotes": (b"{'a': 1}", "syntax"),
    "leading zero": (b"[01]", "syntax"),
    "raw control character": (b'["\x01"]', "syntax"),
    "NUL behind": (b"{}\x00", "syntax"),
    "NaN": (b'{"a": NaN}', "constant"),
    "Infinity": (b"[Infinity]", "constant"),
    "minus Infinity": (b"[-Infinity]", "constant"),
    "a float beyond floats": (b"[1e999]", "number"),
    "an integer of 2^53": (b"[9007199254740992]", "integer"),
    "an integer of -2^53": (b"[-9007199254740992]", "integer"),
    "23 digits": (b"[12345678901234567890123]", "integer"),
    "a million digits": (b"[" + b"9" * 1_000_000 + b"]", "integer"),
    "the same key twice": (b'{"a": 1, "a": 1}', "duplicate_key"),
    "the same key twice, once escaped": (b'{"a": 1, "\\u0061": 2}', "duplicate_key"),
    "the same key twice, deep": (b'[{"x": {"a": 1, "a": 2}}]', "duplicate_key"),
    "high half of a pair": (b'["\\ud83d"]', "surrogate"),
    "low half of a pair": (b'["\\ude00"]', "surrogate"),
    "halves the wrong way round": (b'["\\ude00\\ud83d"]', "surrogate"),
    "half of a pair in a key": (b'{"\\uD800": 1}', "surrogate"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "encoding"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "encoding"),
    "Latin-1": (b'["\xe9"]', "encoding"),
    "overlong": (b'["\xc0\xaf"]', "encoding"),
    "a surrogate in UTF-8": (b'["\xed\xa0\x80"]', "encoding"),
    "30,000 arrays": (b"[" * DEEP + b"]" * DEEP, "depth"),
    "30,000 objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "depth"),
    "30,000 arrays never closed": (b"[" * DEEP, "depth"),
    "a body of empty arrays": (b"[" + b"[]," * WIDE + b"[]]", "structure"),
    "a body of empty objects, never closed": (b"[" + b"{}," * WIDE, "structure"),
    "a body of empty strings": (b"[" + b'"",' * WIDE + b'""]', "structure"),
    "a body of strings behind stray backslashes": (b'\\"\\\\"' * 400_000, "structure"),
    "a body of digits": (b"[" + b"0," * WIDE + b"0]", "structure"),
    "a body of small objects": (b"[" + b'{"a":0},' * (WIDE // 3) + b"{}]", "structure"),
    "one value too many": (b"[" + b"0," * STRUCTURE_MAX + b"0]", "structure"),
    "one too deep": (b"[" * (JSON_DEPTH_MAX + 1) + b"]" * (JSON_DEPTH_MAX + 1), "depth"),
    "deep behind an escaped quote": (b'["\\"", ' + b"[" * JSON_DEPTH_MAX + b"]" * JSON_DEPTH_MAX + b"]", "depth"),
}

TAKEN: dict[str, tuple[bytes, object]] = {
    "as many values as may be": (b"[" + b"0," * (STRUCTURE_MAX - 1) + b"0]", [0] * STRUCTURE_MAX),
    "as many strings as may be": (b"[" + b'"",' * (STRINGS_MAX - 2) + b'""]', [""] * (STRINGS_MAX - 1)),
    "an object": (b'{"a": [1, true, null, "x"]}', {"a": [1, True, None, "x"]}),
    "the largest integers": (b"[9007199254740991,-9007199254740991]", [INTEGER_LIMIT - 1, 1 - INTEGER_LIMIT]),
    "brackets in strings are not depth": (b'["' + b"[" * 1000 + b'"]', ["[" * 1000]),
    "brackets behind an escaped quote": (b'["\\"' + b"[{" * 100 + b'\\\\"]', ['"' + "[{" * 100 + "\\"]),
    "a whole surrogate pair": (b'["\\ud83d\\ude00"]', ["😀"]),
    "raw UTF-8": ('["😀é"]'.encode(), ["😀é"]),
    "as deep as allowed": (b"[" * JSON_DEPTH_MAX + b"]" * JSON_DEPTH_MAX, None),
    "spaces around": (b' \t\r\n{"a":1}\n', {"a": 1}),
    "a float, for the engine to refuse by its path": (b"[1.5]", [1.5]),
    "an escaped backslash before u": (b'["\\\\ud800"]', ["\\ud800"]),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_strict_json_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse(data)
    assert (caught.value.status, caught.value.code) == (400, "invalid_json")
    assert caught.value.fields == {"reason": reason}


@pytest.mark.parametrize(("data", "value"), TAKEN.values(), ids=TAKEN.keys())
def test_strict_json_is_taken(data: bytes, value: object) -> None:
    parsed = parse(data)
    if value is not None:
        assert parsed == value


def test_every_reason_has_a_case() -> None:
    assert {reason for _, reason in REFUSED.values()} == set(REASONS)


@pytest.mark.parametrize(
    "data",
    [b'"' + b'\\"' * 1_000_000, b'"' * 1_999_999, b"[]" * 1_000_000, b'"\\' * 700_000, b"[" * 2_000_000],
    ids=["escaped quotes", "quotes", "pairs", "open strings", "brackets"],
)
def test_two_megabytes_made_to_be_slow_are_refused_in_time(data: bytes) -> None:
    """Linear work takes well under a second here; the quadratic scan this guards against takes hours."""
    started = time.perf_counter()
    with pytest.raises(ApiError):
        parse(data)
    assert time.perf_counter() - started < 10


TEXT = st.text(st.characters(codec="utf-8"))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(1 - INTEGER_LIMIT, INTEGER_LIMIT - 1) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@given(JSON_VALUES, st.booleans())
def test_any_value_within_the_rules_comes_back_equal(value: object, escaped: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=escaped).encode()) == value


@given(JSON_VALUES)
def test_canonical_bytes_do_not_depend_on_the_order_of_keys(value: object) -> None:
    parsed = parse(json.dumps(value).encode())
    assert strict_json.canonical(_reversed(parsed)) == strict_json.canonical(parsed)  # type: ignore[arg-type]


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\u0dD8eE1.-+ \t').map(str.encode))
def test_any_bytes_are_parsed_or_refused_and_nothing_else(data: bytes) -> None:
    with contextlib.suppress(ApiError):
        parse(data)


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reversed(inner) for key, inner in reversed(value.items())}
    return [_reversed(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("value", [[], "", 0])
def test_a_save_whose_unknown_fields_are_as_many_values_as_the_engine_takes_is_within_the_bounds(value: object) -> None:
    """What the engine takes must come through the door: the structural bounds are above its own."""
    pet = engine.new_pet(
        pet_seed="p", name="p", time_zone="UTC", brain_id="b", weather_seed="w", now_ms=1_790_000_000_000
    )
    many = (EXTRA_BYTES_MAX - 64) // (len(json.dumps(value)) + 1)
    save = json.dumps({**json.loads(engine.dump_save(pet)), "extra": [value] * many}).encode()
    assert engine.load_save(save)
    assert parse(save) == json.loads(save)
