"""A host with one pet in each state, what may be sent to it, and whether anything of them has changed."""

import base64
import hashlib
import json
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
from crash_home import Owner, Zygote, home

from tokenling.host.errors import CODES

STALE_EPOCH = 999_999
"""No pet's: whatever survives its own defects is refused for this at the latest."""
READ_BYTES_MAX = 4 * 1_048_576
ANSWER_S_MAX = 20.0
STATUSES = ("prepared", "active", "parked")


@dataclass
class Reply:
    """What came back: 0 for a connection that was closed without a word."""

    status: int
    headers: dict[str, str]
    body: bytes


class Target:
    """The host and its pets. `send` is raw: a head and a body as bytes."""

    def __init__(self, address: str, database: Path) -> None:
        self.address = address
        self.database = database
        self.owners = {status: Owner() for status in STATUSES}
        for status, owner in self.owners.items():
            kinds = STATUSES.index(status) + 1
            for kind in ("prepare", "activate", "park")[:kinds]:
                owner.ask(address, owner.wish(kind))

    def picture(self) -> dict[str, object]:
        """Each pet as its owner sees it, and a digest of all that the database holds. The host's clock stands still."""
        seen: dict[str, object] = {"records": self.digest()}
        for status, owner in self.owners.items():
            code, seen[status], _retry = owner.send(self.address, "GET", owner.path)
            assert code == 200
        return seen

    def digest(self) -> str:
        """SHA-256 over every row of every table."""
        connection = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
            rows = [(name, sorted(map(repr, connection.execute(f"SELECT * FROM {name}")))) for (name,) in tables]  # noqa: S608
        finally:
            connection.close()
        assert sum(len(held) for _, held in rows) > len(STATUSES), "the pets are among them"
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    def send(self, head: bytes, body: bytes) -> Reply:
        place = urlsplit(self.address)
        with socket.create_connection((place.hostname, place.port), timeout=ANSWER_S_MAX) as connection:
            received = bytearray()
            try:
                connection.sendall(head + body)
                connection.shutdown(socket.SHUT_WR) if not head.endswith(b"\r\n\r\n") else None
                while (piece := connection.recv(65_536)) and len(received) < READ_BYTES_MAX:
                    received += piece
            except ConnectionError:
                pass  # closed on us in the middle: what was said before counts
            return parsed(bytes(received))


def parsed(received: bytes) -> Reply:
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    if not lines[0].startswith("HTTP/"):
        return Reply(0, {}, received)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return Reply(int(lines[0].split(" ")[1]), headers, body)


def check_reply(reply: Reply, *, head_only: bool = False) -> None:
    """No 5xx, and every refusal in the API's own words."""
    assert reply.status < 500, (reply.status, reply.body[:200])
    if reply.status < 400 or head_only:
        return
    assert reply.headers["content-type"] == "application/problem+json", reply
    problem = json.loads(reply.body)
    assert CODES[problem["code"]].status == problem["status"] == reply.status
    assert reply.headers["cache-control"] == "no-store"


def bodies_of(owner: Owner) -> dict[str, dict[str, Any]]:
    """A well-formed body for each route that takes one; all but `prepare` are of an epoch that no pet has."""
    operation = {"operationId": str(uuid.UUID(int=7)), "epoch": STALE_EPOCH}
    return {
        "prepare": {"id": owner.pet_id, "save": owner.save},
        "command": {**operation, "command": {"kind": "say", "text": "hello"}},
        "remote": {**operation, "to": "remote", "deviceId": str(uuid.UUID(int=8)), "save": owner.save},
        "local": {**operation, "to": "local", "deviceId": str(uuid.UUID(int=8))},
        "key": {**operation, "newKeyHash": "0" * 64},
        "newborn": {"name": "Pip", "timeZone": "Etc/UTC", "petSeed": "seed"},
    }


def path_of(owner: Owner, route: str) -> str:
    ends = {"command": "/commands", "remote": "/transfer", "local": "/transfer", "key": "/key"}
    if route in ends:
        return owner.path + ends[route]
    return {"prepare": "/api/pets", "newborn": "/app/newborn"}[route]


def head_of(method: str, path: str, length: int | None, *, key: str | None, more: tuple[str, ...] = ()) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    lines += [] if key is None else [f"Authorization: Bearer {key}"]
    return "\r\n".join([*lines, *more, "", ""]).encode("utf-8", "surrogateescape")


def other_key() -> str:
    return base64.urlsafe_b64encode(bytes(31) + b"\1").decode().rstrip("=")


@contextmanager
def target(zygote: Zygote, folder: Path) -> Iterator[Target]:
    """The host keeps these three pets and has no room for another."""
    with home(zygote, folder, pets_max=len(STATUSES), frozen=True) as running:
        assert running.address is not None
        yield Target(running.address, folder / "pets.sqlite")
        assert running.stop() == 0
