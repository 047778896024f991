"""What a refusal says of a value: JSON's words and JSON's spelling, never Python's."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tokenling.engine.request import GenerationRequest
from tokenling.runtime import Brain, BrainError, BrainRefused, Lane, decode, make_receipt, open_brain, plan_turn
from tokenling.runtime.documents import kind_of
from tokenling.runtime.errors import FOUND_CHARS_MAX, quote
from tokenling.runtime.receipts import parse_owner_receipt
from tokenling.runtime.requests import request_from_json

T = TypeVar("T")

SPELLED = [
    ((), "[]"),
    (("lookups",), '["lookups"]'),
    (["batch", 2, None], '["batch", 2, null]'),
    ({"id": True}, '{"id": true}'),
    (None, "nothing"),
    (False, "false"),
    (1.5, "1.5"),
    ("as it is", "as it is"),
    ("two\nlines\x1b[2J", "two lines [2J"),
]
KINDS = [
    (None, "null"), (True, "true or false"), (3, "an integer"), (0.5, "a number with a fraction or exponent"),
    ("", "a text"), ([], "an array"), ({}, "an object"),
]  # fmt: skip
PYTHON = re.compile(r"\(\)|\(['\"]|,\)|\bNone\b|\bTrue\b|\bFalse\b|NoneType|\b(dict|str|int|bool|tuple|float)\b")
"""How Python, and nobody else, spells or names a value."""


def refusal(read: Callable[[T], object], given: T) -> str:
    """What is said of a wrong value; nothing of one that is right."""
    try:
        read(given)
    except BrainError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize(("found", "shown"), SPELLED)
def test_a_finding_is_spelled_as_json(found: object, shown: str) -> None:
    assert shown == quote(found)


def test_a_finding_that_is_deep_or_long_stays_a_line() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert "a value that is nested too deeply" == quote(deep)
    assert FOUND_CHARS_MAX + 1 == len(quote(["x"] * 1000))
    while deep:
        deep = deep.pop()  # type: ignore[assignment]  # taken apart by hand: its end would recurse


@pytest.mark.parametrize(("value", "name"), KINDS)
def test_a_kind_has_jsons_name(value: object, name: str) -> None:
    assert name == kind_of(value)  # type: ignore[arg-type]


def test_features_that_do_not_match_are_told_as_they_are_set(brain_dir: Path) -> None:
    with pytest.raises(BrainRefused) as refused:
        open_brain(brain_dir, features=("no-such-feature",))
    assert 'expected ["no-such-feature"], as set' in str(refused.value)
    assert not PYTHON.search(str(refused.value))


@pytest.mark.parametrize("value", [None, True, 3, 0.5, "x", ["x"], {"x": None}])
@pytest.mark.parametrize("name", ["id", "features", "promptVersion", "files", "succeeds"])
def test_no_refused_manifest_shows_python(brain_dir: Path, tmp_path: Path, name: str, value: object) -> None:
    manifest = json.loads((brain_dir / "brain.json").read_text()) | {name: value}
    (tmp_path / "brain.json").write_text(json.dumps(manifest))
    with pytest.raises(BrainError) as refused:
        open_brain(tmp_path)
    assert not PYTHON.search(str(refused.value)), str(refused.value)


@pytest.mark.parametrize("value", [None, True, 0.5, "x", ["x"], {"x": None}])
@pytest.mark.parametrize("name", ["header", "lines", "maxNew", "tags", "answers", "seed", "mode"])
def test_no_refused_request_shows_python(name: str, value: object) -> None:
    good = {"header": "", "lines": [], "prefix": "p", "mode": "line", "maxNew": 4, "temperatureMilli": 0, "topK": 4,
            "topPMilli": 920, "ctx": 64}  # fmt: skip
    assert not PYTHON.search(refusal(request_from_json, good | {name: value}))


def test_no_refused_receipt_shows_python(brain: Brain, lane: Lane, pet_request: GenerationRequest) -> None:
    plan = plan_turn(pet_request, brain)
    honest = json.loads(make_receipt(plan, decode(lane, plan), brain, lane, request=pet_request).owner_json())
    for name in honest:
        for value in (None, True, 0.5, "x", ["x"], {"x": None}):
            assert not PYTHON.search(refusal(parse_owner_receipt, json.dumps(honest | {name: value}).encode()))
