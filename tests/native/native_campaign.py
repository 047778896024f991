"""`nox -s native`: the shipped host with a real brain, checked and timed over real HTTP, on the CPU, a GPU, or both.

    SUBTOKENLING_NATIVE_PROFILE=cpu nox -s native

Two hosts one after the other: one at temperature 0 and without chatter for the controlled part, one at the steady
temperature for the streams. Exit codes: 0 every check holds; 1 one does not; 2 the settings, or no such worker here;
130 interrupted. What was measured until then stays in `OUT.partial`.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "process"), str(Path(__file__).parents[2])]

import httpx  # noqa: E402
import native_checks as checks  # noqa: E402
import trio  # noqa: E402
from home_process import HomeProcess  # noqa: E402
from native_owner import ORIGIN  # noqa: E402
from native_receipt import CheckFailed, Receipt, facts_of  # noqa: E402
from native_settings import NativeRefused, NativeSettings, read_native  # noqa: E402

HOME = str(Path(__file__).with_name("native_home.py"))
ANSWER_S_MAX = 150.0
PETS_MAX = "512"
CONTROLLED = (checks.prompt_cases, checks.bursts, checks.continuation, checks.cancellation)


@contextlib.contextmanager
def home_of(settings: NativeSettings, state: Path, temperature_milli: int):
    """A running host of the profile."""
    own = {
        "SUBTOKENLING_LISTEN": "127.0.0.1:0", "SUBTOKENLING_METRICS_LISTEN": "127.0.0.1:0",
        "SUBTOKENLING_DB": str(state / "pets.sqlite"), "SUBTOKENLING_ALLOWED_ORIGIN": ORIGIN,
        "SUBTOKENLING_MAX_PETS": PETS_MAX,
    }  # fmt: skip
    state.mkdir(parents=True)
    stand_in = ("stand-in",) if settings.stand_in else ()
    command = (HOME, settings.profile, str(temperature_milli), *stand_in)
    with HomeProcess(*command, state=state, environ={**settings.host, **own}, pattern=r"listening on (\S+)") as home:
        yield home
        code, _ = home.stop()
        if code != 0:
            raise CheckFailed("the host stops cleanly")


def check_workers(settings, home, health):
    """The profile's workers are there. Raises `NativeRefused` when the GPU is not."""
    states = {worker["name"]: worker["state"] for worker in health["workers"]}
    if settings.has_gpu and states.get("cuda") != "ready":
        told = [line for line in home.stderr.splitlines() if "no CUDA worker was started" in line]
        found = told[0] if told else f"its worker is {states.get('cuda', 'not there')}"
        raise NativeRefused(f"profile {settings.profile} needs a GPU: {found}")
    expected = "disabled" if settings.profile == "gpu" else "ready"
    if states["cpu"] != expected:
        raise CheckFailed(f"the CPU's worker is {expected}")


async def run_phases(settings, receipt, home, phases):
    """The phases over one host, each named in the receipt while it runs."""
    metrics = home.stdout.partition("metrics on ")[2].split()[0].removesuffix("/metrics")
    limits = httpx.Limits(max_connections=None)
    async with (
        httpx.AsyncClient(base_url=home.address, timeout=ANSWER_S_MAX, trust_env=False, limits=limits) as http,
        httpx.AsyncClient(base_url=metrics, timeout=ANSWER_S_MAX, trust_env=False) as counts,
    ):
        health = (await http.get("/api/health")).json()
        check_workers(settings, home, health)
        receipt.note(brain=health["release"], workers=health["workers"], version=health["version"])
        run = checks.Run(http, counts, health["release"], receipt, settings)
        for phase in phases:
            name = phase.__name__
            receipt.note(ended=f"running: {name}")
            sys.stderr.write(f"native: {name}\n")
            await phase(run)


def run_native(settings: NativeSettings) -> int:
    """The whole run; its exit code."""
    receipt = Receipt(settings.out)
    try:
        receipt.note(**facts_of(settings, settings.host))
        with tempfile.TemporaryDirectory(prefix="tokenling-native-") as folder:
            with home_of(settings, Path(folder) / "controlled", 0) as home:
                trio.run(run_phases, settings, receipt, home, CONTROLLED)
            if settings.steady_s:
                with home_of(settings, Path(folder) / "steady", settings.steady_temperature_milli) as home:
                    trio.run(run_phases, settings, receipt, home, (checks.steady,))
    except BaseException as error:
        code, ended = ending_of(first_of(error))
        receipt.break_off(ended)
        sys.stderr.write(f"{first_of(error) or ended}\nnative: {ended}; what was measured is in {receipt.partial}\n")
        if code is None:
            raise
        return code
    receipt.finish()
    sys.stdout.write(f"every check holds: {settings.out}\n")
    return 0


def first_of(error):
    """The first failure in a group, or the failure itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def ending_of(error):
    """The exit code of a failure, and how the receipt names it; no code: a fault of the run's own."""
    if isinstance(error, NativeRefused):
        return 2, "refused"
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted"
    if isinstance(error, CheckFailed):
        return 1, f"failed: {error}"
    return None, f"failed: {type(error).__name__}"


def main() -> int:
    try:
        settings = read_native(os.environ)
    except NativeRefused as refused:
        sys.stderr.write(f"{refused}\n")
        return 2
    return run_native(settings)


if __name__ == "__main__":
    sys.exit(main())
