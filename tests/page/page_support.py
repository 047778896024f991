"""A real host process with a scripted brain, and an owner at a real browser."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from contextlib import closing
from pathlib import Path

try:
    from playwright.sync_api import expect
except ImportError:  # the browser fixture skips those tests
    expect = None

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("scripted_home.py")
START_S_MAX = 30.0
EXPECT_MS = 15_000
"""Longer than any reply of the script; a loaded machine."""
if expect is not None:
    expect.set_options(timeout=EXPECT_MS)
NETWORK_NOISE = ("Failed to load resource", "net::ERR_")
"""What Chromium itself says of a request that was lost on purpose."""

READ_RECORDS = """async () => {
  const database = await new Promise((resolve, reject) => {
    const asked = indexedDB.open("subtokenling");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  const read = (store, key) => new Promise((resolve, reject) => {
    const asked = database.transaction(store).objectStore(store).get(key);
    asked.onsuccess = () => resolve(asked.result ?? null);
    asked.onerror = () => reject(asked.error);
  });
  const remote = await read("records", "subtokenling.remote.v1");
  const checkpoints = {};
  for (const id of Object.keys(remote.pets)) checkpoints[id] = await read("subtokenling.v1", id);
  const stores = [...database.objectStoreNames];
  const version = database.version;
  database.close();
  return { remote, checkpoints, stores, version };
}"""


class ScriptedHome:
    """The preview with a scripted brain; it can be killed and started again at the same address."""

    def __init__(self, state):
        self.state = Path(state)
        self.port = 0
        self.process = None
        self.start()

    def start(self):
        command = [sys.executable, str(SCRIPT), "--port", str(self.port), "--state", str(self.state)]
        environ = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE)
        watchdog = threading.Timer(START_S_MAX, self.process.kill)
        watchdog.start()
        printed = b""
        for line in self.process.stdout:
            printed += line
            if found := re.search(rb"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        watchdog.cancel()
        assert self.port, f"the host did not start: {printed!r}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def restart(self):
        self.kill()
        self.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def pets(self):
        """The status of each pet in the database, read beside the running host."""
        with closing(sqlite3.connect(f"file:{self.state / 'pets.sqlite'}?mode=ro", uri=True)) as database:
            return [status for (status,) in database.execute("SELECT status FROM pets ORDER BY pet")]


class Owner:
    """A browser profile and its tab. Every console error and page error is kept: there must be none."""

    def __init__(self, browser, home, **options):
        self.home = home
        self.errors = []
        self.context = browser.new_context(timezone_id="Europe/Berlin", accept_downloads=True, **options)
        self.page = None
        self.open()

    def open(self):
        """A new tab on the page."""
        self.page = self.context.new_page()
        self.page.set_default_timeout(EXPECT_MS)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(self.home.address)

    def reopen(self):
        self.page.close()
        self.open()

    def _heard(self, message):
        if message.type == "error" and not any(noise in message.text for noise in NETWORK_NOISE):
            self.errors.append(message.text)

    def records(self):
        return self.page.evaluate(READ_RECORDS)

    def entry(self):
        """The one pet's entry in `subtokenling.remote.v1`."""
        (entry,) = self.records()["remote"]["pets"].values()
        return entry

    def meet(self, name="Pip"):
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_role("button", name="Say hello").click()

    def say(self, text):
        self.page.get_by_label("Say something to").fill(text)
        self.page.get_by_role("button", name="Send", exact=True).click()

    def lose_answers(self, path_end, times=1, method="POST"):
        """The next `times` requests reach the host; their answers are lost on the way back. Returns what was sent."""
        sent = []

        def lose(route):
            if route.request.method != method or not route.request.url.endswith(path_end):
                return route.fallback()
            sent.append(json.loads(route.request.post_data or "null"))
            if len(sent) > times:
                return route.fallback()
            route.fetch()
            return route.abort()

        self.page.route("**/*", lose)
        return sent

    def close(self):
        for page in self.context.pages:
            page.unroute_all(behavior="ignoreErrors")
        self.context.close()


def living(owner, name="Pip"):
    """The owner's pet is on the screen and the host answers."""
    expect(owner.page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(owner.page.locator(".pill")).to_have_text("Live")


def heard(owner, text="i heard you."):
    return expect(owner.page.locator(".line:not(.mine) .said").last).to_have_text(text)


def eventually(visitor, is_so, within_s=15.0):
    """Waits inside the browser's own loop: routes and events are served meanwhile."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        visitor.page.wait_for_timeout(50)


def transfer(owner, entry, device, **body):
    """What another device of the same owner does."""
    url = f"{entry['host']}/api/pets/{entry['id']}/transfer"
    headers = {"Authorization": f"Bearer {entry['key']}"}
    data = {"deviceId": device, "operationId": str(uuid.uuid4()), **body}
    answer = owner.context.request.post(url, headers=headers, data=data)
    assert answer.status == 200, answer.text()
    return answer.json()


def settings(owner):
    owner.page.get_by_role("tab", name="Settings").click()
