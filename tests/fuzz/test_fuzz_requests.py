"""Requests from strangers and from broken clients: never a 5xx, never a change, always the API's own words.

`python tests/fuzz/fuzz_campaign.py --state FILE` sends more of them, by hand.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crash_home import ROOT, Zygote
from fuzz_target import Target, bodies_of, check_reply, head_of, other_key, path_of, target
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

REQUESTS = 1500
"""Half of the 3,000 of a default run; the others are drawn in `test_fuzz_document.py`."""
ROUTES = ("prepare", "command", "remote", "local", "key", "newborn")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["", "\x00", "\u202e", "[eat]", "00000000-0000-4000-8000-000000000000", "x" * 5000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
strange_bytes = st.binary(max_size=200) | st.sampled_from(
    [
        b"", b"null", b"[]", b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":1e999}', b'"\\ud800"', b"\xff\xfe{}",
        b"[" * 5000, b'{"a":' * 5000, b"1" * 5000, b'{"id":"\xc3\x28"}', b"\xef\xbb\xbf{}", b'{"a":9007199254740993}',
    ]
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, whole: dict[str, Any]) -> bytes:
    """A body with one thing wrong, somewhere in it; as JSON, or cut, or with bytes changed."""
    value = json.loads(json.dumps(whole))
    holder = value
    while draw(st.booleans()):
        deeper = [member for member in holder.values() if isinstance(member, dict) and member]
        if not deeper:
            break
        holder = draw(st.sampled_from(deeper))
    name = draw(st.sampled_from(sorted(holder)))
    match draw(st.integers(0, 3)):
        case 0:
            del holder[name]
        case 1:
            holder[name] = draw(json_values)
        case 2:
            holder[draw(st.text(max_size=8))] = draw(json_values)
    body = json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(body)))
        body = body[:at] + draw(st.binary(max_size=4)) + body[at + draw(st.integers(0, 4)) :]
    return body


@st.composite
def requests(draw: st.DrawFn, host: Target) -> tuple[str, bytes, bytes]:
    """Method, head and body. A whole request would be refused for its epoch; most are not whole."""
    owner = host.owners[draw(st.sampled_from(sorted(host.owners)))]
    route = draw(st.sampled_from(ROUTES))
    whole = bodies_of(owner)[route]
    if route == "prepare":
        owner_save = {"bodyClockMs": 1, "name": "x"}
        whole = {**whole, "save": draw(st.sampled_from([owner.save, owner_save]))}
    body = draw(strange_bytes) if draw(st.integers(0, 3)) == 0 else draw(damaged(whole))
    path = path_of(owner, route)
    method = draw(st.sampled_from(["POST"] * 14 + ["PUT", "PATCH", "GET", "HEAD", "OPTIONS", "TRACE", "post"]))
    if draw(st.integers(0, 9)) == 0:
        path = draw(strange_path(path))
    strange_keys = [other_key(), None, "", "x" * 43, owner.key + "=", "ä"]
    key = draw(st.sampled_from([*[owner.key] * 14, *strange_keys]))
    more = draw(st.lists(st.sampled_from(STRANGE_HEADERS), max_size=2))
    return method, head_of(method, path, len(body), key=key, more=tuple(more)), body


STRANGE_HEADERS = (
    "If-None-Match: *", 'If-None-Match: W/"x", "y"', "Origin: null", "Origin: https://evil.example", "Expect: nonsense",
    "Authorization: Basic eDp5", "Accept-Encoding: br", "Content-Type: multipart/form-data", "X: " + "y" * 8000,
    "Range: bytes=0-", "Upgrade: websocket", "Cookie: a=b", "X-Forwarded-For: 1.2.3.4, ::1", "Content-Encoding: gzip",
)  # fmt: skip


@st.composite
def strange_path(draw: st.DrawFn, path: str) -> str:
    end = draw(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12))
    changed = (path + "/", "/" + path, path[:-1], path.upper(), path + "%00", path.replace("/", "%2f"))
    asked = (path + "?wait=" + end, path + "?" + end, path + "#" + end)
    others = ("/api/../" + end, "/app/" + end, "/brain/" + end, "*", "/" + end)
    return draw(st.sampled_from(changed + asked + others))


def test_every_route_of_the_api_that_takes_a_body_is_fuzzed(host: Target) -> None:
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    documented = {path for path, methods in document["paths"].items() if "post" in methods}
    owner = host.owners["active"]
    assert documented == {path_of(owner, route).replace(owner.pet_id, "{petId}") for route in ROUTES}


def send_strange(host: Target, examples: int, number: int) -> Counter[int]:
    """So many drawn requests, those of `number`; how often each status was answered. Nothing may have changed."""
    before = host.picture()
    statuses: Counter[int] = Counter()

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(requests(host))
    def strange(request: tuple[str, bytes, bytes]) -> None:
        method, head, body = request
        reply = host.send(head, body)
        statuses[reply.status] += 1
        check_reply(reply, head_only=method == "HEAD")
        assert reply.status != 201, "nobody moved in"

    strange()
    assert host.picture() == before
    return statuses


def test_strange_requests_get_no_5xx_and_change_nothing(host: Target) -> None:
    statuses = send_strange(host, REQUESTS, 0)
    assert {400, 401, 404, 405, 409, 422} <= set(statuses), "the requests reach every layer"


def whole(host: Target, route: str, **changes: object) -> bytes:
    return json.dumps({**bodies_of(host.owners["active"])[route], **changes}).encode()


HAND_MADE: dict[str, tuple[str, str, int]] = {
    "a save that is a number": ("remote", '{"save": 7}', 422),
    "a save that is too deep": ("remote", '{"save": ' + '{"a":' * 70 + "1" + "}" * 70 + "}", 400),
    "an epoch of zero": ("command", '{"epoch": 0}', 422),
    "an epoch that is a float": ("command", '{"epoch": 1.0}', 422),
    "an epoch that is true": ("command", '{"epoch": true}', 422),
    "an epoch of 2^53": ("command", '{"epoch": 9007199254740992}', 400),
    "an operation id in capitals": ("command", '{"operationId": "AAAAAAAA-0000-4000-8000-000000000000"}', 422),
    "a command that is a list": ("command", '{"command": []}', 422),
    "a command of no kind": ("command", '{"command": {"kind": "sing"}}', 422),
    "a say of nothing": ("command", '{"command": {"kind": "say", "text": "   "}}', 422),
    "a say of 401 code points": ("command", json.dumps({"command": {"kind": "say", "text": "a" * 401}}), 422),
    "a say with an unknown field": ("command", '{"command": {"kind": "say", "text": "a", "tone": "x"}}', 422),
    "a transfer to nowhere": ("local", '{"to": "moon"}', 422),
    "a park with a save": ("local", '{"save": {}}', 422),
    "a takeover that is a word": ("remote", '{"takeover": "yes"}', 422),
    "a key hash in capitals": ("key", json.dumps({"newKeyHash": "A" * 64}), 422),
    "a pet id of version 1": ("prepare", '{"id": "00000000-0000-1000-8000-000000000000"}', 422),
    "a pet id with a line break": ("prepare", '{"id": "00000000-0000-4000-8000-00000000000\\n"}', 422),
    "a host that is full": ("prepare", '{"id": "00000000-0000-4000-8000-000000000000"}', 409),
    "a stale epoch": ("command", "{}", 409),
    "a newborn without a zone": ("newborn", '{"timeZone": "Mars/Olympus"}', 422),
    "a newborn whose name is a tag": ("newborn", '{"name": 5}', 422),
}


@pytest.mark.parametrize("name", HAND_MADE)
def test_a_hand_made_request_gets_its_own_refusal_and_changes_nothing(name: str, host: Target) -> None:
    route, changes, status = HAND_MADE[name]
    owner = host.owners["active"]
    before = host.picture()
    text = whole(host, route)[:-1].decode()
    body = json.dumps({**json.loads(text + "}"), **loose(changes)}).encode()
    reply = host.send(head_of("POST", path_of(owner, route), len(body), key=owner.key), body)
    check_reply(reply)
    assert reply.status == status, reply.body
    assert host.picture() == before


def loose(text: str) -> dict[str, Any]:
    changes: dict[str, Any] = json.loads(text)
    return changes


CLOSE = b"Host: 127.0.0.1\r\nConnection: close\r\n"
PREPARE = b"POST /api/pets HTTP/1.1\r\n" + CLOSE
RAW: dict[str, tuple[bytes, set[int]]] = {
    "no request at all": (b"\x00\x01\x02\r\n\r\n", {400}),
    "another protocol": (b"GET / SPDY/9\r\n\r\n", {400}),
    "a head of 20 KiB": (b"GET / HTTP/1.1\r\n" + CLOSE + b"X: " + b"x" * 20_000 + b"\r\n\r\n", {431}),
    "two lengths": (PREPARE + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", {400}),
    "a length below zero": (PREPARE + b"Content-Length: -1\r\n\r\n", {400}),
    "length and chunks": (PREPARE + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400, 401}),
    "a bad chunk": (PREPARE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", {400, 401}),
    "a length beyond all": (PREPARE + b"Content-Length: 99999999999\r\n\r\n", {401, 413}),
    "no host": (b"GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n", {400}),
    "two hosts": (b"GET /api/health HTTP/1.1\r\nHost: evil\r\n" + CLOSE + b"\r\n", {400}),
    "a foreign host": (b"GET /api/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", {421}),
    "a path outside": (b"GET /app/../../etc/passwd HTTP/1.1\r\n" + CLOSE + b"\r\n", {404}),
    "an encoded path outside": (b"GET /app/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + CLOSE + b"\r\n", {404}),
    "a doubled slash": (b"GET //api/pets/x HTTP/1.1\r\n" + CLOSE + b"\r\n", {404}),
    "an encoded slash": (b"GET /%2fapi/pets/x HTTP/1.1\r\n" + CLOSE + b"\r\n", {404}),
    "a whole address": (b"GET http://evil.example/api/health HTTP/1.1\r\n" + CLOSE + b"\r\n", {400}),
    "an upgrade": (b"GET /api/health HTTP/1.1\r\n" + CLOSE + b"Upgrade: websocket\r\n\r\n", {400}),
    "a second HTTP": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    "a tunnel": (b"CONNECT evil.example:443 HTTP/1.1\r\n" + CLOSE + b"\r\n", {400}),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_bytes_get_an_answer_and_change_nothing(name: str, host: Target) -> None:
    data, statuses = RAW[name]
    before = host.picture()
    reply = host.send(data, b"")
    assert reply.status in statuses, (reply.status, reply.body[:300])
    assert host.picture() == before


def test_the_picture_shows_the_least_change_of_any_pet(tmp_path: Path) -> None:
    zygote = Zygote()
    try:
        with target(zygote, tmp_path) as changing:
            pictures = [changing.picture(), changing.picture()]
            owner = changing.owners["active"]
            owner.ask(changing.address, owner.wish("care"))
            pictures.append(changing.picture())
    finally:
        zygote.close()
    assert pictures[0] == pictures[1], "nothing changes by itself"
    assert pictures[1]["records"] != pictures[2]["records"]
    assert pictures[1]["active"] != pictures[2]["active"]
