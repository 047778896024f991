"""Every route of design section 5, over a real socket, with its exact JSON."""

import hashlib
import json
import threading
from functools import partial

import pytest
import trio
from host_http_support import (
    BEARER,
    DEVICE,
    KEY,
    OPERATION,
    OTHER_KEY,
    OTHER_PET,
    PET,
    ScriptedPets,
    client,
    command_body,
    compact,
    problem_of,
    remote_body,
    running,
)
from trio.testing import wait_all_tasks_blocked

from tokenling.host import routes
from tokenling.host.envelope_fields import Preparation, read_preparation
from tokenling.host.envelopes import Envelope, KeyChange, TransferRequest
from tokenling.host.routes import PARSE_INLINE_BYTES_MAX, PARSERS


async def test_health_tells_protocol_versions_brain_and_workers_without_a_key() -> None:
    async with running() as host, client(host) as http:
        http.headers.pop("authorization")
        response = await http.get("/api/health")
    assert response.status_code == 200
    assert response.json() == {
        "protocol": 1,
        "version": "0.1.0",
        "engine": 1,
        "release": "sprout-0",
        "features": ["look"],
        "ready": True,
        "workers": [{"name": "cpu", "provider": "CPUExecutionProvider", "state": "ready"}],
        "pets": {"max": 64},
    }
    assert response.headers["cache-control"] == "no-store"
    assert "server" not in response.headers


async def test_health_is_503_with_its_reasons_while_not_ready() -> None:
    async with running(ScriptedPets(ready=False)) as host, client(host) as http:
        response = await http.get("/api/health")
    assert response.status_code == 503
    assert (response.json()["ready"], response.json()["reasons"]) == (False, ["store_failing"])


@pytest.mark.parametrize(("created", "status"), [(True, 201), (False, 200)])
async def test_prepare_answers_201_for_a_new_pet_and_200_for_a_retry(created: bool, status: int) -> None:
    async with running(ScriptedPets(created=created)) as host, client(host) as http:
        response = await http.post("/api/pets", json={"id": PET, "save": {"name": "Pip", "n": [1, 2]}})
    assert response.status_code == status
    assert response.json() == {"id": PET, "status": "prepared", "epoch": 1, "revision": 1}
    assert host.pets.calls == [("prepare", b'{"name":"Pip","n":[1,2]}')]


async def test_a_view_travels_as_the_bytes_that_dispatch_made_with_its_tag() -> None:
    pets = ScriptedPets(view_bytes=b'{"id": "x",  "save":{"a":1}}')
    async with running(pets) as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}")
    assert response.content == pets.view_bytes
    assert response.headers["etag"] == '"one"'
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("condition", ['"one"', 'W/"one"'])
async def test_a_matching_tag_is_304_with_the_tag_and_no_body(condition: str) -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}", headers={"if-none-match": condition})
    assert response.status_code == 304
    assert response.content == b""
    assert response.headers["etag"] == '"one"'
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("condition", ["*", '"one", "two"', "one", '"', '""', '"a"b"'])
async def test_a_condition_we_do_not_read_is_no_condition(condition: str) -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}", headers={"if-none-match": condition})
    assert response.status_code == 200


async def test_a_command_reaches_dispatch_checked_and_its_answer_is_passed_on() -> None:
    body = command_body()
    async with running() as host, client(host) as http:
        response = await http.post(f"/api/pets/{PET}/commands", json=body)
    assert response.json() == {"operationId": OPERATION, "epoch": 1, "revision": 2, "replayed": False}
    digest = hashlib.sha256(
        json.dumps({"route": "commands", **body}, sort_keys=True, separators=(",", ":")).encode()
    ).digest()
    assert host.pets.calls == [("command", Envelope(1, OPERATION, body["command"], digest))]  # type: ignore[arg-type]


async def test_equal_bodies_have_one_digest_whatever_their_order_and_spaces() -> None:
    shuffled = f'{{ "command": {{"text":"hello",\n"kind":"say"}}, "operationId":"{OPERATION}","epoch":1}}'
    async with running() as host, client(host) as http:
        await http.post(f"/api/pets/{PET}/commands", json=command_body())
        await http.post(f"/api/pets/{PET}/commands", content=shuffled)
        await http.post(f"/api/pets/{PET}/commands", json=command_body(epoch=2))
    first, second, third = [call[1].digest for call in host.pets.calls]  # type: ignore[attr-defined]
    assert first == second
    assert first != third


