"""A host whose brain never answers, for measuring everything around it: `python -m tools.bench.quiet_host STATE`.

The process is a real one: listener, shell, dispatch, store. `QuietHost` starts it, `Keeper` is an owner's bare HTTP.
"""

import base64
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

import httpx
import trio

from tokenling import engine
from tokenling.cli.logs import set_up_logs
from tokenling.cli.preview import preview_settings
from tokenling.engine.request import GenerationRequest
from tokenling.host.plan import HostBrain, HostPlan
from tokenling.host.ports import Generated
from tokenling.host.run import run_host
from tokenling.host.setting_values import Address
from tokenling.host.settings import Settings

BRAIN_ID = "quiet-1"
PETS_MAX = 256
DAY_MS = 86_400_000
START_S_MAX = 30.0


@dataclass(frozen=True, slots=True)
class QuietBrain:
    """Stands where a brain's lane stands, and thinks for ever: what is measured is all the rest."""

    brain_id: str = BRAIN_ID
    features: tuple[str, ...] = ()
    prompt_version: int = engine.PROMPT_VERSION
    provider: str = "NoProvider"

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        await trio.sleep_forever()


def main() -> None:
    """Serve until stopped; prints the address."""
    state = Path(sys.argv[1])
    settings = replace(preview_settings(0, state), pets_max=PETS_MAX)

    def load(settings: Settings) -> HostBrain:
        return HostBrain(BRAIN_ID, (), settings.database.parent, (QuietBrain(),))

    def announce(address: Address | None, _brain: HostBrain) -> None:
        print(f"http://{address}", flush=True)

    set_up_logs("warning")
    sys.exit(run_host(HostPlan(settings, load, announce, preview=True)))


class QuietHost:
    """The process, as a context: its address, its memory, its processor time."""

    def __init__(self, state: Path) -> None:
        command = [sys.executable, "-m", "tools.bench.quiet_host", str(state)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address), "the host did not start"
        self.address = address
        self.port = int(address.rpartition(":")[2])

    def __enter__(self) -> "QuietHost":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _t: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def resident_bytes(self) -> int:
        """VmRSS: what the process holds in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def cpu_ns(self) -> int:
        """Processor time of all threads so far, in nanoseconds."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def stop(self) -> float:
        """Seconds from SIGTERM to the end of the process, which must be a clean one."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=START_S_MAX)
        assert code == 0, f"the host ended with {code}"
        return time.monotonic() - begun


def quiet_save(save_bytes: int, brain_id: str = BRAIN_ID) -> dict[str, object]:
    """The save of a pet of three days that says nothing by itself, padded to `save_bytes` by a field nobody reads."""
    now = time.time_ns() // 1_000_000
    state = engine.new_pet(
        pet_seed="otter", name="Pip", time_zone="Etc/UTC", brain_id=brain_id, weather_seed="w", now_ms=now - 3 * DAY_MS
    )
    state = engine.apply_command(
        state, engine.parse_command({"kind": "settings", "chatter": 0}), now - 3 * DAY_MS
    ).state
    while (step := engine.advance(state, now)).turn is not None:
        state = engine.skip_turn(step.state, step.turn, "stopped").state
    save: dict[str, object] = json.loads(engine.dump_save(step.state))
    missing = save_bytes - len(json.dumps({**save, "padding": ""}, separators=(",", ":")))
    return {**save, "padding": "x" * missing} if missing > 0 else save


@dataclass(slots=True)
class Keeper:
    """One pet's owner, with no more than a benchmark needs."""

    client: httpx.Client
    pet_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    key: str = field(default_factory=lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="))

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def path(self) -> str:
        return f"/api/pets/{self.pet_id}"

    def adopt(self, save: dict[str, object]) -> str:
        """Move the pet in; the tag of its first view."""
        self._post("/api/pets", {"id": self.pet_id, "save": save})
        self._post(
            f"{self.path}/transfer", {**self._operation(), "to": "remote", "deviceId": self.pet_id, "save": save}
        )
        return self.tag()

    def stroke(self) -> None:
        """One command, so that the tag moves."""
        self._post(f"{self.path}/commands", self.stroke_body())

    def stroke_body(self) -> dict[str, object]:
        return {**self._operation(), "command": {"kind": "care", "action": "stroke"}}

    def tag(self) -> str:
        return self.client.get(self.path, headers=self.headers).raise_for_status().headers["etag"]

    def request(self, method: str, tag: str, query: str = "") -> bytes:
        """The bytes of a poll, for sockets that are driven by hand."""
        lines = (f"{method} {self.path}{query} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.key}")
        return "\r\n".join((*lines, f"If-None-Match: {tag}", "", "")).encode()

    def _operation(self) -> dict[str, object]:
        return {"epoch": 1, "operationId": str(uuid.uuid4())}

    def _post(self, path: str, body: dict[str, object]) -> None:
        self.client.post(path, headers=self.headers, json=body).raise_for_status()


if __name__ == "__main__":
    main()
