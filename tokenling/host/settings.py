"""The settings of `tokenling serve`: one table that reads them, refuses them and writes docs/settings.md.

Each `Setting` row holds a name, its meaning, its default as text, what is allowed, and the parser that holds to it.
`read_settings` tries every row and reports every refusal at once; what it returns has been checked whole.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tokenling.host.setting_values import (
    ENROL_CODE_LENGTHS,
    FEATURES_MAX,
    GPU_INDEX_MAX,
    ORIGINS_MAX,
    PETS_MAX,
    ROWS_MAX,
    THREADS_MAX,
    Address,
    Numerics,
    Precision,
    Unfit,
    Whose,
    parse_address,
    parse_brain_id,
    parse_database,
    parse_directory,
    parse_enrol_code,
    parse_features,
    parse_hosts,
    parse_loopback,
    parse_networks,
    parse_numerics,
    parse_origins,
    parse_precision,
    parse_weather_seed,
    parse_whose,
    whole,
)

PREFIX = "SUBTOKENLING_"
OLD_PREFIX = "TOKENLING_"

LANES_CHOSEN_MAX = 4
"""A lane spends a sixth of a step in Python (docs/performance.md), which one lane at a time may run: six lanes would
fill it, and the event loop needs some."""
SHOWN_CODE_POINTS_MAX = 80
"""How much of a refused value an error repeats."""

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Problem:
    """One refused setting: its full name, what was found (never a secret's value) and what is allowed."""

    name: str
    found: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.name}: found {self.found}; allowed: {self.allowed}"


class SettingsRefused(Exception):
    """Raised when at least one setting is wrong. Nothing was opened; exit code 2. Mend the settings and start again."""

    code = "settings_refused"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """One row of the table. `default` is the text that stands when the variable is unset; None: no value."""

    name: str
    meaning: str
    default: str | None
    allowed: str
    parse: Callable[[str], T_co]
    required: bool = False
    secret: bool = False

    @property
    def variable(self) -> str:
        return PREFIX + self.name


