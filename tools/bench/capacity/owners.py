"""The owners who are present, as a process of its own: `python -m tools.bench.capacity.owners ADDRESS PETS SECONDS`.

Bare HTTP over sockets, so that it takes little of the machine that it measures; what it takes is part of its report,
which it prints as JSON. A reply's time runs from sending the `say` to the end of the long-poll that shows it.
"""

import argparse
import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import trio

from tools.bench.capacity.people import Person, operation_id, person
from tools.bench.capacity.traffic import SAID, SAY_EVERY_S, Stay, stays

PATIENCE_S = 75.0
"""Longer than any long-poll: an answer that takes longer is a fault."""
COMING_S = 2.0
"""Those who are here from the beginning open the page over this time."""
REVISION = re.compile(rb'"revision":(\d+)')
"""The first one in a view is the record's own: it stands before the save."""
ASKED = b'"asked":{'
"""In a view while a reply is owed; inside a text its quotes would be escaped."""
REPLY_S = 2.0


@dataclass(slots=True)
class Findings:
    """What the owners saw of what they said from `from_s` (monotonic) on."""

    from_s: float
    reply_s: list[float] = field(default_factory=list)
    said: int = 0
    unanswered: int = 0
    say_s: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def note_said(self, sent: float, status: int) -> None:
        self.statuses[f"say {status}"] += 1
        if sent >= self.from_s:
            self.said += 1
            self.say_s.append(time.monotonic() - sent)

    def note_reply(self, sent: float, took_s: float) -> None:
        if sent >= self.from_s:
            self.reply_s.append(took_s)

    def note_unanswered(self, sent: float) -> None:
        self.unanswered += sent >= self.from_s


@dataclass(frozen=True, slots=True)
class Seen:
    """The last view: its revision, whether it still owes a reply, when it came."""

    revision: int
    owes: bool
    at: float


@dataclass(frozen=True, slots=True)
class Owed:
    """Something was said: which revision holds it, and when it was sent."""

    revision: int
    since: float


class Wire:
    """One keep-alive connection, one request at a time."""

    def __init__(self, address: str, who: Person) -> None:
        target = urlsplit(address)
        assert target.hostname is not None
        assert target.port is not None
        self._host, self._port = target.hostname, target.port
        self._path = f"/api/pets/{who.pet_id}"
        self._key = who.key
        self._stream: trio.SocketStream | None = None

    async def ask(
        self, method: str, rest: str = "", body: bytes = b"", tag: str = "", *, path: str | None = None
    ) -> tuple[int, str, bytes]:
        """Status, tag and body of the answer, from the pet's own path and `rest` unless a `path` is given."""
        if self._stream is None:
            self._stream = await trio.open_tcp_stream(self._host, self._port)
        target = path or f"{self._path}{rest}"
        head = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self._key}"]
        head += [f"If-None-Match: {tag}"] if tag else []
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
        await self._stream.send_all("\r\n".join((*head, "", "")).encode() + body)
        return await self._answer(self._stream)

    async def _answer(self, stream: trio.SocketStream) -> tuple[int, str, bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await self._piece(stream)
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        pieces, missing = [body], int(fields.get("content-length", "0")) - len(body)
        while missing > 0:
            pieces.append(await self._piece(stream))
            missing -= len(pieces[-1])
        if fields.get("connection") == "close":
            await self.close()
        return int(lines[0].split()[1]), fields.get("etag", ""), b"".join(pieces)

    @staticmethod
    async def _piece(stream: trio.SocketStream) -> bytes:
        piece = await stream.receive_some(65_536)
        if not piece:
            raise trio.BrokenResourceError
        return bytes(piece)

    async def close(self) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)
            self._stream = None


