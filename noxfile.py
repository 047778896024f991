"""The one entry point for maintainers: `nox` runs tests, lint and types; `nox -s preview` starts a pet's home.

`nox -l` lists the sessions run by hand, each with a line of its own.
"""

import hashlib
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.sessions = ["tests", "lint", "types"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True

ROOT = Path(__file__).parent
LOCKS = ROOT / "tools" / "locks"
LOCKED_GROUPS = {
    "base": [],
    "test": ["test"],
    "lint": ["lint"],
    "types": ["types", "test"],
    "docs": ["docs"],
    "exporters": ["exporters"],
    "train": ["train"],
    "coverage": ["test", "coverage"],
    "simulate": ["simulate"],
    "bench": ["test", "bench"],
}
"""Lock file to the dependency groups it holds beside the project's own requirements."""


def install_locked(session: nox.Session, *groups: str) -> None:
    """Everything by hash from the lock files, then the project itself without asking an index again."""
    for group in groups:
        session.install("--require-hashes", "-r", str(LOCKS / f"{group}.txt"))
    session.install("--no-deps", "-e", ".")


def build_web(session: nox.Session) -> None:
    """The browser app, unless it is current. Without npm the host serves a page that says how to get it."""
    if shutil.which("npm") is None:
        session.warn("npm is not here: no browser app, and tests that need it or Node's packages will skip")
        return
    session.run("python", "-m", "tools.build_web")


@nox.session
def preview(session: nox.Session) -> None:
    """Start the preview host with the shipped brain on 127.0.0.1:8460."""
    install_locked(session, "base")
    build_web(session)
    session.run("tokenling", "preview", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Every test of the default run."""
    install_locked(session, "test")
    build_web(session)
    session.run("pytest", *session.posargs)


@nox.session(default=False)
def browser(session: nox.Session) -> None:
    """Every test of the browser app in a real Chromium, the long ones too; of the files that are named, if any are."""
    install_locked(session, "test")
    build_web(session)
    everything = [] if any(each.startswith("tests/") for each in session.posargs) else ["tests/browser"]
    session.run("pytest", *everything, "-m", "browser_long or not browser_long", *session.posargs)


@nox.session(default=False)
def simulation(session: nox.Session) -> None:
    """Two million steps of two pages, a host and all that can go wrong; the same command goes on after a break."""
    install_locked(session, "test")
    state = ROOT / "build" / "simulation.json"
    state.parent.mkdir(exist_ok=True)
    session.run("python", "tests/simulation/campaign.py", "--state", str(state), *session.posargs)


@nox.session(default=False)
def crash(session: nox.Session) -> None:
    """300 kills at random moments, 100 on a disk that drops what was not synced, 50,000 strange requests; resumable."""
    install_locked(session, "test")
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    session.run("python", "tests/crash/kill_campaign.py", "--state", str(build / "kills.json"))
    session.run("python", "tests/fuzz/fuzz_campaign.py", "--state", str(build / "fuzz.json"))


@nox.session(default=False)
def soak(session: nox.Session) -> None:
    """An hour of everything at a real host: memory, open files, threads and the WAL must stay flat."""
    install_locked(session, "test")
    session.run("python", "tests/soak/soak_campaign.py", *session.posargs)


@nox.session(default=False)
def native(session: nox.Session) -> None:
    """The real host and brain over real HTTP: SUBTOKENLING_NATIVE_PROFILE=cpu (gpu, mixed), receipt in build/."""
    install_locked(session, "test")
    session.run("python", "tests/native/native_campaign.py", *session.posargs)


@nox.session(default=False)
def planted(session: nox.Session) -> None:
    """Builds with a planted fault, each of which a named test must catch."""
    install_locked(session, "test")
    session.run("python", "tests/planted/planted_faults.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff (rules and format) and the arrows between the rooms."""
    install_locked(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict."""
    install_locked(session, "types")
    session.run("mypy")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The documentation as HTML in build/docs; a warning fails."""
    install_locked(session, "docs")
    session.run("sphinx-build", "--fail-on-warning", "--keep-going", "-b", "html", "docs", "build/docs")


@nox.session(default=False)
def package(session: nox.Session) -> None:
    """Build sdist and wheel twice to the same digests, install the wheel clean, and let the host check itself."""
    session.install("build")
    builds = []
    for attempt in ("first", "second"):
        out = Path(session.create_tmp()) / attempt
        session.run("python", "-m", "build", "--outdir", str(out), ".", env={"SOURCE_DATE_EPOCH": "1767225600"})
        builds.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())})
    if builds[0] != builds[1]:
        session.error(f"two builds differ: {builds}")
    session.install("--require-hashes", "-r", str(LOCKS / "base.txt"))
    session.install("--no-deps", "--force-reinstall", *map(str, out.glob("*.whl")))
    with session.chdir(session.create_tmp()):
        session.run("tokenling", "preview", "--check", "--port", "0", "--state", "state")
        page = "from tokenling.cli.hosting import WEB_ROOT; assert (WEB_ROOT / 'index.html').is_file(), WEB_ROOT"
        session.run("python", "-c", page)


