"""A real host process, and an owner who talks to it over HTTP."""

import base64
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
START_S_MAX = 30.0
"""A loaded test machine; the promise of 5 s has a test of its own."""
REPLY_S_MAX = 45.0
ADDRESS = r"(http://127\.0\.0\.1:\d+)"
PREVIEW = ("-m", "tokenling", "preview", "--port", "0", "--log-level", "debug")


def importable():
    """The environment in which a started Python finds this checkout, installed or not."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


class HomeProcess:
    """`python ARGUMENTS` that prints its address; `stdout` and `stderr` are kept for the tests to read."""

    def __init__(self, *arguments, state, environ=None, must_start=True, pattern=ADDRESS):
        self._pattern = pattern
        self.state = Path(state)
        self.state.mkdir(exist_ok=True)
        self._stderr = self.state.parent / f"{self.state.name}.stderr"
        self.started = time.monotonic()
        with self._stderr.open("ab") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **importable(), **(environ or {})},
                stdout=subprocess.PIPE,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
            )
        self.stdout = ""
        self.address = self._read_address() if must_start else None

    @classmethod
    def preview(cls, state, *arguments, environ=None, must_start=True):
        return cls(*PREVIEW, "--state", str(state), *arguments, state=state, environ=environ, must_start=must_start)

    def _read_address(self):
        watchdog = threading.Timer(START_S_MAX, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                self.stdout += line.decode()
                if found := re.search(self._pattern, self.stdout):
                    return found[1]
        finally:
            watchdog.cancel()
        self.close()
        raise AssertionError(f"the host did not start:\n{self.stdout}\n{self.stderr}")

    @property
    def stderr(self):
        return self._stderr.read_text()

    def output(self):
        """Everything that the process has written; it must have ended."""
        assert self.process.poll() is not None
        return self.stdout + self.stderr

    def stop(self, number=signal.SIGTERM):
        """Send a signal and wait; returns (exit code, seconds)."""
        begun = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(timeout=START_S_MAX)
        self.stdout += self.process.stdout.read().decode()
        return code, time.monotonic() - begun

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if not self.process.stdout.closed:
            self.stdout += self.process.stdout.read().decode()
            self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()


def new_key():
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()


class Owner:
    """One pet's owner. Keeps what it was last told, as the page does."""

    def __init__(self, home, *, pet_id=None, key=None):
        self.pet_id = pet_id or str(uuid.uuid4())
        self.device_id = str(uuid.uuid4())
        self.key = key or new_key()
        self.epoch = 0
        self.revision = 0
        self.client = None
        self.home = home
        self.move_to(home)

    def move_to(self, home):
        """The same owner before a restarted host."""
        if self.client is not None:
            self.client.close()
        self.home = home
        headers = {"Authorization": f"Bearer {self.key}"}
        self.client = httpx.Client(base_url=home.address, headers=headers, timeout=60.0, trust_env=False)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.client.close()

    @property
    def path(self):
        return f"/api/pets/{self.pet_id}"

    def ask(self, method, path, **options):
        answer = self.client.request(method, path, **options)
        assert answer.is_success, f"{method}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def prepare(self, save):
        return self._told(self.ask("POST", "/api/pets", json={"id": self.pet_id, "save": save}))

    def activate(self, save, operation_id=None):
        return self._told(self.transfer("remote", operation_id or str(uuid.uuid4()), save=save))

    def park(self, operation_id=None):
        return self._told(self.transfer("local", operation_id or str(uuid.uuid4())))

    def transfer(self, to, operation_id, **more):
        body = {"to": to, "operationId": operation_id, "epoch": self.epoch, "deviceId": self.device_id, **more}
        return self.ask("POST", f"{self.path}/transfer", json=body)

    def adopt(self, save):
        self.prepare(save)
        return self.activate(save)

    def command(self, command, operation_id=None):
        body = {"epoch": self.epoch, "operationId": operation_id or str(uuid.uuid4()), "command": command}
        return self._told(self.ask("POST", f"{self.path}/commands", json=body))

    def say(self, text, operation_id=None):
        return self.command({"kind": "say", "text": text}, operation_id)

    def view(self):
        return self._told(self.ask("GET", self.path))

    def receipts(self):
        return self.ask("GET", f"{self.path}/receipts")["receipts"]

    def await_view(self, wanted, within_s=REPLY_S_MAX):
        """Long-poll until `wanted(view)`; the view."""
        deadline = time.monotonic() + within_s
        etag = None
        while time.monotonic() < deadline:
            headers = {} if etag is None else {"If-None-Match": etag}
            answer = self.client.get(self.path, params={"wait": 10}, headers=headers)
            if answer.status_code == 304:
                continue
            assert answer.status_code == 200, answer.text
            etag = answer.headers["ETag"]
            view = self._told(answer.json())
            if wanted(view):
                return view
        raise AssertionError(f"nothing like it within {within_s} s: {json.dumps(view)[:2000]}")

    def await_reply(self, within_s=REPLY_S_MAX):
        """The view once the pet has answered the owner's last line, and its answer."""
        view = self.await_view(lambda view: view["save"]["chat"][-1]["who"] == "pet" and not view["thinking"], within_s)
        return view, view["save"]["chat"][-1]

    def delete(self):
        return self.ask("DELETE", self.path)

    def _told(self, answer):
        self.epoch, self.revision = answer["epoch"], answer["revision"]
        return answer