LISTEN = Setting(
    "LISTEN",
    "Socket address of the HTTP listener. Port 0 takes a free one; the bound address is printed. TLS belongs to a "
    "reverse proxy: listen on loopback behind it.",
    None,
    "an IP address and a port, such as `127.0.0.1:8460` or `[::1]:0`",
    parse_address,
    required=True,
)
DB = Setting(
    "DB",
    "The SQLite file that holds the pets: private live state, one process per file, mode 0600. Keep it outside Git.",
    None,
    "the path of a file, existing or new, in an existing directory",
    parse_database,
    required=True,
)
MODEL_DIR = Setting(
    "MODEL_DIR",
    "The brain: a directory with `tokenizer.json`, `config.json`, the chosen ONNX graph and its external tensor files; "
    "or with one GGUF file ([gguf.md](gguf.md)), whose pets cannot come to live in a page.",
    None,
    "the path of an existing directory",
    parse_directory,
    required=True,
)
MODEL_DTYPE = Setting(
    "MODEL_DTYPE",
    "Chooses exactly `onnx/model_q4.onnx`, `onnx/model_quantized.onnx` or `onnx/model.onnx`. A missing file is an "
    "error, never another precision. Must be unset for a GGUF file, which runs in its own bits.",
    "q4",
    "`q4`, `q8` or `fp32`",
    parse_precision,
)
MODEL_ID = Setting(
    "MODEL_ID",
    "The brain's release id. Unset: taken from the brain's `brain.json`, or from a GGUF file's digest. Set: must match "
    "`brain.json`; an exported brain without one needs it.",
    None,
    "1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or digit",
    parse_brain_id,
)
ALLOWED_ORIGIN = Setting(
    "ALLOWED_ORIGIN",
    "Browser origins that may call the API, exactly as a browser sends them.",
    None,
    f"`https://host[:port]`, comma-separated, at most {ORIGINS_MAX}; `http://` for loopback only; no wildcard, no path",
    parse_origins,
    required=True,
)
THREADS = Setting(
    "THREADS",
    "CPU threads inside one ONNX Runtime step; clamped to the cores over the lanes, with a line saying so "
    "where it is set. Threads between operators stay at one.",
    "4",
    f"a whole number from 1 to {THREADS_MAX}",
    whole(1, THREADS_MAX),
)
GPU_DEVICE = Setting(
    "GPU_DEVICE",
    "Logical CUDA index (after `CUDA_VISIBLE_DEVICES`) of a second worker. Unset: CPU only. A GPU that does not start "
    "leaves the CPU serving, with a line saying so; one that fails later is given up, and its turn runs on the CPU.",
    None,
    f"a whole number from 0 to {GPU_INDEX_MAX}",
    whole(0, GPU_INDEX_MAX),
)
MAX_PETS = Setting(
    "MAX_PETS",
    "Bound on registered pets, parked ones included. Not a measured capacity.",
    "64",
    f"a whole number from 1 to {PETS_MAX}",
    whole(1, PETS_MAX),
)
WEATHER_SEED = Setting(
    "WEATHER_SEED",
    "Seed of the weather, given to pets that move in. Empty: each pet keeps its own.",
    "",
    "at most 64 letters, digits, `.`, `_` and `-`",
    parse_weather_seed,
)
FEATURES = Setting(
    "FEATURES",
    "The brain's trained features. Unset: taken from its `brain.json`. Set: must match it; a brain without one has "
    "those named here, and a GGUF file without them none.",
    None,
    f'a JSON list of at most {FEATURES_MAX} different names, such as `[]` or `["lookups"]`',
    parse_features,
)
NUMERICS = Setting(
    "NUMERICS",
    "`exact` agrees with the browser (no QDQ fusion); `fast` uses fused kernels with int8 activations, "
    "whose turns cannot be proved elsewhere.",
    "exact",
    "`exact` or `fast`",
    parse_numerics,
)
CPU_LANES = Setting(
    "CPU_LANES",
    "Threads of the CPU worker that write turns side by side, over one ONNX Runtime session. Unset: one for each core, "
    f"at most {LANES_CHOSEN_MAX}, with a line saying so: two lanes on two cores need two thirds of the time of one "
    "(docs/performance.md), and more than that would wait for each other's Python.",
    None,
    f"a whole number from 1 to {THREADS_MAX}, no more than the cores",
    whole(1, THREADS_MAX),
)
BATCH_ROWS = Setting(
    "BATCH_ROWS",
    "Turns that each CPU lane writes together, token by token, each as it would be written alone (docs/capacity.md): "
    "worth 8 where more owners talk at once than there are lanes. 1: one at a time.",
    "1",
    f"a whole number from 1 to {ROWS_MAX}",
    whole(1, ROWS_MAX),
)
BRAIN_PROCESS = Setting(
    "BRAIN_PROCESS",
    "Where the brain's lanes run. `host`: in threads of the host. `own`: in a process of their own, so that the host's "
    "event loop and the lanes do not wait for each other's Python, and a crash in a lane does not end the host "
    "([capacity.md](capacity.md#a-process-for-the-brain)); worth its 50 MiB on a processor with AVX-512, where "
    "`tokenling_pets_due` does not fall to zero.",
    "host",
    "`host` or `own`",
    parse_whose,
)
METRICS_LISTEN = Setting(
    "METRICS_LISTEN",
    "Second address, for `GET /metrics` in Prometheus's text format: counts and times, no key asked. Loopback only. "
    "Unset: no metrics.",
    None,
    "a loopback address and a port, such as `127.0.0.1:9464` or `[::1]:0`",
    parse_loopback,
)
ENROL_CODE = Setting(
    "ENROL_CODE",
    "A code that a new pet must bring to move in. Unset: anyone who reaches the host may adopt here. Never shown.",
    None,
    f"{ENROL_CODE_LENGTHS[0]} to {ENROL_CODE_LENGTHS[1]} visible ASCII characters",
    parse_enrol_code,
    secret=True,
)
ALLOWED_HOSTS = Setting(
    "ALLOWED_HOSTS",
    "Host names that are answered, read from the `Host` header without its port; any other gets 421. A guard against "
    "DNS rebinding. Unset: every name is answered.",
    None,
    f"host names or addresses without a port (IPv6 in brackets), comma-separated, at most {ORIGINS_MAX}; no wildcard",
    parse_hosts,
)
TRUSTED_PROXIES = Setting(
    "TRUSTED_PROXIES",
    "Reverse proxies whose `X-Forwarded-For` is believed, read from the right as long as the hop is one of these. "
    "Limits then count for the real clients. Unset: the header is ignored, and requests from this machine are counted "
    "for their pets only.",
    None,
    f"IP addresses or networks, comma-separated, at most {ORIGINS_MAX}, such as `127.0.0.1, ::1, 10.0.0.0/24`",
    parse_networks,
)

