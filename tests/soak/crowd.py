"""A crowd that does everything a page may do, and much that none should: adoption, words, moves, goodbyes, refusals."""

import base64
import hashlib
import json
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace

import trio

from tools.bench.capacity.owners import Wire
from tools.bench.capacity.people import Person, person

ANSWER_S_MAX = 30.0
PAUSE_S = (0.02, 0.25)
"""Between two things that somebody does."""
GONE_AFTER_S = 0.15
"""When a page that is closed in the middle of a poll hangs up."""
FIRST_NUMBER = 10_000_000
"""Beyond the pets that are here already, and so many for each visitor as an hour cannot use up."""
WORDS = ("hello", "are you hungry?", "what is the weather like?", "good night", "shall we play?")


@dataclass(slots=True)
class Seen:
    """What was answered, by what was asked; faults of any kind end up here too."""

    answers: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def note(self, what: str, status: int, *expected: int) -> None:
        self.answers[f"{what} {status}"] += 1
        if status not in expected:
            self.faults[f"{what} {status}"] += 1


class Visitor:
    """Somebody with one pet at a time."""

    def __init__(self, address: str, number: int, save: bytes, seen: Seen) -> None:
        self._address = address
        self._number = number
        self._save = save
        self._seen = seen
        self._chance = random.Random(f"visitor {number}")  # noqa: S311 - traffic, no secret
        self._generation = 0
        self._fresh()

    def _fresh(self) -> None:
        self._who: Person = person(FIRST_NUMBER + 100_000 * self._number + self._generation)
        self._generation += 1
        self._epoch, self._lives = 1, False
        self._wire = Wire(self._address, self._who)

    async def stay(self, until: float) -> None:
        """Do one thing after the other until then."""
        doings = (
            (20, self._says), (8, self._says_twice), (10, self._strokes), (6, self._offers), (12, self._polls),
            (8, self._hangs_up), (10, self._looks), (5, self._moves), (3, self._changes_key), (3, self._says_goodbye),
            (3, self._reads_receipts), (10, self._is_refused), (4, self._sends_half),
        )  # fmt: skip
        weights, choices = zip(*doings, strict=True)
        while trio.current_time() < until:
            try:
                with trio.fail_after(ANSWER_S_MAX):
                    if self._lives or await self._moves_in():
                        await self._chance.choices(choices, weights)[0]()
            except (OSError, trio.BrokenResourceError) as error:
                self._seen.faults[type(error).__name__] += 1
                await self._wire.close()
            await trio.sleep(self._chance.uniform(*PAUSE_S))
        await self._wire.close()

    def _operation(self) -> dict[str, object]:
        return {"epoch": self._epoch, "operationId": str(uuid.UUID(int=self._chance.getrandbits(128), version=4))}

    async def _ask(self, what: str, expected: tuple[int, ...], method: str, rest: str, body: object = None) -> bytes:
        sent = b"" if body is None else json.dumps(body).encode()
        status, _tag, answer = await self._wire.ask(method, rest, sent)
        self._seen.note(what, status, *expected)
        return answer

    async def _moves_in(self) -> bool:
        """A pet is adopted; not while so many others move in that the host asks to come back later."""
        body = b'{"id":"%s","save":%s}' % (self._who.pet_id.encode(), self._save)
        status, _, answer = await self._wire.ask("POST", body=body, path="/api/pets")
        is_full = status == 409 and json.loads(answer)["code"] == "host_full"
        self._seen.note(
            "prepare, too many at once" if is_full else "prepare", status, *((409,) if is_full else (200, 201))
        )
        if status not in (200, 201):
            return False
        await self._activates(self._save)
        self._lives = True
        return True

    async def _activates(self, save: bytes) -> None:
        head = json.dumps({**self._operation(), "to": "remote", "deviceId": self._who.device_id}).encode()
        status, _, _ = await self._wire.ask("POST", "/transfer", head[:-1] + b',"save":' + save + b"}")
        self._seen.note("activate", status, 200)

    async def _commands(self, what: str, command: dict[str, object]) -> None:
        await self._ask(what, (200, 422), "POST", "/commands", {**self._operation(), "command": command})

    async def _says(self) -> None:
        await self._commands("say", {"kind": "say", "text": self._chance.choice(WORDS)})

    async def _says_twice(self) -> None:
        await self._says()
        await self._says()  # the first reply is cancelled in the middle

    async def _strokes(self) -> None:
        await self._commands("stroke", {"kind": "care", "action": "stroke"})

    async def _offers(self) -> None:
        await self._commands("offer", {"kind": "offer", "offer": "food", "item": "plum"})

    async def _looks(self) -> None:
        await self._ask("look", (200,), "GET", "")

    async def _polls(self) -> None:
        _, tag, _ = await self._wire.ask("GET")
        status, _, _ = await self._wire.ask("GET", "?wait=1", tag=tag)
        self._seen.note("poll", status, 200, 304)

    async def _hangs_up(self) -> None:
        wire = Wire(self._address, self._who)
        _, tag, _ = await wire.ask("GET")
        with trio.move_on_after(GONE_AFTER_S):
            await wire.ask("GET", "?wait=20", tag=tag)
        await wire.close()
        self._seen.answers["hung up"] += 1

    async def _moves(self) -> None:
        """Home to the page, and back to the host with what came home."""
        body = {**self._operation(), "to": "local", "deviceId": self._who.device_id}
        parked = json.loads(await self._ask("park", (200,), "POST", "/transfer", body))
        if "save" not in parked:
            return  # it is noted
        self._epoch = parked["epoch"]
        await self._looks()
        await self._activates(json.dumps(parked["save"]).encode())

    async def _changes_key(self) -> None:
        new = self._chance.randbytes(32)
        body = {**self._operation(), "newKeyHash": hashlib.sha256(new).hexdigest()}
        await self._ask("key", (200,), "POST", "/key", body)
        await self._wire.close()
        self._who = replace(self._who, key=base64.urlsafe_b64encode(new).rstrip(b"=").decode())
        self._wire = Wire(self._address, self._who)

    async def _says_goodbye(self) -> None:
        await self._ask("delete", (204,), "DELETE", "")
        await self._ask("look at a deleted one", (404,), "GET", "")
        await self._wire.close()
        self._fresh()

    async def _reads_receipts(self) -> None:
        await self._ask("receipts", (200,), "GET", "/receipts")

    async def _is_refused(self) -> None:
        stale = {**self._operation(), "epoch": self._epoch + 7, "command": {"kind": "care", "action": "stroke"}}
        for what, expected, method, rest, body in (
            ("stale epoch", 409, "POST", "/commands", stale),
            ("unknown command", 422, "POST", "/commands", {**self._operation(), "command": {"kind": "scold"}}),
            ("no envelope", 422, "POST", "/commands", {"secret": 1}),
            ("unknown route", 404, "GET", "/nothing", None),
            ("wrong wait", 400, "GET", "?wait=always", None),
        ):
            await self._ask(what, (expected,), method, rest, body)
        stranger = Wire(self._address, replace(self._who, key="A" * 43))
        status, _, _ = await stranger.ask("GET")
        self._seen.note("wrong key", status, 404)
        await stranger.close()

    async def _sends_half(self) -> None:
        """A connection that is given up in the middle of a request, and one that never was HTTP."""
        host, _, port = self._address.rpartition("/")[2].rpartition(":")
        for data in (
            b"POST /api/pets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n{",
            b"\x16\x03\x01\x02",
        ):
            stream = await trio.open_tcp_stream(host, int(port))
            await stream.send_all(data)
            await trio.sleep(0.01)
            await trio.aclose_forcefully(stream)
        self._seen.answers["half a request"] += 1


async def crowd(address: str, saves: tuple[bytes, ...], visitors: int, seconds: float, seen: Seen) -> None:
    """So many visitors for so long."""
    until = trio.current_time() + seconds
    async with trio.open_nursery() as nursery:
        for number in range(visitors):
            nursery.start_soon(Visitor(address, number, saves[number % len(saves)], seen).stay, until)
