"""The household on an empty page of a real browser, before real hosts: what the tests of homes drive and look at."""

import json
import re
import sqlite3
import subprocess
import time
import uuid
from contextlib import closing, suppress
from functools import cache

import app_home
from app_support import ROOT, AppHome

from tokenling.cli.brain_files import shipped_brain_dir, succession_of
from tokenling.engine import bridge

try:
    from playwright.sync_api import Error as PageError
except ImportError:  # the browser fixture skips those tests
    PageError = OSError

WEB = ROOT / "tokenling" / "web"
PAGE = "/home-harness.html"
WITHIN_S = 60.0
"""Longer than any step, its half minute of repeats and a host's start on a loaded machine."""
BRAIN_ID = succession_of(shipped_brain_dir())[0]
HOST_WORDS = app_home.HOST_WORDS
PAGE_WORDS = "the page heard you."

ASK = """([name, args, limitMs]) => Promise.race([
  tests.ask(name, ...args),
  new Promise((_, reject) => setTimeout(() => reject(new Error(`no end to ${name}`)), limitMs)),
])"""
READ_RECORDS = """async () => {
  const database = await new Promise((resolve, reject) => {
    const asked = indexedDB.open("subtokenling");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  const records = {};
  const transaction = database.transaction([...database.objectStoreNames]);
  for (const name of database.objectStoreNames) {
    const store = transaction.objectStore(name);
    const asked = [store.getAllKeys(), store.getAll()];
    await new Promise((resolve) => (asked[1].onsuccess = resolve));
    records[name] = asked[0].result.map((key, at) => [key, asked[1].result[at]]);
  }
  database.close();
  return records;
}"""


@cache
def harness() -> str:
    """The page's script, bundled from the product's sources."""
    command = [
        "npx",
        "esbuild",
        "tests/home/harness.ts",
        "--bundle",
        "--format=esm",
        "--target=es2022",
        "--log-level=warning",
    ]
    return subprocess.run(command, cwd=WEB, check=True, capture_output=True, text=True).stdout


