"""What a line asks for, and lines of an open file: whole, bounded, at their end."""

import io
import os

import pytest

from tokenling.cli.lines import Lines
from tokenling.cli.talk_input import (
    HELP,
    LINE_BYTES_MAX,
    Act,
    Catch,
    LineRefused,
    Quit,
    Show,
    Wait,
    next_line,
    parse_line,
)
from tokenling.engine import Care, CommandRefused, Offer, Say, Settings

LINES = [
    ("hello you", Act(Say("hello you"))),
    ("  hello \t you  ", Act(Say("hello you"))),
    ("[eat] now", Act(Say("(eat) now"))),
    ("//shrug", Act(Say("/shrug"))),
    ('{"kind":"say","text":"x"}', Act(Say('{"kind":"say","text":"x"}'))),
    ("/feed", Act(Care("feed"))),
    ("/feed plum", Act(Care("feed", "plum"))),
    ("/stroke", Act(Care("stroke"))),
    ("/wash", Act(Care("wash"))),
    ("/tuck", Act(Care("tuck"))),
    ("/lamp", Act(Care("lamp"))),
    ("/offer toy kite", Act(Offer("toy", "kite"))),
    ("/offer catch", Act(Offer("catch"))),
    ("/catch 12", Catch(12)),
    ("/name Momo", Act(Settings(name="Momo"))),
    ("/chatter 4", Act(Settings(chatter=4))),
    ("/zone Asia/Tokyo", Act(Settings(time_zone="Asia/Tokyo"))),
    ("/body", Show("body", 7)),
    ("/memories", Show("memories", 7)),
    ("/diary", Show("diary", 7)),
    ("/diary 2", Show("diary", 2)),
    ("/help", Show("help", 7)),
    ("/wait 90m", Wait(90)),
    ("/wait 3h", Wait(180)),
    ("/wait 30d", Wait(30 * 1440)),
    ("/quit", Quit()),
]
REFUSED = [
    ("/dance", "unknown_command"),
    ("/", "unknown_command"),
    ("/Feed plum", "unknown_command"),
    ("/feed gold", "unknown_value"),
    ("/wash plum", "unknown_value"),
    ("/offer", "unknown_value"),
    ("/offer toy plum", "unknown_value"),
    ("/catch", "wrong_number"),
    ("/catch -1", "wrong_number"),
    ("/catch 1000", "wrong_number"),
    ("/catch \u0663", "wrong_number"),
    ("/catch 999999999999", "wrong_number"),
    ("/chatter 3", "unknown_value"),
    ("/chatter loud", "wrong_number"),
    ("/name", "text_empty"),
    ("/zone Mars/Base", "unknown_time_zone"),
    ("/diary many", "wrong_number"),
    ("/diary 367", "wrong_number"),
    ("/body all", "unexpected_words"),
    ("/quit now", "unexpected_words"),
    ("/wait", "wrong_span"),
    ("/wait 0h", "wrong_span"),
    ("/wait 3", "wrong_span"),
    ("/wait 31d", "wrong_span"),
    ("/wait 999999m", "wrong_span"),
    ("/wait \u0663h", "wrong_span"),
    ("x" * 401, "text_too_long"),
    ("\u202e", "text_empty"),
]
JSON_LINES = [
    ("{", "not_json"),
    ('{"kind":"say","text":"x","text":"y"}', "not_json"),
    ('{"kind":"say","text":NaN}', "not_json"),
    ('{"a":' * 5000, "not_json"),
    ('{"kind":"say","text":"\\ud800"}', "not_json"),
    ('{"kind":"say","text":1.5}', "wrong_type"),
    ('{"kind":"say","text":"x","loud":1}', "unknown_field"),
    ('{"kind":"shout"}', "unknown_kind"),
]


@pytest.mark.parametrize(("line", "typed"), LINES)
def test_a_line_asks_for_one_thing(line, typed):
    assert typed == parse_line(line)


@pytest.mark.parametrize("line", ["", "  ", "\t"])
def test_an_empty_line_asks_for_nothing(line):
    assert parse_line(line) is None


def code_of(line, **options):
    with pytest.raises((LineRefused, CommandRefused)) as raised:
        parse_line(line, **options)
    return raised.value.code


@pytest.mark.parametrize(("line", "code"), REFUSED, ids=[line[:24].encode("ascii", "replace") for line, _ in REFUSED])
def test_a_line_that_asks_for_nothing_known_is_refused(line, code):
    assert code == code_of(line)


@pytest.mark.parametrize(("line", "code"), JSON_LINES, ids=range(len(JSON_LINES)))
def test_json_commands_are_read_as_strictly_as_by_a_host(line, code):
    assert code == code_of(line, may_be_json=True)


def test_json_commands_do_what_typed_ones_do():
    assert parse_line("/feed plum") == parse_line('{"kind":"care","action":"feed","item":"plum"}', may_be_json=True)
    assert Act(Say("hello")) == parse_line("hello", may_be_json=True)


def test_the_help_names_every_command():
    from tokenling.cli.talk_input import _PARSERS

    words = " ".join(HELP)
    assert [] == [command for command in _PARSERS if command not in words and command != "/help"]


def read_all(data):
    lines, found = Lines(io.BytesIO(data), LINE_BYTES_MAX), []
    try:
        while True:
            try:
                found.append(next_line(lines, None))
            except LineRefused as refused:
                found.append(refused.code)
    except EOFError:
        return found


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"one\n", ["one"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\n\ntwo\n", ["one", "", "two"]),
        (b"\xff\xfe\nafter\n", ["not_utf8", "after"]),
        ("\u00e4\U0001f431\n".encode(), ["\u00e4\U0001f431"]),
    ],
)
def test_lines_come_whole_and_in_order(data, lines):
    assert lines == read_all(data)


def test_a_line_without_end_is_cut_and_its_rest_thrown_away(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"a" * (3 * LINE_BYTES_MAX) + b"\nnext\n" + b"b" * (2 * LINE_BYTES_MAX))
    with path.open("rb") as source:
        lines = Lines(source, LINE_BYTES_MAX)
        assert LINE_BYTES_MAX == len(next_line(lines, None))
        assert "next" == next_line(lines, None)
        assert LINE_BYTES_MAX == len(next_line(lines, None))
        with pytest.raises(EOFError):
            next_line(lines, None)


def test_a_wait_for_a_line_ends_with_time():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as typed:
        lines = Lines(source, LINE_BYTES_MAX)
        assert next_line(lines, 0.0) is None
        typed.write(b"half")
        assert next_line(lines, 0.0) is None
        typed.write(b" done\n")
        assert "half done" == next_line(lines, 0.0)
