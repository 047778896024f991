"""The exchange by itself, between a scripted server and no socket, for what a socket shows by luck only."""

import trio
from hypercorn.typing import ASGIReceiveEvent, ASGISendEvent, HTTPScope

from tokenling.host.answers import json_answer
from tokenling.host.exchange import CHUNKED_LENGTH, Exchange, WireLimits

QUEUE = 10
"""Hypercorn's own bound of events that wait for the application."""


def scope_with(*headers: tuple[bytes, bytes]) -> HTTPScope:
    return {
        "type": "http", "asgi": {}, "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/",
        "raw_path": b"/", "query_string": b"", "root_path": "", "headers": headers, "client": None, "server": None,
        "state": {}, "extensions": {},  # type: ignore[typeddict-item]
    }  # fmt: skip


async def test_a_refusal_goes_out_although_more_pieces_wait_than_the_server_s_queue_holds() -> None:
    """Hypercorn tells of the end of an answer through the same queue: nobody taking from it is a deadlock."""
    into, out_of = trio.open_memory_channel[ASGIReceiveEvent](QUEUE)
    sent: list[ASGISendEvent] = []

    arrived: list[int] = []

    async def upload() -> None:
        while True:
            arrived.append(1)
            await into.send({"type": "http.request", "body": b"x", "more_body": True})

    async def send(event: ASGISendEvent) -> None:
        if event["type"] == "http.response.body":
            enough = len(arrived) + 3 * QUEUE
            while len(arrived) < enough:  # a slow end of the answer: the queue would be full by then
                await trio.lowlevel.checkpoint()
            await into.send({"type": "http.disconnect"})
        sent.append(event)

    exchange = Exchange(scope_with(), out_of.receive, send, (), WireLimits(drain_bytes_max=100, send_s=2))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        with trio.fail_after(20):
            await exchange.refuse(json_answer({"no": 1}, status=401))
        nursery.cancel_scope.cancel()
    assert [event["type"] for event in sent] == ["http.response.start", "http.response.body"]
    assert (b"connection", b"close") in sent[0]["headers"]  # type: ignore[typeddict-item, operator]


async def test_the_last_piece_of_an_answer_goes_out_whole_although_its_task_is_cancelled() -> None:
    sent: list[ASGISendEvent] = []

    async def send(event: ASGISendEvent) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(event)

    async def receive() -> ASGIReceiveEvent:
        return {"type": "http.disconnect"}

    exchange = Exchange(scope_with(), receive, send, (), WireLimits())
    await exchange.send({"type": "http.response.start", "status": 200, "headers": ()})
    with trio.CancelScope() as scope:
        scope.cancel()
        await exchange.send({"type": "http.response.body", "body": b"end", "more_body": False})
    assert sent[1:] == [{"type": "http.response.body", "body": b"end", "more_body": False}]


def test_a_body_of_untold_length_counts_as_longer_than_any_bound() -> None:
    async def never() -> ASGIReceiveEvent:
        raise AssertionError

    async def send(_event: ASGISendEvent) -> None:
        raise AssertionError

    told = Exchange(scope_with((b"content-length", b"12")), never, send, (), WireLimits())
    untold = Exchange(scope_with((b"transfer-encoding", b"chunked")), never, send, (), WireLimits())
    none = Exchange(scope_with(), never, send, (), WireLimits())
    assert (told.declared_length, untold.declared_length, none.declared_length) == (12, CHUNKED_LENGTH, 0)
