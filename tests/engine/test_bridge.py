"""The door for JavaScript: state as a string, typed refusals, nothing that JavaScript's numbers spoil."""

import json

import pytest
from engine_scenes import HOUR, MINUTE, NOON, awake, do, say

from tokenling.engine import advance, apply_reply, build_request, dump_save, pending_turn, prompt_text
from tokenling.engine.bridge import call
from tokenling.engine.contract import words_for
from tokenling.engine.jsonvalue import JsonObject, JsonValue


def ok(function: str, **arguments: JsonValue) -> JsonObject:
    answer: JsonObject = json.loads(call(function, json.dumps(arguments)))
    value = answer["ok"]
    assert isinstance(value, dict)
    return value


def refused(function: str, text: str) -> tuple[str, str, str]:
    answer = json.loads(call(function, text))["refused"]
    return answer["error"], answer["code"], answer["path"]


def newborn() -> JsonValue:
    return ok("new_pet", petSeed="fern", name="Pip", timeZone="Europe/Berlin", brainId="b", weatherSeed="", nowMs=NOON)[
        "state"
    ]


def integers(value: JsonValue) -> list[int]:
    if isinstance(value, dict):
        return [number for held in value.values() for number in integers(held)]
    if isinstance(value, list):
        return [number for held in value for number in integers(held)]
    return [value] if type(value) is int else []


def test_a_life_through_the_door_is_the_same_life() -> None:
    step = ok("apply_command", state=newborn(), command=say("hello"), nowMs=NOON + 5)
    request = ok("build_request", state=step["state"], turn=step["turn"])
    assert request["mode"] == "line"
    after = ok("apply_reply", state=step["state"], turn=step["turn"], reply={"text": "[happy] Hi!", "stop": "newline"})
    assert after["turn"] is None
    assert [line["text"] for line in json.loads(str(after["state"]))["chat"]] == ["hello", "Hi!"]
    moved = ok("advance", state=after["state"], nowMs=NOON + HOUR)
    assert moved["turn"] is not None
    skipped = ok("skip_turn", state=moved["state"], turn=moved["turn"], reason="owner_came")
    assert skipped["turn"] is None
    home = ok("rehome", state=skipped["state"], mode="remote", timeZone="Etc/UTC", brainId="c", nowMs=NOON + 2 * HOUR)
    view = ok("view", state=home["state"])
    assert view["hosting"] == {"mode": "remote", "brainId": "c", "timeZone": "Etc/UTC"}
    assert view["bodyClockMs"] == NOON + 2 * HOUR


def test_the_door_gives_what_the_functions_give() -> None:
    state = do(awake(), say("hi"), NOON + 1).state
    turn = pending_turn(state)
    assert turn is not None
    text = dump_save(state).decode()
    given = ok("advance", state=text, nowMs=NOON + MINUTE)
    assert given["state"] == dump_save(advance(state, NOON + MINUTE).state).decode()
    request = ok("build_request", state=text, turn=given["turn"])
    expected = build_request(state, turn)
    lines = request["lines"]
    assert isinstance(lines, list)
    assert prompt_text(expected.header, expected.lines, expected.prefix) == prompt_text(
        str(request["header"]), [str(line) for line in lines], str(request["prefix"])
    )
    reply = words_for("bridge", turn)
    after = ok("apply_reply", state=text, turn=given["turn"], reply={"text": reply.text, "stop": reply.stop})
    assert after["state"] == dump_save(apply_reply(state, turn, reply).state).decode()


def test_no_integer_is_beyond_what_javascript_holds() -> None:
    step = ok("apply_command", state=newborn(), command=say("hello"), nowMs=NOON + 5)
    request = ok("build_request", state=step["state"], turn=step["turn"])
    everything: list[JsonValue] = [step, request, ok("view", state=step["state"]), json.loads(str(step["state"]))]
    assert max(integers(everything)) < 2**53


