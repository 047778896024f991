"""See the package's docstring. Exit code 0 when every check holds, 1 when one does not, 2 for a wrong option."""

import argparse
import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import httpx

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.engine import JsonValue
from tokenling.host.settings import git_checkout_of
from tools.bench.quiet_host import quiet_save
from tools.startup_check.environment import PLAIN, make_environment, runtime_facts
from tools.startup_check.server import ORIGIN, Owner, Server

SAVE_BYTES = 2000
WRONG_KEY = "A" * 43


class Report:
    """The checks that were made, in order, each printed as it is made."""

    def __init__(self) -> None:
        self.checks: dict[str, bool] = {}
        self.measured_ms: dict[str, int] = {}

    def require(self, name: str, holds: bool) -> None:
        """Note whether one requirement holds."""
        assert name not in self.checks, "each check is made once"
        self.checks[name] = holds
        print(f"{'holds ' if holds else 'BROKEN'}  {name}", flush=True)

    @property
    def whole(self) -> bool:
        return bool(self.checks) and all(self.checks.values())

    def text(self) -> str:
        """The report as JSON."""
        whole = {"whole": self.whole, "checks": self.checks, "measuredMs": self.measured_ms}
        return json.dumps(whole, indent=1) + "\n"


def check_fallback(report: Report, server: Server, health: dict[str, JsonValue]) -> None:
    """The GPU that is not there leaves the CPU serving, and the operator is told."""
    workers = health["workers"]
    assert isinstance(workers, list), "a list by the API"
    ready = [worker["provider"] for worker in workers if isinstance(worker, dict) and worker["state"] == "ready"]
    report.require("the server is ready", health["ready"] is True)
    report.require("the CPU serves and nothing else does", ready == ["CPUExecutionProvider"])
    report.require("a line says that the GPU was not started", "SUBTOKENLING_GPU_DEVICE" in server.said())


def check_private(report: Report, owner: Owner) -> None:
    """Nobody reads a pet without its key, and nobody learns that it is there."""
    wrong = owner.ask("GET", Authorization=f"Bearer {WRONG_KEY}")
    unknown = owner.ask("GET", f"/api/pets/{uuid.uuid4()}", Authorization=f"Bearer {WRONG_KEY}")
    none, query = owner.ask("GET"), owner.ask("GET", f"{owner.path}?key={owner.key}")
    report.require("without a key 401 with WWW-Authenticate", _is(none, 401) and "www-authenticate" in none.headers)
    report.require("a key in the address is no key", _is(query, 401))
    report.require("a wrong key and an unknown pet look alike", _is(wrong, 404) and wrong.content == unknown.content)
    report.require("there is no listing", not owner.ask("GET", "/api/pets", **owner.headers).is_success)


def check_headers(report: Report, owner: Owner) -> None:
    """CORS by the allow-list, and no answer in any cache."""
    mine = owner.ask("GET", Origin=ORIGIN, **owner.headers)
    other = owner.ask("GET", Origin="https://evil.example", **owner.headers)
    refused = owner.ask("GET", Origin=ORIGIN)
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = owner.ask("OPTIONS", Origin=ORIGIN, **asked)
    allowed = [answer.headers.get("access-control-allow-origin") for answer in (mine, refused, preflight, other)]
    report.require("the allowed origin, and no other, may read", allowed == [ORIGIN, ORIGIN, ORIGIN, None])
    answers = (mine, other, refused, owner.ask("GET", "/api/health"), owner.ask("GET", "/nowhere"))
    report.require("no answer is stored", {answer.headers["cache-control"] for answer in answers} == {"no-store"})


def check_life(report: Report, owner: Owner, release: str) -> None:
    """The pet moves in, thinks, goes home, and is gone for good once deleted."""
    save = quiet_save(SAVE_BYTES, release)
    owner.adopt(save)
    check_private(report, owner)
    check_headers(report, owner)
    begun = time.monotonic()
    reply = owner.say("good morning, little one")
    report.measured_ms["reply"] = round((time.monotonic() - begun) * 1000)
    report.require("the brain answered on the CPU", bool(reply.strip()))
    parked = owner.post("transfer", {"to": "local", "deviceId": owner.pet_id})
    home = parked["save"]
    report.require(
        "the pet came home with its chat", isinstance(home, dict) and reply in json.dumps(home, ensure_ascii=False)
    )
    report.require("parking moved the epoch", (parked["status"], parked["epoch"]) == ("parked", 2))
    report.require("the pet is deleted", _is(owner.ask("DELETE", **owner.headers), 204))
    report.require("a deleted pet is gone", _is(owner.ask("GET", **owner.headers), 404))
    again = owner.client.post("/api/pets", headers=owner.headers, json={"id": owner.pet_id, "save": save})
    report.require("a late request does not bring it back", _is(again, 410))


def _is(answer: httpx.Response, status: int) -> bool:
    return answer.status_code == status


def run(out: Path, settings: dict[str, str], programs: Callable[[Path], Path] = make_environment) -> Report:
    """The whole check; `programs` makes the environment."""
    report = Report()
    where = programs(out)
    facts = runtime_facts(where)
    report.require("the plain wheel is installed, alone", facts["wheels"] == [PLAIN])
    report.require("it offers no CUDA", "CUDAExecutionProvider" not in facts["providers"])
    with Server(where, out, settings) as server:
        with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as client:
            health: dict[str, JsonValue] = client.get("/api/health").json()
            check_fallback(report, server, health)
            owner = Owner(client)
            check_life(report, owner, str(health["release"]))
        report.require("the server stops cleanly", server.stop() == 0)
        report.require("nothing private is in its log", not any(s in server.said() for s in (owner.key, owner.pet_id)))
    return report


def main() -> None:
    """Parse the options, run, write the report."""
    parser = argparse.ArgumentParser(prog="python -m tools.startup_check", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a directory that is not there yet, outside Git")
    parser.add_argument("--model", type=Path, default=shipped_brain_dir())
    parser.add_argument("--model-id", help="default: what the brain says")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--dtype", choices=("q4", "q8", "fp32"), default="q4")
    options = parser.parse_args()
    out: Path = options.out.absolute()
    checkout = git_checkout_of(out)
    if out.exists() or checkout is not None:
        parser.error(
            f"--out {out}: " + ("it is there already" if out.exists() else f"it lies inside Git, in {checkout}")
        )
    out.mkdir(mode=0o700, parents=True)
    settings = {
        "SUBTOKENLING_LISTEN": "127.0.0.1:0",
        "SUBTOKENLING_DB": str(out / "pets.sqlite"),
        "SUBTOKENLING_MODEL_DIR": str(options.model.absolute()),
        "SUBTOKENLING_MODEL_DTYPE": options.dtype,
        "SUBTOKENLING_ALLOWED_ORIGIN": ORIGIN,
        "SUBTOKENLING_THREADS": str(options.threads),
        "SUBTOKENLING_GPU_DEVICE": "0",
        **({} if options.model_id is None else {"SUBTOKENLING_MODEL_ID": options.model_id}),
    }
    report = run(out, settings)
    (out / "report.json").write_text(report.text())
    raise SystemExit(0 if report.whole else 1)


if __name__ == "__main__":
    main()
