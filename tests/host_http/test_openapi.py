"""docs/openapi.json is made from the code, and the code behaves as it says."""

import json
import re
from pathlib import Path

import pytest
from host_http_support import DEVICE, OPERATION, PET, client, command_body, remote_body, running
from jsonschema import Draft202012Validator

from tokenling.engine import LISTS, CommandRefused, parse_command
from tokenling.host.envelope_fields import read_command, read_key_change, read_preparation, read_transfer
from tokenling.host.errors import CODES, ApiError
from tokenling.host.openapi import ANYWHERE, HANDLERS, openapi_document
from tokenling.host.openapi_schemas import BODIES, COMMANDS
from tools.openapi_page import PAGE, page

DOCUMENT = openapi_document()


LOCAL = {"to": "local", "operationId": OPERATION, "epoch": 1, "deviceId": DEVICE}
CASES = {
    "prepare": (read_preparation, BODIES["prepare"], {"id": PET, "save": {}, "enrolCode": "x"}),
    "command": (read_command, BODIES["command"], command_body()),
    "transfer to remote": (read_transfer, BODIES["transfer"]["oneOf"][0], remote_body(takeover=True)),
    "transfer to local": (read_transfer, BODIES["transfer"]["oneOf"][1], LOCAL),
    "change_key": (
        read_key_change, BODIES["change_key"], {"epoch": 1, "operationId": OPERATION, "newKeyHash": "0" * 64},
    ),
}  # fmt: skip


def test_the_file_is_what_the_code_makes() -> None:
    assert page() == Path(PAGE).read_text(encoding="utf-8"), "run: python -m tools.openapi_page"


def test_every_handler_and_every_code_has_its_place() -> None:
    operations = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert sorted(HANDLERS) == sorted(operations)
    told = {*ANYWHERE, *(code for answers in HANDLERS.values() for code in answers.codes)}
    # these are of no route of the API
    assert set(CODES) - {"unknown_route", "method_not_allowed", "files_changing"} == told


@pytest.mark.parametrize(("reader", "schema", "body"), CASES.values(), ids=CASES.keys())
def test_a_body_s_fields_are_the_reader_s(reader, schema, body) -> None:
    assert sorted(schema["properties"]) == sorted(body)
    reader(json.dumps(body).encode())
    for name in body:
        without = {key: value for key, value in body.items() if key != name}
        if name in schema["required"]:
            with pytest.raises(ApiError) as refused:
                reader(json.dumps(without).encode())
            assert refused.value.code == "invalid_envelope"
        else:
            reader(json.dumps(without).encode())
    with pytest.raises(ApiError):
        reader(json.dumps({**body, "surplus": 1}).encode())


@pytest.mark.parametrize(("reader", "schema", "body"), CASES.values(), ids=CASES.keys())
def test_a_pattern_lets_through_what_the_reader_does(reader, schema, body) -> None:
    for name, rule in schema["properties"].items():
        if "pattern" in rule:
            for text in (body[name], str(body[name]).upper() + "G", "", str(body[name]) + "\n", "x" * 36):
                fits = re.search(rule["pattern"].replace("$", r"\Z"), text) is not None
                try:
                    reader(json.dumps({**body, name: text}).encode())
                except ApiError:
                    assert not fits, (name, text)
                else:
                    assert fits, (name, text)


async def test_real_answers_have_statuses_that_the_document_names() -> None:
    async with running() as host, client(host) as http:
        for rule, methods in DOCUMENT["paths"].items():
            for method, operation in methods.items():
                if rule.startswith("/app"):
                    continue
                for body in (b"", b"{}", b"[", b"x" * 70_000):
                    for authorization in (http.headers["authorization"], "Bearer x"):
                        headers = {"authorization": authorization}
                        path = rule.replace("{petId}", PET)
                        answer = await http.request(method, path, content=body, headers=headers)
                        assert str(answer.status_code) in operation["responses"], (method, rule, answer.status_code)
                        if answer.status_code >= 400:
                            assert answer.headers["content-type"] == "application/problem+json"


COMMANDS_TRIED = (
    {"kind": "say", "text": "hello"}, {"kind": "say", "text": ""}, {"kind": "say"}, {"kind": "say", "text": 7},
    {"kind": "say", "text": "a", "tone": "x"}, {"kind": "sing"}, {}, {"kind": None},
    *({"kind": "care", "action": action} for action in (*LISTS["care"], "hug", "")),
    *({"kind": "care", "action": action, "item": "plum"} for action in LISTS["care"]),
    {"kind": "care", "action": "feed", "item": "ball"}, {"kind": "care"},
    *({"kind": "offer", "offer": offer} for offer in (*LISTS["offers"], "nothing")),
    *(
        {"kind": "offer", "offer": offer, "item": item}
        for offer in LISTS["offers"]
        for item in (*LISTS["foods"], *LISTS["toys"], *LISTS["gifts"], "moon")
    ),
    {"kind": "game", "gameId": "g", "score": 0}, {"kind": "game", "gameId": "g", "score": 999},
    {"kind": "game", "gameId": "g", "score": 1000}, {"kind": "game", "gameId": "g", "score": -1},
    {"kind": "game", "gameId": "", "score": 1}, {"kind": "game", "gameId": "g" * 41, "score": 1},
    {"kind": "game", "gameId": "g", "score": "1"}, {"kind": "game", "score": 1}, {"kind": "game", "gameId": "g"},
    {"kind": "settings"}, {"kind": "settings", "name": "Pip"}, {"kind": "settings", "name": ""},
    *({"kind": "settings", "chatter": chatter} for chatter in (0, 1, 2, 3, 4, 5, -1, "1")),
    {"kind": "settings", "timeZone": "Asia/Kolkata", "chatter": 1, "name": "Pip"}, {"kind": "settings", "mood": 1},
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS_TRIED, ids=json.dumps)
def test_the_document_allows_the_commands_that_the_engine_takes(command) -> None:
    try:
        parse_command(command)
    except CommandRefused:
        taken = False
    else:
        taken = True
    assert taken == Draft202012Validator(COMMANDS).is_valid(command)