async def test_a_transfer_carries_the_save_as_bytes_and_brings_bytes_back() -> None:
    save = {"name": "Pip é", "deep": [{"x": 9007199254740991}]}
    async with running() as host, client(host) as http:
        response = await http.post(f"/api/pets/{PET}/transfer", json=remote_body(save=save, takeover=True))
    request = host.pets.calls[0][1]
    assert isinstance(request, TransferRequest)
    assert (request.to, request.device_id, request.takeover) == ("remote", DEVICE, True)
    assert request.save == compact(save)
    assert response.content == b'{"status":"active","save":' + compact(save) + b"}"


async def test_a_park_has_no_save() -> None:
    body = {"to": "local", "operationId": OPERATION, "epoch": 1, "deviceId": DEVICE}
    async with running() as host, client(host) as http:
        response = await http.post(f"/api/pets/{PET}/transfer", json=body)
    request = host.pets.calls[0][1]
    assert isinstance(request, TransferRequest)
    assert (response.status_code, request.to, request.save, request.takeover) == (200, "local", None, False)


async def test_a_key_change_hands_over_the_new_hash_as_bytes() -> None:
    body = {"epoch": 1, "operationId": OPERATION, "newKeyHash": "ab" * 32}
    async with running() as host, client(host) as http:
        response = await http.post(f"/api/pets/{PET}/key", json=body)
    change = host.pets.calls[0][1]
    assert isinstance(change, KeyChange)
    assert (response.status_code, change.new_key_hash) == (200, b"\xab" * 32)


async def test_delete_is_204_without_a_body() -> None:
    async with running() as host, client(host) as http:
        response = await http.delete(f"/api/pets/{PET}")
    assert (response.status_code, response.content) == (204, b"")
    assert "content-length" not in response.headers


async def test_receipts_are_passed_on() -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}/receipts")
    assert (response.status_code, response.json()) == (200, {"receipts": []})


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"id": PET, "save": {}}, 403, "enrol_required"),
        ({"id": PET, "save": {}, "enrolCode": "wrong"}, 403, "enrol_wrong"),
        ({"id": PET, "save": {}, "enrolCode": "gärtchen"}, 201, None),
    ],
)
async def test_a_host_with_an_enrol_code_takes_new_pets_with_it_only(
    body: dict[str, object], status: int, code: str | None
) -> None:
    async with running(enrol_code="gärtchen") as host, client(host) as http:
        response = await http.post("/api/pets", json=body)
    assert response.status_code == status
    assert (code is None) == bool(host.pets.calls)
    if code is not None:
        assert problem_of(response)["code"] == code


async def test_unknown_pet_wrong_key_and_impossible_id_are_one_answer() -> None:
    async with running() as host, client(host) as http:
        unknown = await http.get(f"/api/pets/{OTHER_PET}")
        wrong_key = await http.get(f"/api/pets/{PET}", headers={"authorization": f"Bearer {OTHER_KEY}"})
        no_id = await http.get(f"/api/pets/{PET.upper()}")
    assert problem_of(unknown)["code"] == "not_found"
    assert unknown.content == wrong_key.content == no_id.content
    assert unknown.status_code == wrong_key.status_code == no_id.status_code == 404


MALFORMED_KEYS = {
    "none": [],
    "empty": [("authorization", "")],
    "scheme only": [("authorization", "Bearer")],
    "another scheme": [("authorization", f"Basic {KEY}")],
    "two spaces": [("authorization", f"Bearer  {KEY}")],
    "short": [("authorization", f"Bearer {KEY[:-1]}")],
    "long": [("authorization", f"Bearer {KEY}A")],
    "padded": [("authorization", f"Bearer {KEY}=")],
    "plus and slash": [("authorization", "Bearer " + "+" * 42 + "A")],
    "not canonical": [("authorization", f"Bearer {KEY[:-1]}9")],
    "two keys": [("authorization", f"Bearer {KEY}"), ("authorization", f"Bearer {KEY}")],
    "two in one": [("authorization", f"Bearer {KEY}, Bearer {KEY}")],
}


@pytest.mark.parametrize("headers", MALFORMED_KEYS.values(), ids=MALFORMED_KEYS.keys())
async def test_a_missing_or_malformed_key_is_401_with_a_challenge(headers: list[tuple[str, str]]) -> None:
    async with running() as host, client(host) as http:
        http.headers.pop("authorization")
        answers = [
            await http.get(f"/api/pets/{PET}", headers=headers),
            await http.post("/api/pets", headers=headers, content=b"{"),
            await http.post(f"/api/pets/{PET}/commands", headers=headers, json=command_body()),
            await http.delete("/api/pets/not-an-id", headers=headers),
        ]
    for response in answers:
        assert response.status_code == 401
        assert problem_of(response)["code"] == "unauthorized"
        assert response.headers["www-authenticate"] == 'Bearer realm="tokenling"'
    assert host.pets.calls == []


