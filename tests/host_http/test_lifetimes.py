"""How long things live: idle connections, long-polls, answers nobody reads, and the server itself when told to stop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from host_http_support import (
    FACTS,
    KEY,
    ORIGIN,
    PET,
    Running,
    ScriptedPets,
    client,
    command_body,
    compact,
    problem_of,
    read_answer,
    read_to_end,
    request_bytes,
    running,
    until,
)
from trio.testing import wait_all_tasks_blocked

from tokenling.host.connection import ConnectionLimits
from tokenling.host.errors import ListenError
from tokenling.host.http_app import create_app
from tokenling.host.server import hypercorn_config, open_listener, serve_http
from tokenling.host.shell import Doors
from tokenling.host.waits import Waits

WAITING = request_bytes("GET", f"/api/pets/{PET}?wait=50", b"", 'If-None-Match: "one"', f"Origin: {ORIGIN}")
SHUTDOWN_S = 2.0


@asynccontextmanager
async def parked(host: Running, count: int = 1) -> AsyncIterator[list[trio.SocketStream]]:
    """Clients whose long-polls have reached the dispatch."""
    streams = [await host.connect() for _ in range(count)]
    try:
        for stream in streams:
            await stream.send_all(WAITING)
        await until(lambda: host.pets.waiting == count)
        yield streams
    finally:
        for stream in streams:
            stream.socket.close()


async def stop(host: Running) -> float:
    """Stops the host; how long that took."""
    started = trio.current_time()
    host.stop.set()
    with trio.fail_after(10):
        await host.stopped.wait()
    return trio.current_time() - started


async def test_an_idle_connection_is_closed_after_the_keep_alive_time() -> None:
    """The leak of Quart-Trio on Hypercorn: the timer was not started again after an answer."""
    async with running(keep_alive_s=1) as host, await host.connect() as stream:
        for path in ("/api/health", "/nowhere", f"/api/pets/{PET}"):
            await stream.send_all(request_bytes("GET", path))
            await read_answer(stream)
        started = trio.current_time()
        with trio.fail_after(20):
            assert await stream.receive_some() == b""
        assert trio.current_time() - started > 0.5


async def test_a_connection_that_never_asks_is_closed_after_the_keep_alive_time() -> None:
    async with running(keep_alive_s=0.2) as host, await host.connect() as stream:
        await stream.send_all(b"GET /api/health HT")
        with trio.fail_after(5):
            assert await stream.receive_some() == b""


async def test_a_request_in_time_starts_the_keep_alive_time_again() -> None:
    async with running(keep_alive_s=2) as host, await host.connect() as stream:
        for _ in range(4):
            await trio.sleep(0.6)
            await stream.send_all(request_bytes("GET", "/api/health"))
            assert (await read_answer(stream))[0] == 200


async def test_the_server_stops_at_once_with_idle_clients_connected() -> None:
    async with running() as host, await host.connect() as fresh, await host.connect() as used:
        partial = await host.connect()
        await used.send_all(request_bytes("GET", "/api/health"))
        await read_answer(used)
        await partial.send_all(b"POST /api/pets HT")
        await wait_all_tasks_blocked(0.05)
        assert await stop(host) < SHUTDOWN_S
        assert [await read_to_end(stream) for stream in (fresh, used, partial)] == [b"", b"", b""]
        await partial.aclose()


async def test_the_server_stops_in_time_with_an_upload_under_way() -> None:
    async with running() as host, await host.connect() as stream:
        await stream.send_all(request_bytes("POST", "/api/pets", b"x" * 1000)[:-500])
        await wait_all_tasks_blocked(0.05)
        assert await stop(host) < SHUTDOWN_S
    assert host.pets.calls == []


async def test_the_server_stops_in_time_with_a_client_that_never_reads_its_answer() -> None:
    """Hypercorn's own send is shielded without a deadline: this client outlived the server."""
    pets = ScriptedPets(view_bytes=b" " * 30_000_000)
    async with running(pets) as host, await host.connect() as stream:
        await stream.send_all(request_bytes("GET", f"/api/pets/{PET}"))
        await stream.receive_some(1)
        await trio.sleep(0.1)
        assert await stop(host) < SHUTDOWN_S


async def test_a_cancelled_server_ends_at_once_although_a_send_is_stuck_under_its_shield() -> None:
    """A loop that was blocked finds stop and the forced end due together: no grace is left, and none may be needed."""
    pets = ScriptedPets(view_bytes=b" " * 30_000_000)
    app = create_app(pets, facts=FACTS, allowed_origins=[])
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(partial(serve_http, app, hypercorn_config("127.0.0.1:0"), stop=stop))
        stream = await trio.open_tcp_stream("127.0.0.1", int(url.rpartition(":")[2]))
        await stream.send_all(request_bytes("GET", f"/api/pets/{PET}"))
        await stream.receive_some(1)
        await wait_all_tasks_blocked(0.05)
        began = trio.current_time()
        stop.set()
        nursery.cancel_scope.cancel()
    stream.socket.close()  # the client held on until the server was gone
    assert trio.current_time() - began < SHUTDOWN_S / 2


async def test_a_client_that_never_reads_is_given_up_while_the_server_runs() -> None:
    pets = ScriptedPets(view_bytes=b" " * 30_000_000)
    doors = Doors()
    limits = ConnectionLimits(send_s=0.2)
    async with running(pets, transport=limits, doors=doors) as host, await host.connect() as stream:
        await stream.send_all(request_bytes("GET", f"/api/pets/{PET}"))
        await until(lambda: bool(pets.calls) and doors.connections == 0)
        with pytest.raises((trio.BrokenResourceError, AssertionError)):
            await read_answer(stream)


