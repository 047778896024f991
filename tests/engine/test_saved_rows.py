"""Rows say what a list of the same records says, one by one: values, bytes and doubts."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_declared_saves import drawn

from tokenling.engine import SaveRefused
from tokenling.engine import saves as declared
from tokenling.engine.codec import Doubt, Flag, Int, ListOf, Member, OneOf, Record, Token
from tokenling.engine.lists import WANTS
from tokenling.engine.rows import FEW, Rows
from tokenling.engine.state import ChatLine, Effect, Event, Want
from tokenling.engine.text import are_clean, clean, is_clean

ROWS = {name: member.shape for _, name, member in declared.STATE.members if isinstance(member.shape, Rows)}
WRONG = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**53, 1.0, "", " ", "a  b", "a ", "a]", "\x7f", "a\n", "\u200b", "\u00e9", "\u2028",
     "x" * 500, "owner", [], {}, {"text": 1}]
)  # fmt: skip


def test_the_long_lists_of_a_pet_are_rows() -> None:
    assert {"chat", "memories", "diary", "events", "effects"} == set(ROWS)


def one_by_one(rows: Rows) -> ListOf:
    return ListOf(rows.shape, rows.high, rows.low)


def lists_of(rows: Rows) -> st.SearchStrategy[list[dict[str, object]]]:
    """More and fewer than are worth columns; defaults are left out, as a save leaves them."""
    defaults = {name: member.default for _, name, member in rows.shape.members}
    row = drawn(rows.shape).map(lambda held: {name: each for name, each in held.items() if each != defaults[name]})
    return st.lists(row, max_size=3) | st.lists(row, min_size=FEW - 1, max_size=FEW + 4)


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rows_read_and_write_what_a_list_does(name: str, data: st.DataObject) -> None:
    rows = ROWS[name]
    value = data.draw(lists_of(rows))
    expected = one_by_one(rows).load(value, "")
    made = rows.reader()(value)
    assert expected == made
    assert repr(expected) == repr(made)
    assert hash(expected) == hash(made)
    written = rows.dump(made)
    assert json.dumps(one_by_one(rows).dump(made)) == json.dumps(written) == json.dumps(value, sort_keys=False) or (
        [sorted(row) for row in value]
        == [list(row) for row in written]
        == [list(row) for row in one_by_one(rows).dump(made)]
        and value == written
    )


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_rows_take_nothing_that_the_careful_way_refuses(name: str, data: st.DataObject) -> None:
    rows = ROWS[name]
    row = data.draw(drawn(rows.shape))
    value: list[object] = [dict(row) for _ in range(data.draw(st.sampled_from([1, FEW, FEW + 3])))]
    spoilt = value[data.draw(st.integers(0, len(value) - 1))]
    assert isinstance(spoilt, dict)
    at = data.draw(st.sampled_from([*row, "unknown"]))
    if data.draw(st.booleans()):
        spoilt[at] = data.draw(WRONG)
    else:
        spoilt.pop(at, None)
    try:
        made = rows.reader()(value)
    except Doubt:
        return
    assert one_by_one(rows).load(value, "") == made


def events(count: int = 2 * FEW, **changed: object) -> list[object]:
    plain: dict[str, object] = {"kind": "fed", "atMs": 1_781_172_000_000, "item": "plum", "n": 2}
    return [plain for _ in range(count - 1)] + [{**plain, **changed}]


@pytest.mark.parametrize(
    "value",
    [
        None,
        tuple(events()),
        [*events(), None],
        [*events(), []],
        events(201),
        events(kind="rained"),
        events(kind=[]),
        events(atMs=0),
        events(atMs=True),
        events(atMs=1_781_172_000_000.0),
        events(n=None),
        events(item="a]"),
        events(item="\u00e9"),
        events(item="i" * 17),
        events(item="\ud800"),
        events(unknown=1),
        events(n=1, unknown=1),
        [*events(), {"kind": "fed"}],
    ],
    ids=repr,
)
def test_a_list_that_is_not_plainly_right_is_doubted(value: object) -> None:
    with pytest.raises(Doubt):
        ROWS["events"].reader()(value)


def test_defaults_are_what_the_declaration_says() -> None:
    assert tuple(Event("fed", 1_781_172_000_000) for _ in range(FEW)) == ROWS["events"].reader()(
        [{"kind": "fed", "atMs": 1_781_172_000_000}] * FEW
    )
    written = ROWS["events"].dump(tuple(Event("fed", 1_781_172_000_000, "", number) for number in range(1, FEW + 1)))
    assert isinstance(written, list)
    assert [{"atMs": 1_781_172_000_000, "kind": "fed"}, {"atMs": 1_781_172_000_000, "kind": "fed", "n": 2}] == written[
        :2
    ]


def test_what_nobody_declared_is_written_in_its_place() -> None:
    line = ChatLine("pet", "Hm.", 1_781_172_000_000)
    lines = (*(line for _ in range(FEW)), replace(line, extra='{"mood":{"a":1,"b":2},"zeal":true}'))
    written = ROWS["chat"].dump(lines)
    assert isinstance(written, list)
    assert '{"atMs":1781172000000,"mood":{"a":1,"b":2},"text":"Hm.","who":"pet","zeal":true}' == json.dumps(
        written[-1], separators=(",", ":")
    )
    assert {"atMs", "text", "who"} == set(written[0])  # type: ignore[arg-type] # an object
    with pytest.raises(AssertionError):
        ROWS["chat"].dump((*lines, replace(line, extra='{"b":1,"a":1}')))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("events", Event("rained", 1_781_172_000_000)),
        ("events", Event("fed", 0)),
        ("events", Event("fed", True)),
        ("events", Event("fed", 1_781_172_000_000, 5)),  # type: ignore[arg-type]
        ("chat", ChatLine("owner", "", 1_781_172_000_000)),
        ("chat", ChatLine("owner", "x" * 401, 1_781_172_000_000)),
        ("effects", Effect(-1, "wake", 1_781_172_000_000)),
    ],
    ids=repr,
)
def test_a_state_that_no_save_may_hold_is_not_written(name: str, wrong: object) -> None:
    rows = ROWS[name]
    for many in (1, FEW):
        with pytest.raises(AssertionError):
            rows.dump((wrong,) * many)


def test_a_record_that_checks_itself_or_holds_others_is_no_row() -> None:
    with pytest.raises(TypeError, match="Flag"):
        Rows(Record(Want, {"kind": Member(Flag()), "at_ms": Member(Int(0, 1))}), 9)


def test_every_number_of_a_column_keeps_to_its_step() -> None:
    wants = Rows(Record(Want, {"kind": Member(OneOf(WANTS)), "at_ms": Member(Int(0, 60, 20))}), 9)
    right = [{"kind": "food", "atMs": number} for number in (0, 20, 40, 60, 0, 20, 40, 60)]
    assert tuple(Want("food", number) for number in (0, 20, 40, 60, 0, 20, 40, 60)) == wants.reader()(right)
    with pytest.raises(Doubt):
        wants.reader()([*right, {"kind": "food", "atMs": 50}])


@pytest.mark.parametrize(("low", "short"), [(1, ""), (3, "ab")])
def test_every_string_of_a_column_is_as_long_as_it_must_be(low: int, short: str) -> None:
    wants = Rows(Record(Want, {"kind": Member(Token(low, 4)), "at_ms": Member(Int(0, 60))}), 9)
    right = [{"kind": "abcd"[: 3 + number % 2], "atMs": number} for number in range(FEW)]
    assert tuple(Want("abcd"[: 3 + number % 2], number) for number in range(FEW)) == wants.reader()(right)
    for wrong in (short, "abcde"):
        with pytest.raises(Doubt):
            wants.reader()([*right, {"kind": wrong, "atMs": 1}])


def test_made_records_are_frozen_and_whole() -> None:
    made = ROWS["events"].reader()(events())
    assert isinstance(made, tuple)
    assert [Event("fed", 1_781_172_000_000, "plum", 2)] * len(made) == list(made)
    assert {""} == {event.extra for event in made}
    with pytest.raises(AttributeError):
        made[0].kind = "woke"
    assert [each.name for each in fields(made[0])] == ["kind", "at_ms", "item", "n", "extra"]


TEXTS = st.lists(
    st.text(st.sampled_from("ab [](\n\t\x00\x7f\x85\xa0\xad\u00e9\u200b\u200d\u2028\ufe0f\U0001f431"), max_size=4),
    max_size=4,
)


@settings(max_examples=1000, deadline=None)
@given(TEXTS, st.booleans())
def test_texts_are_clean_together_where_each_is(texts: list[str], cleaned: bool) -> None:
    texts = [clean(text) for text in texts] if cleaned else texts
    assert all(map(is_clean, texts)) is are_clean(texts)


@pytest.mark.parametrize(
    "text", ["a ", " a", "a  b", "\u200d", "\u00e9 ", "\u00e9  b", "[", "\u00e9]", "\x7f", "\ud800"]
)
def test_one_unclean_text_among_others_is_found(text: str) -> None:
    assert not is_clean(text)
    assert not are_clean(["plain", text, "plain"])
    assert not are_clean(["d\u00e9j\u00e0", text])


def test_refusals_of_long_lists_name_the_row() -> None:
    with pytest.raises(SaveRefused) as refused:
        ROWS["events"].load(events(atMs=0), "/events")
    assert ("out_of_range", f"/events/{2 * FEW - 1}/atMs") == (refused.value.code, refused.value.path)