@nox.session(default=False)
def fortnight(session: nox.Session) -> None:
    """Live a simulated fortnight with the shipped brain (about 450 turns a pet)."""
    install_locked(session, "test")
    session.run("python", "-m", "tests.simulation.fortnight", *session.posargs)


@nox.session(default=False)
def parity(session: nox.Session) -> None:
    """Ask every interpreter at hand for the engine's contract: `nox -s parity -- --python PATH --pyodide DIR`."""
    install_locked(session, "test")
    build_web(session)
    session.run("python", "-m", "tools.parity", *session.posargs)


@nox.session(default=False)
def mutation(session: nox.Session) -> None:
    """Put small faults into the engine and see whether its tests notice; resumable, an hour of a core at most."""
    install_locked(session, "test")
    session.run("python", "-m", "tools.mutate_engine", *session.posargs)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Every branch of the engine is walked by its own tests."""
    install_locked(session, "coverage")
    branches = ("--cov=tokenling/engine", "--cov-branch", "--cov-fail-under=100", "--cov-report=term-missing")
    session.run("pytest", "tests/engine", *branches)


@nox.session(default=False)
def balance(session: nox.Session) -> None:
    """Write docs/balance.md and its plots again from simulated lives."""
    install_locked(session, "simulate")
    session.run("python", "-m", "tools.simulate_life", *(session.posargs or ("--write",)))


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the engine, and a reactive reply against a real preview process."""
    install_locked(session, "test")
    session.run("python", "-m", "tools.bench.engine")
    session.run("python", "-m", "tools.bench.reply", *session.posargs)


@nox.session(default=False)
def capacity(session: nox.Session) -> None:
    """How many pets a host carries (docs/capacity.md): `nox -s capacity -- --pets 1000 --seconds 60 --settle 15`."""
    install_locked(session, "bench")
    session.run("python", "-m", "tools.bench.capacity", *session.posargs)


@nox.session(default=False)
def startup_check(session: nox.Session) -> None:
    """A real server with the CPU-only ONNX Runtime that is asked for a GPU: `nox -s startup_check -- --out DIR`."""
    install_locked(session, "test")
    session.run("python", "-m", "tools.startup_check", *session.posargs)


@nox.session(default=False)
def ggufs(session: nox.Session) -> None:
    """Fetch two real GGUF files (350 MB, kept in build/ggufs) and hold their models to a float64 reference."""
    install_locked(session, "test")
    folder = ROOT / "build" / "ggufs"
    session.run("python", "-m", "tools.fetch_ggufs", str(folder))
    # one BLAS thread: the reference's products are small, and idle ones spin
    env = {"TOKENLING_GGUFS": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    session.run("pytest", "tests/gguf_models", *session.posargs, env=env)


@nox.session(default=False)
def exporters(session: nox.Session) -> None:
    """Graphs that Optimum, torch.onnx and ONNX Runtime's quantiser write load, and write what Transformers writes."""
    install_locked(session, "exporters")
    session.run("pytest", "tests/exporters", *session.posargs)


@nox.session(default=False)
def train(session: nox.Session) -> None:
    """Train and export a brain; PyTorch is installed here and nowhere else. Without arguments: the training's tests."""
    install_locked(session, "test", "train")
    if session.posargs:
        session.run("python", "-m", "tools.train_brain", *session.posargs)
    else:
        session.run("pytest", "tests/tools/test_brain_training.py", "tests/tools/test_brain_grow.py")


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Write the lock files again from pyproject.toml: hashes, no addresses."""
    session.install("uv")
    LOCKS.mkdir(parents=True, exist_ok=True)
    for name, groups in LOCKED_GROUPS.items():
        flags = [flag for group in groups for flag in ("--group", group)]
        session.run(
            "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url",
            "--no-header", "--python-version", "3.11", *flags, "pyproject.toml", "-o", str(LOCKS / f"{name}.txt"),
        )  # fmt: skip
