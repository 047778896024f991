"""Envelopes over the wire: each wrong field is named, nothing reaches dispatch, and the connection stays usable."""

import pytest
from host_http_support import DEVICE, OPERATION, PET, client, command_body, problem_of, remote_body, running

from tokenling.host.exchange import WireLimits

UUID_UPPER = OPERATION.upper()
LOCAL = {"to": "local", "operationId": OPERATION, "epoch": 1, "deviceId": DEVICE}
KEY_CHANGE = {"epoch": 1, "operationId": OPERATION, "newKeyHash": "ab" * 32}
PREPARE = {"id": PET, "save": {}}

BAD_EPOCHS = [None, "1", 1.0, 1.5, True, 0, -1, [], {}]
BAD_UUIDS = [None, 7, "", UUID_UPPER, OPERATION[:-1], OPERATION + "0", OPERATION.replace("-", ""), f"{{{OPERATION}}}"]

WRONG: list[tuple[str, object, str]] = [
    *[("commands", command_body(epoch=bad), "epoch") for bad in BAD_EPOCHS],
    *[("commands", command_body(operationId=bad), "operationId") for bad in BAD_UUIDS],
    ("commands", command_body(extra=1), "extra"),
    ("commands", command_body(extraordinarily="x" * 100, **{"n" * 5000: 1}), "extraordinarily"),
    ("commands", {"epoch": 1, "command": {}}, "operationId"),
    ("commands", {"epoch": 1, "operationId": OPERATION}, "command"),
    ("commands", {}, "epoch"),
    ("commands", [], ""),
    ("commands", "text", ""),
    ("commands", 5, ""),
    ("transfer", {**LOCAL, "to": "moon"}, "to"),
    ("transfer", {**LOCAL, "to": None}, "to"),
    ("transfer", {"operationId": OPERATION}, "to"),
    ("transfer", {**LOCAL, "save": {}}, "save"),
    ("transfer", {**LOCAL, "takeover": True}, "takeover"),
    ("transfer", {**LOCAL, "deviceId": "here"}, "deviceId"),
    ("transfer", {**LOCAL, "to": "remote"}, "save"),
    ("transfer", remote_body(save="{}"), "save"),
    ("transfer", remote_body(save=None), "save"),
    ("transfer", remote_body(takeover=1), "takeover"),
    ("transfer", remote_body(takeover=None), "takeover"),
    ("transfer", [remote_body()], "to"),
    ("key", {**KEY_CHANGE, "newKeyHash": "AB" * 32}, "newKeyHash"),
    ("key", {**KEY_CHANGE, "newKeyHash": "ab" * 31}, "newKeyHash"),
    ("key", {**KEY_CHANGE, "newKeyHash": 5}, "newKeyHash"),
    ("key", {**KEY_CHANGE, "oldKey": "x"}, "oldKey"),
    ("", {**PREPARE, "id": PET.upper()}, "id"),
    ("", {**PREPARE, "id": OPERATION}, "id"),
    ("", {**PREPARE, "id": 4}, "id"),
    ("", {**PREPARE, "save": []}, "save"),
    ("", {**PREPARE, "enrolCode": 5}, "enrolCode"),
    ("", {**PREPARE, "enrolCode": None}, "enrolCode"),
    ("", {**PREPARE, "enrolCode": "x" * 257}, "enrolCode"),
    ("", {**PREPARE, "key": "x"}, "key"),
]


def path_of(route: str) -> str:
    return f"/api/pets/{PET}/{route}" if route else "/api/pets"


async def test_each_wrong_field_is_named_and_nothing_reaches_dispatch() -> None:
    async with running() as host, client(host) as http:
        for route, body, path in WRONG:
            response = await http.post(path_of(route), json=body)
            problem = problem_of(response)
            assert (response.status_code, problem["code"], problem["path"]) == (422, "invalid_envelope", path), body
        assert (await http.get("/api/health")).status_code == 200
    assert host.pets.calls == []


async def test_an_unknown_field_s_name_is_given_back_shortened() -> None:
    async with running() as host, client(host) as http:
        problem = problem_of(await http.post(path_of("commands"), json={"n" * 5000: 1}))
    assert problem["path"] == "n" * 64


@pytest.mark.parametrize("route", ["", "commands", "transfer", "key"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "syntax"),
        (b"{", "syntax"),
        (b'{"epoch": NaN}', "constant"),
        (b'{"epoch": 1, "epoch": 1}', "duplicate_key"),
        (b'{"epoch": 9007199254740992}', "integer"),
        (b'{"command": "\\ud800"}', "surrogate"),
        (b'{"command": "\xff"}', "encoding"),
        (b'{"command": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "depth"),
    ],
)
async def test_a_body_that_is_not_strict_json_is_400(route: str, body: bytes, reason: str) -> None:
    async with running(limits=WireLimits()) as host, client(host) as http:
        response = await http.post(path_of(route), content=body)
        again = await http.get("/api/health")
    if len(body) > 65_536 and route in ("commands", "key"):
        assert problem_of(response)["code"] == "body_too_large"
    else:
        problem = problem_of(response)
        assert (response.status_code, problem["code"], problem["reason"]) == (400, "invalid_json", reason)
    assert again.status_code == 200
    assert host.pets.calls == []


async def test_a_large_save_is_parsed_and_handed_on_whole() -> None:
    save = {"chat": ["é" * 100] * 4000}
    async with running() as host, client(host) as http:
        response = await http.post("/api/pets", json={"id": PET, "save": save})
    assert response.status_code == 201
    assert len(host.pets.calls[0][1]) > 800_000  # type: ignore[arg-type]


async def test_a_body_is_json_whatever_its_content_type_says() -> None:
    async with running() as host, client(host) as http:
        response = await http.post(
            path_of("commands"), json=command_body(), headers={"content-type": "application/x-www-form-urlencoded"}
        )
    assert response.status_code == 200
