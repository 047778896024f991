"""Raw sockets: what broken, slow and hostile clients do, what they are told, and that the server lives on."""

import socket
import struct

import h11
import pytest
import structlog
import trio
from host_http_support import (
    KEY,
    PET,
    Running,
    client,
    command_body,
    compact,
    header_of,
    read_answer,
    read_to_end,
    remote_body,
    request_bytes,
    running,
)

from tokenling.host.connection import ConnectionLimits
from tokenling.host.exchange import WireLimits
from tokenling.host.shell import UPLOADS_MAX

COMMANDS = f"/api/pets/{PET}/commands"
HASTY = WireLimits(body_stall_s=0.2, body_s=0.5, drain_s=0.2)
SHORT = ConnectionLimits(linger_s=0.2)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def code_of(answer: bytes) -> bytes:
    assert header_of(answer.partition(b"\r\n\r\n")[0], b"content-type") == b"application/problem+json"
    return answer.partition(b'"code":"')[2].partition(b'"')[0]


async def is_alive(host: Running) -> bool:
    async with client(host) as http:
        return (await http.get("/api/health")).status_code == 200


NOT_HTTP: dict[str, tuple[bytes, int, bytes]] = {
    "not HTTP at all": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, b"bad_request"),
    "no Host": (b"GET /api/health HTTP/1.1\r\n\r\n", 400, b"bad_request"),
    "two Hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, b"bad_request"),
    "two lengths": (
        b"POST /api/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, b"bad_request",
    ),
    "negative length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400, b"bad_request"),
    "length no number": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n", 400, b"bad_request"),
    "length of a thousand digits": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 1000 + b"\r\n\r\n", 400, b"bad_request",
    ),
    "a length of 2^62 and more": (
        b"POST /api/pets HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer " + KEY.encode()
        + b"\r\nContent-Length: 4611686018427387905\r\n\r\n{", 413, b"body_too_large",
    ),
    "a length and chunks": (
        b"POST /api/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400, b"bad_request",
    ),
    "chunks and a length": (
        b"POST /api/pets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        400, b"bad_request",
    ),
    "a head of nothing but spaces": (
        b"GET / HTTP/1.1\r\nHost: a\r\nX:" + b" " * 20_000 + b"y\r\n\r\n", 431, b"head_too_large",
    ),
    "many tiny headers in one piece": (
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X:\r\n" * 5_000 + b"\r\n", 431, b"head_too_large",
    ),
    "a doubled slash alone": (b"GET // HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404, b"unknown_route"),
    "unknown transfer coding": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400, b"bad_request"),
    "a space in a header's name": (b"GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n", 400, b"bad_request"),
    "a folded header": (b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, b"bad_request"),
    "a NUL in a header": (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400, b"bad_request"),
    "a large header that comes in one piece": (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + b"x" * 16_400 + b"\r\n\r\n", 431, b"head_too_large",
    ),
    "a doubled slash in front": (
        b"GET //api/pets HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404, b"unknown_route",
    ),
    "a huge header": (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", 431, b"head_too_large"),
    "many headers": (
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(9000)), 431, b"head_too_large",
    ),
    "a huge path": (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431, b"head_too_large"),
    "a full address as target": (
        b"GET http://a/api/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400, b"bad_request",
    ),
    "a star as target": (b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400, b"bad_request"),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400, b"bad_request"),
    "HTTP/2 at once": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, b"bad_request"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "status", "code"), NOT_HTTP.values(), ids=NOT_HTTP.keys())
async def test_what_is_not_our_http_gets_a_readable_problem_and_is_closed(
    data: bytes, status: int, code: bytes
) -> None:
    async with running(transport=SHORT) as host:
        answer = await host.raw(data)
        assert (status_of(answer), code_of(answer)) == (status, code)
        assert await is_alive(host)
    assert host.pets.calls == []


WEBSOCKETS = {
    "as a browser asks": b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
    "without a key": b"Sec-WebSocket-Version: 13\r\n",
    "of an old version": b"Sec-WebSocket-Version: 7\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
    "with nothing but the word": b"",
}