def test_versions_and_lists_are_told() -> None:
    versions = ok("versions")
    assert (versions["engine"], versions["prompt"], versions["save"]) == (1, 1, 2)
    lists = versions["lists"]
    assert isinstance(lists, dict)
    assert len(lists) == 15


def test_the_fit_rule_is_the_hosts() -> None:
    given = {"headerTokens": 10, "lineTokens": [5, 5, 5], "prefixTokens": 2, "budget": 23}
    assert json.loads(call("first_kept_line", json.dumps(given))) == {"ok": 1}
    small = json.dumps({**given, "budget": 3})
    assert refused("first_kept_line", small) == ("BridgeRefused", "does_not_fit", "/budget")


TURN = {"id": "r1", "kind": "reactive", "atMs": NOON, "seed": 1, "contextRevision": 1, "unstoppable": False}


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("fly", {}, ("BridgeRefused", "unknown_function", "/function")),
        ("advance", {}, ("BridgeRefused", "missing", "/state")),
        ("advance", {"state": 5, "nowMs": NOON}, ("BridgeRefused", "not_a_text", "/state")),
        ("advance", {"state": "{}", "nowMs": NOON}, ("SaveRefused", "missing", "/v")),
        ("advance", {"state": "\ud800", "nowMs": NOON}, ("SaveRefused", "lone_surrogate", "")),
        ("advance", {"nowMs": "x"}, ("BridgeRefused", "not_an_integer", "/nowMs")),
        ("advance", {"nowMs": 5}, ("BridgeRefused", "out_of_range", "/nowMs")),
        ("apply_command", {"command": {"kind": "fly"}, "nowMs": NOON}, ("CommandRefused", "unknown_kind", "/kind")),
        ("apply_reply", {"turn": [], "reply": {}}, ("BridgeRefused", "not_an_object", "/turn")),
        ("apply_reply", {"turn": {**TURN, "kind": "odd"}}, ("BridgeRefused", "unknown_member", "/turn/kind")),
        ("apply_reply", {"turn": {**TURN, "unstoppable": 1}}, ("BridgeRefused", "not_a_flag", "/turn/unstoppable")),
        ("apply_reply", {"turn": TURN, "reply": {"stop": "x"}}, ("BridgeRefused", "unknown_member", "/reply/stop")),
        ("apply_reply", {"turn": TURN, "reply": {"text": "x", "stop": "eos"}}, ("StaleTurn", "stale_turn", "")),
        ("skip_turn", {"turn": TURN, "reason": "bored"}, ("BridgeRefused", "unknown_member", "/reason")),
        ("new_pet", {"petSeed": "a b", "name": "x", "timeZone": "Etc/UTC", "brainId": "", "weatherSeed": "",
                     "nowMs": NOON}, ("CommandRefused", "out_of_range", "/petSeed")),
        ("first_kept_line", {"headerTokens": 1, "lineTokens": 3}, ("BridgeRefused", "not_a_list", "/lineTokens")),
        ("first_kept_line", {"headerTokens": 1, "lineTokens": [1.5]},
         ("BridgeRefused", "not_an_integer", "/lineTokens")),
    ],
)  # fmt: skip
def test_a_wrong_call_is_refused_and_never_raised(
    function: str, arguments: JsonObject, expected: tuple[str, str, str]
) -> None:
    given: JsonObject = {"state": newborn()} if expected[2] != "/state" else {}
    assert refused(function, json.dumps({**given, **arguments})) == expected


@pytest.mark.parametrize("text", ["", "[]", "nul", "[" * 100_000, "\ud800"])
def test_arguments_that_are_no_object_are_refused(text: str) -> None:
    assert refused("advance", text) == ("BridgeRefused", "not_an_object", "/arguments")


def test_a_pending_idle_turn_is_told_by_name() -> None:
    state = advance(awake(chatter=4), NOON + HOUR).state
    given = {"state": dump_save(state).decode(), "command": say(), "nowMs": NOON + HOUR}
    assert refused("apply_command", json.dumps(given)) == ("TurnsPending", "turns_pending", "")
