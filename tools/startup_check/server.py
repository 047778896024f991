"""The server under check, and an owner before it."""

import os
import re
import signal
import subprocess
import threading
import time
import uuid
from pathlib import Path
from types import TracebackType

import httpx

from tokenling.engine import JsonValue
from tools.bench.quiet_host import Keeper

ORIGIN = "https://pets.example"
START_S_MAX = 120.0
REPLY_S_MAX = 120.0
STOP_S_MAX = 10.0


class Server:
    """`tokenling serve` of the environment in `programs`, asked for a GPU; its state and log are in `out`."""

    def __init__(self, programs: Path, out: Path, settings: dict[str, str]) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("SUBTOKENLING_")}
        self._log = (out / "server.log").open("w+")
        self.process = subprocess.Popen(
            [str(programs / "tokenling"), "serve", "--log-level", "info"],
            env={**environ, **settings, "PYTHONUNBUFFERED": "1"},
            cwd=out,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.address = self._read_address()

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _t: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()

    def _read_address(self) -> str:
        watchdog = threading.Timer(START_S_MAX, self.process.kill)
        watchdog.start()
        try:
            assert self.process.stdout is not None, "asked for"
            for line in self.process.stdout:
                if found := re.search(r"listening on (http://\S+)", line):
                    return found[1]
        finally:
            watchdog.cancel()
        raise RuntimeError(f"the server did not start:\n{self.said()}")

    def said(self) -> str:
        """Its standard error so far."""
        return Path(self._log.name).read_text()

    def stop(self) -> int:
        """Its exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S_MAX)


class Owner(Keeper):
    """A pet's owner who also speaks, and takes the pet home."""

    def view(self) -> dict[str, JsonValue]:
        """The pet as it is now."""
        found: dict[str, JsonValue] = self.client.get(self.path, headers=self.headers).raise_for_status().json()
        return found

    def say(self, text: str) -> str:
        """Say a line; what the pet answered."""
        self.post("commands", {"command": {"kind": "say", "text": text}})
        until = time.monotonic() + REPLY_S_MAX
        while time.monotonic() < until:
            view = self.view()
            save = view["save"]
            assert isinstance(save, dict), "a save is an object"
            chat = save["chat"]
            assert isinstance(chat, list), "the chat is a list"
            last = chat[-1]
            if isinstance(last, dict) and last["who"] == "pet" and not view["thinking"]:
                return str(last["text"])
            time.sleep(0.1)
        raise RuntimeError(f"no reply within {REPLY_S_MAX} s")

    def post(self, route: str, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """One operation under the first epoch; its answer."""
        whole = {"epoch": 1, "operationId": str(uuid.uuid4()), **body}
        answer = self.client.post(f"{self.path}/{route}", headers=self.headers, json=whole).raise_for_status()
        found: dict[str, JsonValue] = answer.json()
        return found

    def ask(self, method: str, path: str | None = None, **headers: str) -> httpx.Response:
        """One request with exactly these headers."""
        return self.client.request(method, path or self.path, headers=headers)
