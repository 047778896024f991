"""`tokenling site`: the browser app and a brain as a directory that any web server can serve."""

import gzip
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import click

from tokenling.cli.brain_files import shipped_brain_dir, succession_of
from tokenling.cli.console import refuse
from tokenling.cli.hosting import BUILT
from tokenling.host.errors import WebFilesError
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.site import GRAPHS, SITE_JSON, SiteBrain, site_json
from tokenling.host.static_files import PAGE_POLICY

META_CANNOT = ("frame-ancestors",)
"""Directives that a browser takes from a header only."""


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--brain", "brain_dir", type=click.Path(path_type=Path, file_okay=False), help="Instead of the shipped one."
)
@click.option("--dtype", type=click.Choice(list(GRAPHS)), default="q4", show_default=True, help="Which graph of it.")
@click.option("--default-host", metavar="URL", help="The host that a move offers first.")
def site(*, out: Path, brain_dir: Path | None, dtype: str, default_host: str | None) -> None:
    """Write the browser app with a brain into OUT, for any web server.

    OUT must be new, empty, or a site that this command wrote before. Exit codes: 0, 2 for a wrong option or when the
    app was not built, 3 for a brain that a page cannot use.
    """
    directory = (brain_dir or shipped_brain_dir()).absolute()
    origin = None if default_host is None else origin_of(default_host)
    if not (BUILT / SITE_JSON).is_file():
        refuse(ExitCode.SETTINGS, ["the browser app was not built: install Node.js with npm, then `pip install` again"])
    _refuse_foreign(out)
    brain = portable_brain(directory, dtype)
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".site-") as work:
        fresh = Path(work) / "site"
        write_site(fresh, brain, origin)
        if out.exists():
            out.rename(Path(work) / "old")
        fresh.rename(out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file() and path.suffix not in (".br", ".gz"))
    click.echo(f"{out}: the app with brain {brain.id} ({dtype}), {size / 1e6:.1f} MB before compression")
    click.echo("Serve it over https (a service worker needs that), at any path, with .wasm as application/wasm.")


def origin_of(address: str) -> str:
    """The origin of a host's address. Plain http is for this machine only."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = -1
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost"))
    bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username or parts.password)
    if not (safe and parts.hostname and bare) or port == -1:
        expected = "an https origin such as https://pets.example, or http on 127.0.0.1 or localhost"
        refuse(ExitCode.SETTINGS, [f"--default-host: expected {expected}"])
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _refuse_foreign(out: Path) -> None:
    if out.exists() and any(out.iterdir()) and not (out / SITE_JSON).is_file():
        refuse(ExitCode.SETTINGS, [f"{out}: holds files that are no site; expected a new or an empty directory"])


def portable_brain(directory: Path, dtype: str) -> SiteBrain:
    """The brain of a directory; ends the process when a page could not use it."""
    try:
        brain_id, _ = succession_of(directory)
    except HostRefused as refused:
        refuse(refused.exit_code, refused.lines)
    brain = SiteBrain(directory, brain_id, dtype)
    names = brain.files()
    missing = [name for name in (GRAPHS[dtype], *names) if not (directory / name).is_file()]
    if missing:
        refuse(ExitCode.BRAIN, [f"brain {directory}: {missing[0]} is not there; expected it for --dtype {dtype}"])
    return brain


def write_site(fresh: Path, brain: SiteBrain, default_host: str | None) -> None:
    """The whole site in a new directory."""
    shutil.copytree(BUILT, fresh, ignore=shutil.ignore_patterns(".*", f"{Path(SITE_JSON).name}*"))
    for name in brain.files():
        target = fresh / "brain" / brain.id / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(brain.directory / name, target)
    try:
        manifest = site_json(BUILT, brain, hosted=False, default_host=default_host)
    except WebFilesError as refused:
        refuse(ExitCode.SETTINGS, [str(refused)])
    assert manifest is not None, "it was there a moment ago"
    (fresh / SITE_JSON).write_bytes(manifest)
    (fresh / f"{SITE_JSON}.gz").write_bytes(gzip.compress(manifest, mtime=0))
    index = with_policy((fresh / "index.html").read_text())
    for name in ("index.html.br", "index.html.gz"):
        (fresh / name).unlink(missing_ok=True)
    (fresh / "index.html").write_text(index)


def with_policy(index: str) -> str:
    """The page with the content policy that the host would send as a header: a web server may send none."""
    kept = [part for part in PAGE_POLICY.split("; ") if part and not part.startswith(META_CANNOT)]
    head = '<meta charset="utf-8" />'
    assert head in index
    return index.replace(head, f'{head}\n    <meta http-equiv="Content-Security-Policy" content="{"; ".join(kept)}" />')
