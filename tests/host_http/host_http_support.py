"""A scripted dispatch and a real server around it: Hypercorn's protocol on a real socket of this machine."""

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import trio

from tokenling.host.connection import ConnectionLimits
from tokenling.host.envelopes import (
    Envelope,
    Health,
    KeyChange,
    Prepared,
    TransferRequest,
    View,
    WorkerHealth,
)
from tokenling.host.errors import ApiError
from tokenling.host.exchange import WireLimits
from tokenling.host.http_app import create_app
from tokenling.host.routes import HostFacts
from tokenling.host.server import hypercorn_config, serve_http
from tokenling.host.shell import Doors
from tokenling.host.waits import Waits

PET = "0b8f2c7e-4a55-4d21-9c3e-6f1b2a3c4d5e"
OTHER_PET = "0b8f2c7e-4a55-4d21-9c3e-6f1b2a3c4d5f"
OPERATION = "1a1b1111-2222-1333-8444-55555555555f"
DEVICE = "99999999-2222-4333-8444-555555555555"
KEY_BYTES = bytes(range(32))
KEY = base64.urlsafe_b64encode(KEY_BYTES).decode().rstrip("=")
OTHER_KEY = base64.urlsafe_b64encode(bytes(32)).decode().rstrip("=")
KEY_HASH = hashlib.sha256(KEY_BYTES).digest()
BEARER = {"authorization": f"Bearer {KEY}"}
ORIGIN = "https://app.example"
FACTS = HostFacts(version="0.1.0", engine=1, release="sprout-0", features=("look",))


@dataclass
class ScriptedPets:
    """One pet, owned by KEY. Records every call; `fail_with` raises; a moved tag wakes waiters."""

    calls: list[tuple[str, object]] = field(default_factory=list)
    fail_with: Callable[[], BaseException] | None = None
    etag: str = '"one"'
    ready: bool = True
    waiting: int = 0
    cancelled_waits: int = 0
    moved: trio.Event = field(default_factory=trio.Event)
    created: bool = True
    view_bytes: bytes = b'{"id":"x"}'

    def _note(self, name: str, pet_id: str, key_hash: bytes, what: object = None) -> None:
        if self.fail_with is not None:
            raise self.fail_with()
        if (pet_id, key_hash) != (PET, KEY_HASH):
            raise ApiError(404, "not_found", "There is no such pet here, or the key is not its own.")
        self.calls.append((name, what))

    async def prepare(self, key_hash: bytes, pet_id: str, save: bytes) -> Prepared:
        self._note("prepare", pet_id, key_hash, save)
        return Prepared(self.created, "prepared", 1, 1)

    async def view(self, pet_id: str, key_hash: bytes, *, etag: str | None, wait_s: int) -> View | None:
        self._note("view", pet_id, key_hash, (etag, wait_s))
        if wait_s and etag == self.etag:
            await self._park(wait_s)
        return None if etag == self.etag else View(self.view_bytes, self.etag)

    async def _park(self, wait_s: int) -> None:
        self.waiting += 1
        try:
            with trio.move_on_after(wait_s):
                await self.moved.wait()
        except trio.Cancelled:
            self.cancelled_waits += 1
            raise
        finally:
            self.waiting -= 1

    def move(self, etag: str) -> None:
        self.etag = etag
        self.moved.set()
        self.moved = trio.Event()

    async def command(self, pet_id: str, key_hash: bytes, envelope: Envelope) -> bytes:
        self._note("command", pet_id, key_hash, envelope)
        return b'{"operationId":"%s","epoch":1,"revision":2,"replayed":false}' % envelope.operation_id.encode()

    async def transfer(self, pet_id: str, key_hash: bytes, request: TransferRequest) -> bytes:
        self._note("transfer", pet_id, key_hash, request)
        return b'{"status":"active","save":' + (request.save or b"null") + b"}"

    async def change_key(self, pet_id: str, key_hash: bytes, change: KeyChange) -> bytes:
        self._note("change_key", pet_id, key_hash, change)
        return b'{"epoch":1,"revision":2}'

    async def delete(self, pet_id: str, key_hash: bytes) -> None:
        self._note("delete", pet_id, key_hash)

    async def receipts(self, pet_id: str, key_hash: bytes) -> bytes:
        self._note("receipts", pet_id, key_hash)
        return b'{"receipts":[]}'

    def health(self) -> Health:
        reasons = () if self.ready else ("store_failing",)
        return Health(self.ready, reasons, (WorkerHealth("cpu", "CPUExecutionProvider", "ready"),), 64)


