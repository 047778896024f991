"""Owners of a native run: many at once, over real HTTP, each with a pet of its own."""

import base64
import secrets
import time
import uuid

import httpx

from tokenling import engine

REPLY_S_MAX = 120.0
ORIGIN = "https://pets.example"
DAY_MS = 86_400_000
WORDS = "the kite flew over the old mill and the otter ran after it through the wet grass, laughing "
LONG_TEXT = (WORDS * 6)[:400].strip()
PROMPT_LINES = 9
"""One line more than a prompt quotes."""


def now_ms():
    return time.time_ns() // 1_000_000


def pet_of(brain_id, seed, *, chatter=0, long_lines=0):
    """The save of a pet of three days that is awake and owes nothing; its owner has said so many long lines."""
    now = now_ms()
    ahead = (10 - now // 3_600_000 % 24 + 12) % 24 - 12
    zone = f"Etc/GMT{-ahead:+d}" if ahead else "Etc/UTC"  # it is ten in the morning there
    state = engine.new_pet(
        pet_seed=seed, name="Pip", time_zone=zone, brain_id=brain_id, weather_seed="w", now_ms=now - 3 * DAY_MS
    )
    state = engine.apply_command(state, engine.Settings(chatter=chatter), now - 3 * DAY_MS).state
    state = quiet(state, now)
    for _ in range(long_lines):
        state = quiet(engine.apply_command(state, engine.Say(LONG_TEXT), now).state, now)
    return state


def quiet(state, now):
    """The same pet, every due turn skipped."""
    while (step := engine.advance(state, now)).turn is not None:
        state = engine.skip_turn(step.state, step.turn, "stopped").state
    return step.state


class Keeper:
    """One pet's owner: what was said, how long the answers took."""

    def __init__(self, http: httpx.AsyncClient, state) -> None:
        self._http = http
        self._save = engine.dump_save(state).decode()
        self._headers = {
            "Authorization": "Bearer " + base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
        }
        self._id, self._device = str(uuid.uuid4()), str(uuid.uuid4())
        self._etag = ""
        self.epoch = 1
        self.spoken: list[str] = []
        self.heard = sum(line.who == "pet" for line in state.chat)

    async def move_in(self):
        body = f'{{"id":"{self._id}","save":{self._save}}}'
        await self._ask("POST", "/api/pets", content=body)
        ids = f'"operationId":"{uuid.uuid4()}","deviceId":"{self._device}"'
        body = f'{{"to":"remote",{ids},"epoch":1,"save":{self._save}}}'
        await self._ask("POST", f"/api/pets/{self._id}/transfer", content=body)
        return self

    async def say(self, text):
        self.spoken.append(text)
        command = {"epoch": self.epoch, "operationId": str(uuid.uuid4()), "command": {"kind": "say", "text": text}}
        await self._ask("POST", f"/api/pets/{self._id}/commands", json=command)

    async def replied(self):
        """The view once nothing is owed to the owner any more."""
        until = time.monotonic() + REPLY_S_MAX
        while time.monotonic() < until:
            headers = {**self._headers, "If-None-Match": self._etag}
            answer = await self._http.get(f"/api/pets/{self._id}", params={"wait": 10}, headers=headers)
            self._etag = answer.headers.get("ETag", self._etag)
            if answer.status_code == httpx.codes.OK:
                view = answer.json()
                if "asked" not in view["save"] and not view["thinking"]:
                    return view
        raise TimeoutError

    async def ask(self, text):
        """Say a line and hear the answer to it; seconds."""
        begun = time.perf_counter()
        await self.say(text)
        await self.replied()
        return time.perf_counter() - begun

    async def view(self):
        return await self._ask("GET", f"/api/pets/{self._id}")

    async def receipts(self):
        return (await self._ask("GET", f"/api/pets/{self._id}/receipts"))["receipts"]

    async def park(self, operation_id=None):
        body = {
            "to": "local", "operationId": operation_id or str(uuid.uuid4()), "epoch": self.epoch,
            "deviceId": self._device,
        }  # fmt: skip
        return await self._ask("POST", f"/api/pets/{self._id}/transfer", json=body)

    async def leave(self):
        await self._ask("DELETE", f"/api/pets/{self._id}")

    async def _ask(self, method, path, **options):
        answer = await self._http.request(method, path, headers=self._headers, **options)
        answer.raise_for_status()
        return answer.json() if answer.content else None
