"""How long an owner waits for a reply: `python -m tools.bench.reply [--replies N]`, against a real preview process.

A reply's time runs from sending the `say` command to the end of the long-poll that shows the pet's line, so it holds
the command's commit, the queue, prefill, decoding, the reply's commit and two round trips on loopback. Each line is
said to a pet that is awake, has no chatter and has answered the line before.
"""

import argparse
import base64
import os
import platform
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tokenling import engine

MEDIAN_S_MAX = 1.5
"""The promise: a reactive reply commits within this, median of 20 (docs/guide.md)."""
REPLY_S_MAX = 60.0
LINES = (
    "good morning, little one",
    "are you hungry?",
    "what is the weather like?",
    "do you remember the kite?",
    "what time is it?",
    "I had a long day and I am glad to see you",
    "shall we play?",
)
DAY_MS = 86_400_000


@contextmanager
def preview(state: str) -> Iterator[tuple[str, float]]:
    """A running preview: its address, and the seconds until health answered."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "tokenling", "preview", "--port", "0", "--state", state]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        try:
            assert process.stdout is not None
            address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
            httpx.get(f"{address}/api/health", trust_env=False).raise_for_status()
            yield address, time.monotonic() - begun
        finally:
            process.terminate()


def grown_pet(brain_id: str) -> engine.State:
    """A pet of three days that is awake, in a zone where it is ten in the morning now."""
    now = time.time_ns() // 1_000_000
    ahead = (10 - now // 3_600_000 % 24 + 12) % 24 - 12
    zone = f"Etc/GMT{-ahead:+d}" if ahead else "Etc/UTC"
    state = engine.new_pet(
        pet_seed="bench", name="Pip", time_zone=zone, brain_id=brain_id, weather_seed="w", now_ms=now - 3 * DAY_MS
    )
    state = engine.apply_command(state, engine.Settings(chatter=0), now - 3 * DAY_MS).state
    while (step := engine.advance(state, now)).turn is not None:
        state = engine.skip_turn(step.state, step.turn, "stopped").state
    return step.state


class Owner:
    """An owner with one adopted pet."""

    def __init__(self, address: str) -> None:
        key = base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
        self.http = httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=REPLY_S_MAX, trust_env=False
        )
        self.path = f"/api/pets/{uuid.uuid4()}"

    def adopt(self) -> None:
        """Prepare and activate the bench's pet."""
        brain_id = self.http.get("/api/health").json()["release"]
        save = engine.dump_save(grown_pet(brain_id)).decode()
        pet_id = self.path.rsplit("/", 1)[1]
        self.http.post("/api/pets", content=f'{{"id":"{pet_id}","save":{save}}}').raise_for_status()
        ids = f'"operationId":"{uuid.uuid4()}","deviceId":"{uuid.uuid4()}"'
        body = f'{{"to":"remote",{ids},"epoch":1,"save":{save}}}'
        self.http.post(f"{self.path}/transfer", content=body).raise_for_status()

    def say_and_wait(self, text: str) -> float:
        """Seconds from saying `text` to seeing the answer to it."""
        begun = time.monotonic()
        command = {"kind": "say", "text": text}
        body = {"epoch": 1, "operationId": str(uuid.uuid4()), "command": command}
        self.http.post(f"{self.path}/commands", json=body).raise_for_status()
        etag = ""
        while time.monotonic() - begun < REPLY_S_MAX:
            answer = self.http.get(self.path, params={"wait": 30}, headers={"If-None-Match": etag})
            etag = answer.headers.get("ETag", etag)
            if answer.status_code == httpx.codes.OK and is_answered(answer.json()):
                return time.monotonic() - begun
        raise TimeoutError(f"no reply within {REPLY_S_MAX} s")


def is_answered(view: dict[str, dict[str, object]]) -> bool:
    """Whether no reply is owed any more: the save's `asked` stands from the owner's line until the reply commits."""
    return "asked" not in view["save"]


def main() -> None:
    """Print the figures; exit with 1 when the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=20)
    replies = parser.parse_args().replies
    with tempfile.TemporaryDirectory() as state, preview(state) as (address, started_s):
        owner = Owner(address)
        owner.adopt()
        owner.say_and_wait("hello")  # the first turn warms caches that later ones find warm
        seconds = sorted(owner.say_and_wait(LINES[index % len(LINES)]) for index in range(replies))
        owner.http.close()
    median = statistics.median(seconds)
    print(f"python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"preview answered after {started_s:.2f} s")
    print(f"reply: median {median:.3f} s, fastest {seconds[0]:.3f} s, slowest {seconds[-1]:.3f} s, {replies} replies")
    sys.exit(median > MEDIAN_S_MAX)


if __name__ == "__main__":
    main()
