"""A real host process that may die at any moment, and an owner who remembers what it was told."""

import base64
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tokenling import engine

ROOT = Path(__file__).parents[2]
BRAIN_ID = "scripted-1"
DAYS_MS = 3 * 86_400_000
ANSWER_S_MAX = 20.0
GONE = (ConnectionError, http.client.HTTPException, TimeoutError)


def zone_where_it_is_ten(at_ms: int) -> str:
    ahead = (10 - at_ms // 3_600_000 % 24 + 12) % 24 - 12
    return f"Etc/GMT{-ahead:+d}" if ahead else "Etc/UTC"


@cache
def grown_save(brain_id: str = BRAIN_ID) -> dict[str, Any]:
    """A pet of three days, awake in the middle of its day, that says nothing unless it is spoken to."""
    now = time.time_ns() // 1_000_000
    began, zone = now - DAYS_MS, zone_where_it_is_ten(now)
    state = engine.new_pet(
        pet_seed="otter", name="Pip", time_zone=zone, brain_id=brain_id, weather_seed="w", now_ms=began
    )
    state = engine.apply_command(state, engine.parse_command({"kind": "settings", "chatter": 0}), began).state
    while (step := engine.advance(state, now)).turn is not None:
        state = engine.skip_turn(step.state, step.turn, "stopped").state
    saved: dict[str, Any] = json.loads(engine.dump_save(step.state))
    return saved


class Zygote:
    """Forks hosts; see `crash_zygote.py`."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash_zygote.py"))],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, **order: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=10)


class Home:
    """One life of a host on a state directory. `address` is None when it died before it listened."""

    def __init__(self, zygote: Zygote, state: Path, **order: object) -> None:
        self._zygote = zygote
        self._ended: int | None = None
        born = zygote.ask(do="start", state=str(state), **order)
        self.pid: int = born["pid"]
        self.address: str | None = born["address"]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Its exit code, negative for the signal that killed it."""
        if self._ended is None:
            self._ended = self._zygote.ask(do="wait", pid=self.pid)["code"]
        return self._ended


@contextmanager
def home(zygote: Zygote, state: Path, **order: object) -> Iterator[Home]:
    opened = Home(zygote, state, **order)
    try:
        yield opened
    finally:
        if opened._ended is None:
            opened.kill()
            opened.wait()


@dataclass
class Wish:
    """Something that was asked for: `answer` is None while nobody knows whether it was done."""

    kind: str
    method: str
    path: str
    body: dict[str, Any] | None
    text: str = ""
    answer: dict[str, Any] | None = None


@dataclass
class Owner:
    """One pet's owner: asks for one thing after the other, until the host is gone."""

    pet_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    device_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    key: str = field(default_factory=lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="))
    epoch: int = 1
    revision: int = 0
    save: dict[str, Any] = field(default_factory=grown_save)
    wishes: list[Wish] = field(default_factory=list)
    acts: int = 0
    deleted: bool = False

    @property
    def path(self) -> str:
        return f"/api/pets/{self.pet_id}"

    def send(self, address: str, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any, str]:
        """Status, JSON and Retry-After. Raises one of `GONE`."""
        place = urlsplit(address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_S_MAX)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Authorization": f"Bearer {self.key}"})
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None, answer.getheader("Retry-After", "")
        finally:
            connection.close()

    def next_wish(self) -> Wish:
        """What this owner wants next: move in, live a little, move out and in again."""
        plan = ("say", "care", "say", "park", "activate")
        kind = ("prepare", "activate")[self.acts] if self.acts < 2 else plan[(self.acts - 2) % len(plan)]
        self.acts += 1
        return self.wish(kind)

    def wish(self, kind: str) -> Wish:
        operation = {"operationId": str(uuid.uuid4()), "epoch": self.epoch}
        moving = operation | {"deviceId": self.device_id}
        text = f"word {self.acts} {operation['operationId'][:8]}"
        match kind:
            case "prepare":
                return Wish(kind, "POST", "/api/pets", {"id": self.pet_id, "save": self.save})
            case "activate":
                return Wish(kind, "POST", f"{self.path}/transfer", moving | {"to": "remote", "save": self.save})
            case "park":
                return Wish(kind, "POST", f"{self.path}/transfer", moving | {"to": "local"})
            case "delete":
                return Wish(kind, "DELETE", self.path, None)
            case "care":
                command = {"kind": "care", "action": "stroke"}
                return Wish(kind, "POST", f"{self.path}/commands", operation | {"command": command})
        command = {"kind": "say", "text": text}
        return Wish(kind, "POST", f"{self.path}/commands", operation | {"command": command}, text)

    def ask(self, address: str, wish: Wish) -> None:
        """Ask, remembering it first. Raises one of `GONE`; then nobody knows."""
        if wish not in self.wishes:
            self.wishes.append(wish)
        status, answer, _retry = self.send(address, wish.method, wish.path, wish.body)
        gone = wish.kind == "delete" and status == 404
        assert status in {200, 201, 204} or gone, (wish.kind, status, answer)
        self.told(wish, answer or {})

    def told(self, wish: Wish, answer: dict[str, Any]) -> None:
        wish.answer = answer
        self.epoch, self.revision = answer.get("epoch", self.epoch), answer.get("revision", self.revision)
        self.save = answer.get("save", self.save)
        self.deleted = self.deleted or wish.kind == "delete"

    def live(self, address: str, wishes: int) -> bool:
        """So many wishes, one after the other; False when the host went away meanwhile."""
        try:
            for _ in range(wishes):
                self.ask(address, self.next_wish())
        except GONE:
            return False
        return True

    def check(self, address: str) -> None:
        """What was told is so; what nobody knows is done once when it is repeated."""
        if self.deleted:
            assert self.send(address, "GET", self.path)[0] == 404
            status, problem, _retry = self.send(address, "POST", "/api/pets", {"id": self.pet_id, "save": self.save})
            assert (status, problem["code"]) == (410, "pet_deleted")
            return
        for wish in self.wishes:
            if wish.answer is None:
                self.ask(address, wish)
        if self.wishes:
            self._check_view(address)

    def _check_view(self, address: str) -> None:
        status, view, _retry = self.send(address, "GET", self.path)
        assert status == 200, view
        assert (view["epoch"], view["revision"]) >= (self.epoch, self.revision)
        said = [line["text"] for line in view["save"]["chat"] if line["who"] == "owner"]
        asked = [wish.text for wish in self.wishes if wish.text]
        assert said == asked, "each word once, in order, none lost"
        last = next((wish for wish in reversed(self.wishes) if wish.kind != "prepare"), None)
        if last is not None and last.answer is not None:
            status, again, _retry = self.send(address, last.method, last.path, last.body)
            assert (200, last.answer | {"replayed": True}) == (status, again), "a repeat is answered alike"