class Household:
    """One browser profile with the household in it; `page` is its newest tab. Tabs of one profile share everything."""

    def __init__(self, browser, origin: str, *, opened: bool = True) -> None:
        self.origin = origin
        self.errors: list[str] = []
        self.context = browser.new_context()
        self.context.set_default_timeout(WITHIN_S * 1000)
        # a page that a test makes up has no address: Chromium takes it for one of the outside
        self.context.grant_permissions(["local-network-access"])
        self.context.expose_function("callEngine", bridge.call)
        self.context.route(f"**{PAGE}", self._serve)
        self.page = self.open() if opened else self.blank()

    def _serve(self, route) -> None:
        script = harness().replace("</script", "<\\/script")
        route.fulfill(
            content_type="text/html",
            body=f'<!doctype html><meta charset="utf-8"><script type="module">{script}</script>',
        )

    def open(self, brain_id: str = BRAIN_ID, **options):
        """A new tab with the household open. `shift`: its clock is off by so many ms. `inPage`: the engine is the
        page's own, in WebAssembly."""
        page = self.blank()
        page.evaluate("([id, options]) => tests.open(id, options)", [brain_id, options])
        return page

    def blank(self):
        """A new tab with nothing open."""
        self.page = page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(self.origin + PAGE)
        return page

    def reload(self, **options) -> None:
        """The tab is killed, whatever it was doing, and another is opened."""
        for page in self.context.pages:
            page.close()
        self.open(**options)

    def close(self) -> None:
        for page in self.context.pages:
            page.unroute_all(behavior="ignoreErrors")
        self.context.close()

    # What an owner does.

    def ask(self, name: str, *args, page=None):
        """The value of a method of the household; a refusal raises `Refused`."""
        answer = (page or self.page).evaluate(ASK, [name, list(args), WITHIN_S * 1000])
        if refused := answer.get("refused"):
            raise Refused(refused["code"], refused["fields"])
        return answer.get("ok")

    def begin(self, name: str, *args) -> None:
        """Starts what may not come to an end."""
        self.page.evaluate("([name, args]) => void tests.ask(name, ...args)", [name, list(args)])

    def send(self, pet: str, **command) -> None:
        answer = self.page.evaluate("([pet, command]) => tests.send(pet, command)", [pet, command])
        if refused := answer.get("refused"):
            raise Refused(refused["code"], refused["fields"])

    def begin_send(self, pet: str, **command) -> None:
        self.page.evaluate("([pet, command]) => void tests.send(pet, command)", [pet, command])

    def adopt(self, name: str = "Pip") -> str:
        pet = self.ask("adopt", {"name": name, "petSeed": uuid.uuid4().hex, "timeZone": "UTC"})
        self.watch(pet)
        return pet

    def adopted(self, *words: str) -> str:
        """A pet that has been spoken to, and has answered."""
        pet = self.adopt()
        for said in words or ("hello",):
            self.send(pet, kind="say", text=said)
            self.until(lambda: self.chat(pet)[-1]["who"] == "pet")
        return pet

    def hosted(self, host: AppHome, *words: str) -> str:
        """The same, living on a host."""
        pet = self.adopted(*words)
        self.ask("moveToHost", pet, host.origin)
        self.until(lambda: self.pet(pet)["link"] == "live")
        return pet

    def watch(self, pet: str) -> None:
        self.page.evaluate("pet => tests.watch(pet)", pet)

    # What is seen.

    def household(self) -> dict:
        return self.page.evaluate("() => tests.household()")

    def pet(self, pet: str, page=None) -> dict:
        return (page or self.page).evaluate("pet => tests.pet(pet)", pet)

    def chat(self, pet: str) -> list[dict]:
        return self.pet(pet)["view"]["save"].get("chat", [])

    def texts(self, pet: str, who: str) -> list[str]:
        return [line["text"] for line in self.chat(pet) if line["who"] == who]

    def until(self, is_so, within_s: float = WITHIN_S):
        """Waits inside the browser's own loop: routes, bindings and events are served meanwhile."""
        deadline = time.monotonic() + within_s
        while not (found := is_so()):
            assert time.monotonic() < deadline, f"it did not become so: {self._told()}"
            self.page.wait_for_timeout(40)
        return found

    def _told(self) -> str:
        pets = [self.pet(one["localId"]) for one in self.household()["pets"]]
        told = [{name: value for name, value in pet.items() if name != "view"} for pet in pets]
        return json.dumps([told, self.household(), self.errors], indent=1)

    def records(self) -> dict:
        return {name: [tuple(pair) for pair in pairs] for name, pairs in self.page.evaluate(READ_RECORDS).items()}

    def remote(self) -> dict:
        return dict(self.records()["records"])["subtokenling.remote.v1"]

    def entry(self, pet: str) -> dict:
        return self.remote()["pets"][pet]

    def newest(self, pet: str) -> dict:
        return dict(self.records()["subtokenling.v1"])[pet]["checkpoints"][0]

    # What goes wrong.

    def lose_answers(self, path_end: str, times: int = 1, method: str = "POST") -> list:
        """The next `times` requests reach the host; their answers are lost on the way back. Returns what was sent."""
        return self._spoil(path_end, times, method, reaches=True)

    def lose_requests(self, path_end: str, times: int = 1, method: str = "POST") -> list:
        """The next `times` requests are lost on the way. Returns what was sent."""
        return self._spoil(path_end, times, method, reaches=False)

    def _spoil(self, path_end: str, times: int, method: str, *, reaches: bool) -> list:
        sent: list = []

        def spoil(route):
            if route.request.method != method:
                return route.fallback()
            body = json.loads(route.request.post_data or "null")
            lost = len(sent) < times
            if lost and reaches:
                reach(route)
            sent.append(body)
            return route.abort() if lost else route.fallback()

        self.context.route(re.compile(f"{re.escape(path_end)}(\\?.*)?$"), spoil)
        return sent


def reach(route) -> None:
    """Let the host have the request and keep its answer. One that dies over it has lost both."""
    with suppress(PageError):
        route.fetch()


class Refused(Exception):  # noqa: N818 - a refusal, not a fault
    """The household said no: `code` and `fields`."""

    def __init__(self, code: str, fields: object) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


def pets_of(host: AppHome) -> list[str]:
    """The status of each pet in the host's database, read beside the running host."""
    with closing(sqlite3.connect(f"file:{host.state / 'pets.sqlite'}?mode=ro", uri=True)) as database:
        return [status for (status,) in database.execute("SELECT status FROM pets ORDER BY pet")]


def living_places(house: Household, pet: str, *hosts: AppHome) -> list[str]:
    """Where the pet is being run now: its page, hosts. One pet, one life: never more than one. A host counts that ran
    it before and after the page was looked at: what moves in between the looks is in one place still."""

    def running() -> list[str]:
        return [host.origin for host in hosts for status in pets_of(host) if status == "active"]

    before = running()
    places = ["page"] if house.pet(pet)["link"] in ("running", "catching_up") else []
    return places + [origin for origin in running() if origin in before]


def whole(house: Household, pet: str, *words: str) -> None:
    """Every word that the owner was told is saved is there, once, in order."""
    assert house.texts(pet, "owner") == list(words)


def settled(house: Household, pet: str, host: AppHome, link: str) -> None:
    """The pet comes to live so; on the way there it was never in two places."""

    def is_so() -> bool:
        shown = house.pet(pet)["link"]
        assert len(living_places(house, pet, host)) <= 1
        return shown == link

    house.until(is_so)
    assert house.pet(pet)["move"] is None
    assert house.entry(pet)["intent"] is None