class Present:
    """One owner during a stay: a poll that is always parked, and something said now and then."""

    def __init__(self, address: str, stay: Stay, findings: Findings) -> None:
        self._who = person(stay.number)
        self._stay = stay
        self._address = address
        self._findings = findings
        self._owed: Owed | None = None
        self._seen = Seen(0, False, 0.0)

    async def stay(self, began: float) -> None:
        """From coming to leaving; faults are counted, not raised."""
        await trio.sleep_until(began + self._stay.from_s + (COMING_S * (self._stay.number % 97) / 97))
        try:
            with trio.move_on_at(began + self._stay.until_s):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._watch)
                    nursery.start_soon(self._talk, began)
        except* (OSError, trio.BrokenResourceError, trio.TooSlowError) as group:
            self._findings.faults.update(type(error).__name__ for error in group.exceptions)

    async def _watch(self) -> None:
        wire, tag = Wire(self._address, self._who), ""
        try:
            while True:
                with trio.fail_after(PATIENCE_S):
                    status, tag, body = await wire.ask("GET", "?wait=50" if tag else "", tag=tag)
                self._findings.statuses[f"view {status}"] += 1
                if status == 200:
                    self._seen = Seen(_revision(body), ASKED in body, time.monotonic())
                    self._settle()
                elif status != 304:
                    await trio.sleep(1.0)
        finally:
            with trio.CancelScope(shield=True):
                await wire.close()

    async def _talk(self, began: float) -> None:
        wire = Wire(self._address, self._who)
        try:
            await trio.sleep_until(began + self._stay.first_say_s)
            at = 0
            while True:
                await self._say(wire, at)
                at += 1
                await trio.sleep_until(began + self._stay.first_say_s + at * SAY_EVERY_S)
        finally:
            with trio.CancelScope(shield=True):
                await wire.close()

    async def _say(self, wire: Wire, at: int) -> None:
        words = SAID[(self._stay.number + at) % len(SAID)]
        # the time is part of the id: a second window over the same database is another stay
        said = {"epoch": 1, "operationId": operation_id(self._stay.number, time.time_ns()),
                "command": {"kind": "say", "text": words}}  # fmt: skip
        if self._owed is not None:
            self._findings.note_unanswered(self._owed.since)
        self._owed, sent = None, time.monotonic()
        with trio.fail_after(PATIENCE_S):
            status, _, answer = await wire.ask("POST", "/commands", json.dumps(said).encode())
        self._findings.note_said(sent, status)
        if status == 200:
            self._owed = Owed(_revision(answer), sent)
            self._settle()  # the reply may have been seen before the answer to what was said

    def _settle(self) -> None:
        """Count the reply once a view that holds what was said owes none any more."""
        owed, seen = self._owed, self._seen
        if owed is not None and seen.revision >= owed.revision and not seen.owes:
            self._findings.note_reply(owed.since, max(0.0, seen.at - owed.since))
            self._owed = None


def _revision(body: bytes) -> int:
    found = REVISION.search(body)
    assert found is not None, "views and answers hold a revision"
    return int(found[1])


async def run(address: str, pets: int, seconds: float, settle_s: float, as_of: int) -> dict[str, object]:
    """All stays of a window; what is said before `settle_s` is not counted."""
    findings, began = Findings(time.monotonic() + settle_s), trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, seconds)  # of few pets no owner may be here: the window lasts all the same
        for stay in stays(pets, seconds, as_of=as_of):
            nursery.start_soon(Present(address, stay, findings).stay, began)
    return report(findings)


def report(findings: Findings) -> dict[str, object]:
    """The figures; a reply that was still owed when the next thing was said counts as late."""
    replies = sorted(findings.reply_s)
    late = sum(took > REPLY_S for took in replies) + findings.unanswered
    known = len(replies) + findings.unanswered
    return {
        "said": findings.said,
        "replies": len(replies),
        "unanswered": findings.unanswered,
        "within2s": round(1 - late / known, 4) if known else None,
        "replyMedianS": _quantile(replies, 50),
        "reply95S": _quantile(replies, 95),
        "replyMaxS": _quantile(replies, 100),
        "say95S": _quantile(sorted(findings.say_s), 95),
        "cpuS": round(time.process_time(), 2),
        "statuses": dict(findings.statuses),
        "faults": dict(findings.faults),
    }


def _quantile(values: list[float], percent: int) -> float | None:
    if not values:
        return None
    return round(values[min(len(values) - 1, len(values) * percent // 100)], 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("pets", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--settle", type=float, default=0.0)
    parser.add_argument("--as-of", type=int, help="as many owners as of so many pets")
    chosen = parser.parse_args()
    as_of = chosen.as_of or chosen.pets
    print(json.dumps(trio.run(run, chosen.address, chosen.pets, chosen.seconds, chosen.settle, as_of)))


if __name__ == "__main__":
    main()