@dataclass
class Running:
    """A server that is up: its address, its pets, and the event that stops it."""

    url: str
    pets: ScriptedPets
    stop: trio.Event
    stopped: trio.Event
    waits: Waits

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    async def raw(self, data: bytes) -> bytes:
        """Everything that comes back until the server closes; fails after ten seconds."""
        async with await self.connect() as stream:
            await stream.send_all(data)
            return await read_to_end(stream)


@asynccontextmanager
async def running(
    pets: ScriptedPets | None = None,
    *,
    keep_alive_s: float = 75,
    limits: WireLimits | None = None,
    transport: ConnectionLimits | None = None,
    allowed_hosts: frozenset[str] | None = None,
    web_root: Path | None = None,
    brain_dir: Path | None = None,
    enrol_code: str | None = None,
    waits: Waits | None = None,
    doors: Doors | None = None,
    free_bytes: Callable[[], int] | None = None,
) -> AsyncIterator[Running]:
    pets = pets or ScriptedPets()
    doors = doors or Doors(waits=waits or Waits())
    waits = doors.waits
    app = create_app(
        pets,
        facts=FACTS,
        allowed_origins=[ORIGIN],
        allowed_hosts=allowed_hosts,
        web_root=web_root,
        brain_dir=brain_dir,
        enrol_code=enrol_code,
        limits=limits,
        doors=doors,
        free_bytes=free_bytes,
    )
    stop, stopped = trio.Event(), trio.Event()

    async def serve(*, task_status: trio.TaskStatus[list[str]]) -> None:
        config = hypercorn_config("127.0.0.1:0", keep_alive_s=keep_alive_s)
        told = doors.note_connections
        await serve_http(app, config, stop=stop, limits=transport, on_connections=told, task_status=task_status)
        stopped.set()

    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(serve)
        yield Running(url, pets, stop, stopped, waits)
        stop.set()
        with trio.fail_after(5):
            await stopped.wait()


@asynccontextmanager
async def client(host: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=host.url, headers=BEARER, timeout=10, trust_env=False) as http:
        yield http


async def read_to_end(stream: trio.SocketStream) -> bytes:
    received = bytearray()
    with trio.fail_after(10):
        while data := await stream.receive_some():
            received += data
    return bytes(received)


async def read_answer(stream: trio.SocketStream) -> tuple[int, bytes]:
    """Status and body of one answer with a Content-Length (or none at all)."""
    received = bytearray()
    with trio.fail_after(10):
        while b"\r\n\r\n" not in received:
            received += await more(stream)
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        length = header_of(head, b"content-length")
        while len(body) < int(length or b"0"):
            body += await more(stream)
    return int(head.split(b" ", 2)[1]), body


async def more(stream: trio.SocketStream) -> bytes:
    data = await stream.receive_some()
    assert data, "closed in the middle of an answer"
    return bytes(data)


async def until(condition: Callable[[], bool]) -> None:
    """Returns when the server, on the other side of a real socket, has got there; fails after ten seconds."""
    with trio.fail_after(10):
        while not condition():  # noqa: ASYNC110  # what is waited for is behind a socket and has no event
            await trio.sleep(0.005)


def header_of(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        found, _, value = line.partition(b":")
        if found.lower() == name:
            return value.strip()
    return None


def request_bytes(method: str, path: str, body: bytes = b"", *extra: str, key: str | None = KEY) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *extra]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def problem_of(response: httpx.Response) -> dict[str, object]:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["type"] == "about:blank"
    assert body["status"] == response.status_code
    return body


def command_body(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"epoch": 1, "operationId": OPERATION, "command": {"kind": "say", "text": "hello"}}
    return {**body, **changes}


def remote_body(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {
        "to": "remote", "operationId": OPERATION, "epoch": 1, "deviceId": DEVICE, "save": {"name": "Pip", "v": 2},
    }  # fmt: skip
    return {**body, **changes}


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