TABLE: tuple[Setting[object], ...] = (
    LISTEN,
    DB,
    MODEL_DIR,
    MODEL_DTYPE,
    MODEL_ID,
    ALLOWED_ORIGIN,
    THREADS,
    GPU_DEVICE,
    MAX_PETS,
    WEATHER_SEED,
    FEATURES,
    NUMERICS,
    CPU_LANES,
    BATCH_ROWS,
    BRAIN_PROCESS,
    METRICS_LISTEN,
    ENROL_CODE,
    ALLOWED_HOSTS,
    TRUSTED_PROXIES,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a host runs on, checked whole. `threads` is already clamped; None means unset."""

    listen: Address
    database: Path
    model_dir: Path
    precision: Precision
    model_id: str | None
    origins: tuple[str, ...]
    threads: int
    gpu_device: int | None
    pets_max: int
    weather_seed: str
    features: tuple[str, ...] | None
    numerics: Numerics
    cpu_lanes: int
    enrol_code: str | None
    allowed_hosts: tuple[str, ...] | None
    metrics_listen: Address | None = None
    trusted_proxies: tuple[str, ...] = ()
    batch_rows: int = 1
    brain_process: Whose = "host"
    precision_is_set: bool = False
    """Whether the operator chose the precision, or the default stands."""


@dataclass(frozen=True, slots=True)
class Found:
    """The settings; what the operator should be told about them, a line each; and what was chosen for him, likewise."""

    settings: Settings
    remarks: tuple[str, ...]
    choices: tuple[str, ...] = ()


class _Reader:
    """Takes one setting after the other from an environment and gathers what is wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[Problem] = []

    def take(self, setting: Setting[T_co]) -> T_co | None:
        """The parsed value, or None when the setting is unset, or wrong (and then noted)."""
        text = self._environ.get(setting.variable, setting.default)
        if text is None:
            if setting.required:
                self.refuse(setting, "nothing (it is required)")
            return None
        try:
            return setting.parse(text)
        except Unfit as unfit:
            self.refuse(setting, _shown(setting, text) + (f" ({unfit})" if str(unfit) else ""))
            return None

    def refuse(self, setting: Setting[object], found: str) -> None:
        self.problems.append(Problem(setting.variable, found, setting.allowed.replace("`", "")))


def _shown(setting: Setting[object], text: str) -> str:
    if setting.secret:
        return f"{len(text)} characters (not shown)"
    cut = text if len(text) <= SHOWN_CODE_POINTS_MAX else text[:SHOWN_CODE_POINTS_MAX] + "…"
    return ascii(cut)


def read_settings(environ: Mapping[str, str], *, cores: int) -> Found:
    """The settings in `environ`, checked; raises `SettingsRefused` with every problem."""
    reader = _Reader(environ)
    lanes = reader.take(CPU_LANES) or min(cores, LANES_CHOSEN_MAX)
    if lanes > cores:
        reader.refuse(CPU_LANES, f"{lanes} on {cores} cores")
    batch_rows = reader.take(BATCH_ROWS) or 1
    threads_wanted = reader.take(THREADS) or 1
    listen, database, model_dir, origins = (
        reader.take(LISTEN),
        reader.take(DB),
        reader.take(MODEL_DIR),
        reader.take(ALLOWED_ORIGIN),
    )
    threads = min(threads_wanted, max(1, cores // max(1, lanes)))
    precision, numerics = reader.take(MODEL_DTYPE) or "q4", reader.take(NUMERICS) or "exact"
    weather_seed = reader.take(WEATHER_SEED) or ""
    model_id, gpu_device, pets_max = reader.take(MODEL_ID), reader.take(GPU_DEVICE), reader.take(MAX_PETS)
    features, enrol_code, hosts = reader.take(FEATURES), reader.take(ENROL_CODE), reader.take(ALLOWED_HOSTS)
    whose = reader.take(BRAIN_PROCESS) or "host"
    metrics_listen, proxies = reader.take(METRICS_LISTEN), reader.take(TRUSTED_PROXIES)
    if reader.problems or listen is None or database is None or model_dir is None or origins is None:
        raise SettingsRefused(_in_table_order(reader.problems))
    settings = Settings(
        listen=listen,
        database=database,
        model_dir=model_dir,
        origins=origins,
        model_id=model_id,
        threads=threads,
        gpu_device=gpu_device,
        pets_max=pets_max or 0,
        features=features,
        cpu_lanes=lanes,
        batch_rows=batch_rows,
        brain_process=whose,
        enrol_code=enrol_code,
        allowed_hosts=hosts,
        precision=precision,
        numerics=numerics,
        weather_seed=weather_seed,
        metrics_listen=metrics_listen,
        trusted_proxies=proxies or (),
        precision_is_set=MODEL_DTYPE.variable in environ,
    )
    return Found(settings, _remarks(environ, settings, threads_wanted, cores), _choices(environ, settings, cores))


def _in_table_order(problems: list[Problem]) -> tuple[Problem, ...]:
    order = [setting.variable for setting in TABLE]
    return tuple(sorted(problems, key=lambda problem: order.index(problem.name)))


def _remarks(environ: Mapping[str, str], settings: Settings, threads_wanted: int, cores: int) -> tuple[str, ...]:
    remarks = [*foreign_names(environ)]
    if settings.threads < threads_wanted and THREADS.variable in environ:  # a default asks for nothing
        remarks.append(
            f"{THREADS.variable} is {threads_wanted}, but each lane gets {_counted(settings.threads, 'thread')}: "
            f"{_counted(cores, 'core')} for {_counted(settings.cpu_lanes, 'lane')}"
        )
    checkout = git_checkout_of(settings.database)
    if checkout is not None:
        remarks.append(
            f"{DB.variable} lies inside the Git checkout {checkout}: it holds private state, keep it outside"
        )
    return tuple(remarks)


def _choices(environ: Mapping[str, str], settings: Settings, cores: int) -> tuple[str, ...]:
    if CPU_LANES.variable in environ:
        return ()
    lanes, threads = _counted(settings.cpu_lanes, "CPU lane"), _counted(settings.threads, "thread")
    return (f"{lanes} with {threads} each, for {_counted(cores, 'core')}; {CPU_LANES.variable} chooses",)


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" + ("" if count == 1 else "s")


def foreign_names(environ: Mapping[str, str]) -> list[str]:
    """A line each for old names, for names of ours that no setting has, and for ORT_DYLIB_PATH."""
    known = {setting.variable for setting in TABLE}
    lines = []
    old = sorted(name for name in environ if name.startswith(OLD_PREFIX))
    if old:
        lines.append(f"{', '.join(old)}: old names are not read; the settings are named {PREFIX}*")
    for name in sorted(name for name in environ if name.startswith(PREFIX) and name not in known):
        near = difflib.get_close_matches(name, known, n=1)
        lines.append(f"{name}: no such setting, not read" + (f"; is {near[0]} meant?" if near else ""))
    if "ORT_DYLIB_PATH" in environ:
        lines.append("ORT_DYLIB_PATH is not needed and not read: the onnxruntime package brings the library")
    return lines


def git_checkout_of(path: Path) -> Path | None:
    """The checkout that holds `path`, or None."""
    return next((parent for parent in path.absolute().parents if (parent / ".git").exists()), None)


@dataclass(frozen=True, slots=True)
class Shown:
    """One line of `--print-config`."""

    variable: str
    value: str
    source: str


def show_settings(environ: Mapping[str, str]) -> tuple[Shown, ...]:
    """Each setting as it was given and where it came from; a secret only as set."""
    lines = []
    for setting in TABLE:
        if setting.variable in environ:
            value = "(set, not shown)" if setting.secret else environ[setting.variable]
            lines.append(Shown(setting.variable, value, "environment"))
        else:
            lines.append(
                Shown(setting.variable, setting.default or "", "unset" if setting.default is None else "default")
            )
    return tuple(lines)


def settings_markdown() -> str:
    """The table of docs/settings.md."""
    rows = ["| Variable | Meaning | Default | Allowed |", "|---|---|---|---|"]
    for setting in TABLE:
        default = "required" if setting.required else "unset" if setting.default is None else f"`{setting.default}`"
        rows.append(
            f"| `{setting.variable}` | {setting.meaning} | {'empty' if setting.default == '' else default} "
            f"| {setting.allowed} |"
        )
    return "\n".join(rows) + "\n"