async def test_a_large_answer_reaches_a_client_that_reads_whole() -> None:
    pets = ScriptedPets(view_bytes=b'"' + b"x" * 3_000_001 + b'"')
    async with running(pets) as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}")
    assert response.content == pets.view_bytes


async def test_after_stopping_nothing_listens_and_a_stopped_server_can_be_started_again_on_its_port() -> None:
    async with running() as host:
        await stop(host)
        with pytest.raises(OSError, match="all attempts"):
            await host.connect()
        await open_listener(f"127.0.0.1:{host.port}", 1).aclose()


async def test_a_long_poll_is_answered_as_soon_as_the_tag_moves() -> None:
    async with running() as host, parked(host, 3) as streams:
        host.pets.move('"two"')
        with trio.fail_after(2):
            answers = [await read_answer(stream) for stream in streams]
    assert answers == [(200, host.pets.view_bytes)] * 3


async def test_a_long_poll_ends_with_304_when_nothing_moves() -> None:
    async with running() as host, client(host) as http:
        started = trio.current_time()
        response = await http.get(f"/api/pets/{PET}?wait=1", headers={"if-none-match": '"one"'})
    assert (response.status_code, response.headers["etag"]) == (304, '"one"')
    assert trio.current_time() - started >= 1


@pytest.mark.parametrize("headers", [{}, {"if-none-match": '"old"'}])
async def test_a_long_poll_has_nothing_to_wait_for_when_the_tag_is_another(headers: dict[str, str]) -> None:
    async with running() as host, client(host) as http:
        with trio.fail_after(5):
            response = await http.get(f"/api/pets/{PET}?wait=50", headers=headers)
    assert response.status_code == 200


async def test_parked_long_polls_are_answered_at_once_when_the_server_stops() -> None:
    async with running() as host, parked(host, 16) as streams:
        assert await stop(host) < SHUTDOWN_S
        answers = [await read_to_end(stream) for stream in streams]
    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 304 ")
        assert b"access-control-allow-origin: " + ORIGIN.encode() in answer
    assert host.pets.waiting == 0


async def test_a_client_that_leaves_ends_its_wait_and_nothing_else() -> None:
    async with running() as host:
        async with parked(host, 2):
            assert host.pets.waiting == 2
        await until(lambda: host.waits.parked == 0)
        assert (host.pets.waiting, host.pets.cancelled_waits) == (0, 2)
        async with client(host) as http:
            assert (await http.get(f"/api/pets/{PET}")).status_code == 200


async def test_more_waits_than_the_bound_are_429_with_retry_after() -> None:
    async with running(waits=Waits(waits_per_pet_max=2)) as host, parked(host, 2), client(host) as http:
        response = await http.get(f"/api/pets/{PET}?wait=50", headers={"if-none-match": '"one"'})
        unparked = await http.get(f"/api/pets/{PET}", headers={"if-none-match": '"one"'})
    assert problem_of(response)["code"] == "too_many_waits"
    assert (response.status_code, response.headers["retry-after"]) == (429, "5")
    assert unparked.status_code == 304


class SlowPets(ScriptedPets):
    """A command that commits under a shield, as dispatch does."""

    committed = False

    async def command(self, pet_id: str, key_hash: bytes, envelope: object) -> bytes:
        with trio.CancelScope(shield=True):
            await self.moved.wait()
        self.committed = True
        return b"{}"


async def test_a_commit_under_way_is_finished_although_its_client_has_left() -> None:
    pets = SlowPets()
    async with running(pets) as host:
        stream = await host.connect()
        await stream.send_all(request_bytes("POST", f"/api/pets/{PET}/commands", compact(command_body())))
        await wait_all_tasks_blocked(0.05)
        await trio.aclose_forcefully(stream)
        await wait_all_tasks_blocked(0.05)
        pets.move('"two"')
        await stop(host)
    assert pets.committed


async def test_a_commit_under_way_is_waited_for_when_the_server_stops() -> None:
    pets = SlowPets()
    async with running(pets) as host, await host.connect() as stream:
        await stream.send_all(request_bytes("POST", f"/api/pets/{PET}/commands", compact(command_body())))
        await wait_all_tasks_blocked(0.05)
        host.stop.set()
        await trio.sleep(1.2)
        assert not host.stopped.is_set()
        pets.move('"two"')
        with trio.fail_after(10):
            await host.stopped.wait()
    assert pets.committed


async def test_health_says_draining_while_the_last_requests_are_answered() -> None:
    pets = SlowPets()
    both = request_bytes("POST", f"/api/pets/{PET}/commands", compact(command_body()))
    async with running(pets) as host, await host.connect() as stream:
        await stream.send_all(both)
        await wait_all_tasks_blocked(0.05)
        host.waits.end()
        async with client(host) as http:
            health = await http.get("/api/health")
        pets.move('"two"')
        await read_answer(stream)
    assert (health.status_code, health.json()["reasons"]) == (503, ["draining"])


async def test_an_address_in_use_is_named_with_the_reason() -> None:
    async with running() as host:
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{host.port}: Address already in use"):
            open_listener(f"127.0.0.1:{host.port}", 1)


async def test_ipv6_loopback_can_be_listened_on() -> None:
    listener = open_listener("[::1]:0", 1)
    assert listener.socket.getsockname()[0] == "::1"
    await listener.aclose()


def test_the_settings_of_hypercorn_are_the_measured_ones() -> None:
    config = hypercorn_config("127.0.0.1:0")
    assert (config.keep_alive_timeout, config.backlog, config.h11_max_incomplete_size) == (75, 1024, 16_384)
    assert (config.include_server_header, config.read_timeout) == (False, None)
    assert KEY not in repr(vars(config))