async def test_the_scheme_of_a_key_has_no_case() -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}", headers={"authorization": f"bEARER {KEY}"})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "query",
    ["wait", "wait=", "wait=51", "wait=-1", "wait=1.5", "wait=+1", "wait=001", "wait=1&wait=1", "x=1", "wait=1&x", "&"],
)
async def test_a_query_is_one_wait_within_its_range_or_400(query: str) -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}?{query}")
    assert problem_of(response)["code"] == "invalid_query"
    assert response.status_code == 400
    assert host.pets.calls == []


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("foo=1", "foo"), ("wait=1&foo=2", "foo"), ("wait=1&wait=2", "wait"), ("wait=x", "wait"), ("&&x", "x"),
        ("=1&%66oo", "foo"), ("a+b=1", "a b"), ("x" * 400, "x" * 40), ("%ff=1", "\ufffd"), ("%00=1", "\0"),
    ],
)  # fmt: skip
async def test_the_refusal_of_a_query_names_the_parameter(query: str, named: str) -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}?{query}")
        without = await http.get(f"/api/pets/{PET}/receipts?{query}")
    assert named == problem_of(response)["parameter"]
    assert problem_of(without)["parameter"] == ("wait" if query.startswith("wait") else named)


@pytest.mark.parametrize("path", ["/api/health", f"/api/pets/{PET}/receipts"])
async def test_other_routes_take_no_query(path: str) -> None:
    async with running() as host, client(host) as http:
        response = await http.get(f"{path}?wait=1")
    assert (response.status_code, problem_of(response)["code"]) == (400, "invalid_query")


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/nowhere", 404, None),
        ("GET", "/api", 404, None),
        ("GET", "/api/pets/", 404, None),
        ("GET", "//api//health", 404, None),
        ("POST", f"/api/pets/{PET}/commands/", 404, None),
        ("GET", f"/api/pets/{PET}/nothing", 404, None),
        ("PUT", "/api/health", 405, "GET, HEAD, OPTIONS"),
        ("GET", "/api/pets", 405, "OPTIONS, POST"),
        ("PATCH", f"/api/pets/{PET}", 405, "DELETE, GET, HEAD, OPTIONS"),
        ("BREW", f"/api/pets/{PET}/key", 405, "OPTIONS, POST"),
        ("POST", "/", 405, "GET, HEAD, OPTIONS"),
    ],
)
async def test_unknown_routes_and_methods_are_problems_in_json(
    method: str, path: str, status: int, allow: str | None
) -> None:
    async with running() as host, client(host) as http:
        response = await http.request(method, f"{host.url}{path}")
        again = await http.get("/api/health")
    assert response.status_code == status
    assert problem_of(response)["code"] == ("unknown_route" if status == 404 else "method_not_allowed")
    assert response.headers.get("allow") == allow
    assert again.status_code == 200
    assert host.pets.calls == []


async def test_bearer_headers_do_not_reach_dispatch() -> None:
    assert BEARER["authorization"].endswith(KEY)
    async with running() as host, client(host) as http:
        await http.post("/api/pets", json={"id": PET, "save": {}})
    assert KEY not in repr(host.pets.calls)


async def test_an_owner_never_waits_behind_the_bodies_of_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies are parsed in threads, and those of keys that no pet is known by wait for a place of their own."""
    parsing, free = threading.Event(), threading.Event()

    def read_slowly(body: bytes) -> Preparation:
        parsing.set()
        assert free.wait(10)
        return read_preparation(body)

    monkeypatch.setattr(routes, "read_preparation", read_slowly)
    padding = b" " * PARSE_INLINE_BYTES_MAX
    async with running() as host, client(host) as http, trio.open_nursery() as nursery:
        assert (await http.get(f"/api/pets/{PET}")).status_code == 200  # the key is known from here on
        for _ in range(PARSERS + 1):
            strange = partial(http.post, content=padding + b"{}", headers={"authorization": f"Bearer {OTHER_KEY}"})
            nursery.start_soon(strange, "/api/pets")
        await trio.to_thread.run_sync(parsing.wait, 10)
        await wait_all_tasks_blocked(0.05)
        with trio.fail_after(5):
            response = await http.post(f"/api/pets/{PET}/commands", content=padding + compact(command_body()))
        free.set()
    assert response.status_code == 200
