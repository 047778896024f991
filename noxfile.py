"""The one entry point for maintainers: `nox` runs tests, lint, types; `nox -s preview` starts a pet's home."""

from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.sessions = ["tests", "lint", "types"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True

ROOT = Path(__file__).parent
LOCKS = ROOT / "tools" / "locks"


def install_locked(session: nox.Session, *groups: str) -> None:
    """Everything by hash from the lock files, then the project itself without asking an index again."""
    for group in groups:
        session.install("--require-hashes", "-r", str(LOCKS / f"{group}.txt"))
    session.install("--no-deps", "-e", ".")


@nox.session
def preview(session: nox.Session) -> None:
    """Start the preview host with the shipped brain on 127.0.0.1:8460."""
    install_locked(session, "base")
    session.run("tokenling", "preview", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Every test of the default run."""
    install_locked(session, "test")
    session.run("pytest", *session.posargs)


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
def lock(session: nox.Session) -> None:
    """Write the lock files again from pyproject.toml: hashes, no addresses."""
    session.install("uv")
    LOCKS.mkdir(parents=True, exist_ok=True)
    for name, groups in {
        "base": [],
        "test": ["test"],
        "lint": ["lint"],
        "types": ["types", "test"],
        "train": ["train"],
    }.items():
        flags = [flag for group in groups for flag in ("--group", group)]
        session.run(
            "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url",
            "--no-header", "--python-version", "3.11", *flags, "pyproject.toml", "-o", str(LOCKS / f"{name}.txt"),
        )  # fmt: skip
