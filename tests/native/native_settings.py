"""What a native run is asked to do: `SUBTOKENLING_NATIVE_*`, every wrong one named at once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tokenling.cli.brain_files import shipped_brain_dir

PREFIX = "SUBTOKENLING_NATIVE_"
PROFILES = ("cpu", "gpu", "mixed")
COUNT_MAX = 64
"""Pets in one burst: four times the seed's largest."""
ROUNDS_MAX = 100
STEADY_S_MAX = 300
TEMPERATURE_MAX = 10.0
HOST_NAMES = ("MODEL_DIR", "MODEL_DTYPE", "MODEL_ID", "FEATURES", "THREADS", "CPU_LANES", "NUMERICS", "GPU_DEVICE")
"""The host's own settings that a run passes on."""


class NativeRefused(Exception):
    """The run cannot begin: a setting is wrong, or the machine lacks what the profile is about. Exit code 2."""


@dataclass(frozen=True)
class NativeSettings:
    """A run. What the environment does not set is for the short forms in the default tests: fewer repetitions, no wait
    for the real clock (`continuation_ms` 0; turns of pets' own are due at whole minutes), and `stand_in`, which takes
    the CPU for a GPU on any machine."""

    profile: str
    out: Path
    counts: tuple[int, ...] = (1, 4, 8, 16)
    rounds: int = 3
    steady_s: float = 0.0
    steady_temperature_milli: int = 850
    host: Mapping[str, str] = field(default_factory=dict)
    repetitions: int = 5
    cancels: int = 5
    continuation_ms: int = 75_000
    stand_in: bool = False

    @property
    def has_gpu(self) -> bool:
        return self.profile != "cpu"


def read_native(environ: Mapping[str, str]) -> NativeSettings:
    """The settings of `environ`. Raises `NativeRefused` with a line for each wrong one."""
    problems: list[str] = []

    def take(name, default, parse, allowed):
        text = environ.get(PREFIX + name, default)
        try:
            if text is None:
                raise ValueError
            return parse(text)
        except ValueError:
            found = "nothing (it is required)" if text is None else ascii(text[:80])
            problems.append(f"{PREFIX}{name}: found {found}; allowed: {allowed}")
            return None

    profile = take("PROFILE", None, one_of(PROFILES), " or ".join(PROFILES))
    out = take("OUT", f"build/native-{profile}.json", fresh_file, "the path of a file that is not there yet")
    counts = take("COUNTS", "1,4,8,16", whole_list, f"whole numbers from 1 to {COUNT_MAX}, comma-separated")
    rounds = take("ROUNDS", "3", whole(1, ROUNDS_MAX), f"a whole number from 1 to {ROUNDS_MAX}")
    steady_s = take("STEADY_SECONDS", "0", number(STEADY_S_MAX), f"a number from 0 to {STEADY_S_MAX}")
    heat = take("STEADY_TEMPERATURE", "0.85", number(TEMPERATURE_MAX), f"a number from 0 to {TEMPERATURE_MAX:g}")
    if problems:
        raise NativeRefused("\n".join(problems))
    return NativeSettings(profile, out, counts, rounds, steady_s, round(heat * 1000), host_settings(profile, environ))


def host_settings(profile: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The host's settings of a run: those that are set, the shipped brain, and a GPU where the profile has one."""
    given = {name: environ["SUBTOKENLING_" + name] for name in HOST_NAMES if "SUBTOKENLING_" + name in environ}
    given.setdefault("MODEL_DIR", str(shipped_brain_dir()))
    if profile == "cpu":
        given.pop("GPU_DEVICE", None)
    else:
        given.setdefault("GPU_DEVICE", "0")
    return {"SUBTOKENLING_" + name: value for name, value in given.items()}


def one_of(allowed):
    def parse(text):
        if text not in allowed:
            raise ValueError
        return text

    return parse


def whole(least, most):
    def parse(text):
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not least <= value <= most:
            raise ValueError
        return value

    return parse


def whole_list(text):
    return tuple(map(whole(1, COUNT_MAX), text.split(",")))


def number(most):
    def parse(text):
        value = float(text)
        if not 0 <= value <= most:  # NaN is not
            raise ValueError
        return value

    return parse


def fresh_file(text):
    path = Path(text)
    if not text or path.exists() or (path.parent.exists() and not os.access(path.parent, os.W_OK)):
        raise ValueError
    return path