@pytest.mark.parametrize("path", ["/", "/api/health", f"/api/pets/{PET}", "/nowhere"])
@pytest.mark.parametrize("rest", WEBSOCKETS.values(), ids=WEBSOCKETS.keys())
async def test_whoever_asks_for_a_websocket_gets_a_problem(rest: bytes, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n".encode()
    async with running(transport=SHORT) as host, await host.connect() as stream:
        await stream.send_all(head + rest + b"\r\n")
        status, body = await read_answer(stream)
        assert await is_alive(host)
    assert (status, b"There are no websockets here" in body) == (400, True)


async def test_an_upgrade_to_http2_is_ignored() -> None:
    upgrade = b"GET /api/health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\n"
    async with running(transport=SHORT) as host:
        http2 = await host.raw(upgrade + b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
        assert await is_alive(host)
    assert status_of(http2) == 200


async def test_http_1_0_is_answered_and_closed() -> None:
    async with running() as host:
        answer = await host.raw(b"GET /api/health HTTP/1.0\r\n\r\n")
    assert status_of(answer) == 200
    assert answer.endswith(b"}")


async def test_pipelined_requests_are_answered_in_order() -> None:
    requests = [
        request_bytes("GET", "/api/health"),
        request_bytes("POST", COMMANDS, compact(command_body())),
        request_bytes("GET", "/nowhere"),
        request_bytes("GET", f"/api/pets/{PET}", b"", "Connection: close"),
    ]
    async with running() as host:
        answer = await host.raw(b"".join(requests))
    statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 200, 404, 200]


async def test_a_chunked_body_without_a_length_is_read_within_its_bound() -> None:
    body = compact(command_body())
    head = f"POST {COMMANDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    too_much = (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 4
    async with running(transport=SHORT) as host, await host.connect() as stream:
        await stream.send_all(head.encode() + pieces)
        assert (await read_answer(stream))[0] == 200
        await stream.send_all(head.encode() + too_much + b"0\r\n\r\n")
        status, problem = await read_answer(stream)
        assert (status, b'"body_too_large"' in problem) == (413, True)
        await stream.send_all(request_bytes("GET", "/api/health"))
        assert (await read_answer(stream))[0] == 200
    assert len(host.pets.calls) == 1


async def test_a_broken_chunk_ends_the_connection_with_nothing_done() -> None:
    head = f"POST {COMMANDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with running(transport=SHORT) as host:
        answer = await host.raw(head.encode() + b"zz\r\n{}\r\n0\r\n\r\n")
        assert (status_of(answer), code_of(answer)) == (400, b"bad_request")
        assert await is_alive(host)
    assert host.pets.calls == []


async def test_expect_100_continue_is_continued_and_then_answered() -> None:
    body = compact(command_body())
    async with running() as host, await host.connect() as stream:
        whole = request_bytes("POST", COMMANDS, body, "Expect: 100-continue")
        await stream.send_all(whole[: -len(body)])
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 100 ")
        await stream.send_all(body)
        assert (await read_answer(stream))[0] == 200


@pytest.mark.parametrize("sent", [b"", b'{"epoch"'], ids=["nothing", "a part"])
async def test_a_stalled_body_is_408_and_the_connection_is_closed(sent: bytes) -> None:
    async with running(limits=HASTY, transport=SHORT) as host:
        whole = request_bytes("POST", COMMANDS, compact(command_body()))
        head = whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        answer = await host.raw(head + sent)
        assert (status_of(answer), code_of(answer)) == (408, b"body_timeout")
        assert header_of(answer.partition(b"\r\n\r\n")[0], b"connection") == b"close"
    assert host.pets.calls == []


async def test_a_body_that_trickles_for_ever_is_408_too() -> None:
    async with running(limits=HASTY, transport=SHORT) as host, await host.connect() as stream:

        async def trickle() -> None:
            await stream.send_all(request_bytes("POST", COMMANDS, b" " * 9000)[:-9000])
            while True:
                await trio.sleep(0.05)
                await stream.send_all(b" ")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trickle)
            status, _ = await read_answer(stream)
            nursery.cancel_scope.cancel()
    assert status == 408


@pytest.mark.parametrize(
    ("request_head", "status", "code"),
    [
        (request_bytes("POST", "/api/pets", key=None), 401, b"unauthorized"),
        (request_bytes("POST", "/api/pets"), 413, b"body_too_large"),
        (request_bytes("POST", COMMANDS), 413, b"body_too_large"),
    ],
    ids=["no key", "save too large", "command too large"],
)
async def test_an_early_refusal_is_readable_while_the_client_still_uploads(
    request_head: bytes, status: int, code: bytes
) -> None:
    """Ten clients in a row, since a reset is a race: each uploads 3 MiB before it reads a byte."""
    size = 3 * 1024 * 1024
    head = request_head.replace(b"Content-Length: 0", b"Content-Length: %d" % size)
    async with running() as host:
        for _ in range(10):
            async with await host.connect() as stream:
                await stream.send_all(head)
                await stream.send_all(b" " * size)
                answer = await read_to_end(stream)
            assert (status_of(answer), code_of(answer)) == (status, code)
    assert host.pets.calls == []


async def test_a_small_refused_body_leaves_the_connection_usable() -> None:
    async with running() as host, await host.connect() as stream:
        await stream.send_all(request_bytes("POST", COMMANDS, b"{}" * 100, key=None))
        assert (await read_answer(stream))[0] == 401
        await stream.send_all(request_bytes("POST", COMMANDS, compact(command_body())))
        assert (await read_answer(stream))[0] == 200


async def test_the_bound_of_a_save_is_above_a_mebibyte_and_at_two() -> None:
    async with running() as host, client(host) as http:
        taken = await http.post(f"/api/pets/{PET}/transfer", json=remote_body(save={"x": "y" * 2_000_000}))
        refused = await http.post(f"/api/pets/{PET}/transfer", json=remote_body(save={"x": "y" * 2_100_000}))
    assert (taken.status_code, refused.status_code) == (200, 413)
    assert refused.json()["limitBytes"] == 2 * 1024 * 1024


async def test_uploads_beyond_the_bound_are_429_and_small_requests_go_on() -> None:
    head = request_bytes("POST", "/api/pets").replace(b"Content-Length: 0", b"Content-Length: 100000")
    async with running(limits=WireLimits(drain_s=0.2), transport=SHORT) as host:
        held = [await host.connect() for _ in range(UPLOADS_MAX)]
        for stream in held:
            await stream.send_all(head)
        await trio.testing.wait_all_tasks_blocked(0.05)
        refused = await host.raw(head)
        assert (status_of(refused), code_of(refused)) == (429, b"too_many_uploads")
        assert header_of(refused, b"retry-after") == b"5"
        async with client(host) as http:
            assert (await http.post("/api/pets", json={"id": PET, "save": {}})).status_code == 201
        await trio.aclose_forcefully(held.pop())
        await trio.testing.wait_all_tasks_blocked(0.05)
        async with client(host) as http:
            assert (await http.post("/api/pets", json={"id": PET, "save": {"x": "y" * 100_000}})).status_code == 201
        for stream in held:
            await trio.aclose_forcefully(stream)


async def test_a_half_closed_client_counts_as_gone_and_harms_nothing() -> None:
    async with running(transport=SHORT) as host:
        async with await host.connect() as stream:
            await stream.send_all(request_bytes("POST", COMMANDS, b"x" * 50)[:-20])
            await stream.send_eof()
            await read_to_end(stream)
        assert await is_alive(host)
    assert host.pets.calls == []


async def test_a_client_that_vanishes_in_each_part_of_a_request_harms_nothing() -> None:
    whole = request_bytes("POST", COMMANDS, compact(command_body()))
    async with running(transport=SHORT) as host:
        for cut in range(0, len(whole), 7):
            stream = await host.connect()
            await stream.send_all(whole[:cut])
            await trio.aclose_forcefully(stream)
        assert await is_alive(host)
    assert host.pets.calls == []


async def test_a_client_that_is_gone_before_its_connection_begins_is_no_fault() -> None:
    """Reset before the server has asked for its address: whoever does so could fill the log with errors."""
    with structlog.testing.capture_logs() as logs:
        async with running(transport=SHORT) as host:
            for _ in range(5):
                with socket.create_connection(("127.0.0.1", host.port)) as client:  # the server's loop stands meanwhile
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert await is_alive(host)
    assert [line["event"] for line in logs if line["log_level"] == "error"] == []


async def test_more_connections_than_the_bound_are_closed_unanswered() -> None:
    async with running(transport=ConnectionLimits(connections_max=2)) as host:
        held = [await host.connect() for _ in range(2)]
        await held[1].send_all(request_bytes("GET", "/api/health"))
        assert (await read_answer(held[1]))[0] == 200
        async with await host.connect() as third:
            with trio.fail_after(5):
                assert await third.receive_some() == b""
        for stream in held:
            await stream.aclose()
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert await is_alive(host)


async def test_no_answer_to_random_bytes_is_a_server_error() -> None:
    """A short fuzz of mutated requests, seeded: h11 or we refuse, or it is a good request; never 5xx."""
    import random

    seed = 20261130
    chance = random.Random(seed)  # noqa: S311  # not for secrets
    whole = request_bytes("POST", COMMANDS, compact(command_body()), "Connection: close")
    async with running(limits=HASTY, transport=SHORT) as host:
        for step in range(150):
            mutated = bytearray(whole)
            for _ in range(chance.randrange(1, 4)):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
            answer = await host.raw(bytes(mutated) + b"\r\n\r\n")
            assert answer == b"" or status_of(answer) < 500, f"seed {seed}, step {step}"
        assert await is_alive(host)


def test_hypercorn_is_the_release_whose_modules_we_lean_on() -> None:
    """`tokenling.host.connection` overrides these; another release may rename them without a word."""
    from hypercorn.protocol.h11 import H11Protocol

    assert {"_check_protocol", "_send_error_response", "_send_h11_event"} <= set(vars(H11Protocol))
    assert h11.Connection(h11.SERVER).our_state is h11.IDLE
