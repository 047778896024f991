"""The page's and the brain's files: a table that names them all, so that no request can name a file outside it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tokenling.host.errors import WebFilesError
from tokenling.host.file_content import Content, OpenFile, Stamp, stamp_at
from tokenling.host.site import SiteBrain

FILES_MAX = 2000
"""Files of a page. A guess: the whole browser app has a few dozen."""
READ_BYTES = 1_048_576
"""Read at once for a digest: larger pieces are no quicker."""
BRAIN_CONTRACT_FILES = ("brain.json", "config.json", "tokenizer.json")

CONTENT_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".whl": "application/zip",
    ".woff2": "font/woff2",
    ".zip": "application/zip",
}
"""Our own table: the system's differs from machine to machine. What is not in it is `application/octet-stream`."""

PAGE_POLICY = (
    "default-src 'none'; "
    "script-src 'self' 'wasm-unsafe-eval'; "  # the engine and the brain run as WebAssembly in the page
    "worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; "
    # an owner's page talks to the host the owner chose: https anywhere, plain http on this machine only
    "connect-src 'self' https: http://localhost:* http://127.0.0.1:*; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types tokenling"  # the one policy lets our own workers through
)
REVALIDATE = "no-cache"
IMMUTABLE = "public, max-age=31536000, immutable"
NAMED_BY_CONTENT = re.compile(r"-[0-9a-f]{12}\.\w+$|^app/(?:pyodide|ort)-[0-9][0-9.]*/")
"""Names that carry their content's hash, or a version in their directory's name: they never change their bytes."""
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
"""Content codings that the build lays beside a file, the smaller first, and their suffixes."""
ROOT_FILES = ("index.html", "service-worker.js")
"""What stands beside `app/`: a service worker's place decides what it may serve."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One representation of a file as it was when it was read. `etag` holds its quotes: each has its own."""

    source: Path | bytes
    size: int
    etag: str
    stamp: Stamp | None = None

    def open(self) -> Content | None:
        """Its bytes; None when the file is no more what was read. Blocks."""
        if isinstance(self.source, bytes):
            return Content(self.source, self.size, None)
        try:
            file = OpenFile(self.source)
        except OSError:
            return None
        first = file.read(self.size) if file.stamp == self.stamp else None
        return None if first is None else Content(first, self.size, file)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file as it was read: its plain bytes, and those in each content coding that lies beside it."""

    plain: Encoded
    content_type: str
    cache_control: str
    encoded: Mapping[str, Encoded] = field(default_factory=dict)

    def choose(self, accepted: frozenset[str]) -> tuple[str | None, Encoded]:
        """The best coding that the client takes, None for plain, and its representation."""
        for coding, _ in ENCODINGS:
            if coding in accepted and coding in self.encoded:
                return coding, self.encoded[coding]
        return None, self.plain

    def has_tag(self, etag: str | None) -> bool:
        return etag is not None and etag in self.tags

    @property
    def tags(self) -> frozenset[str]:
        return frozenset(form.etag for form in (self.plain, *self.encoded.values()))

    def read_again(self) -> "StaticFile":
        """The file as it is now. Raises `OSError`."""
        assert isinstance(self.plain.source, Path), "what the host writes itself does not change"
        return _static_file(self.plain.source, self.cache_control)


def accepted_codings(header: bytes) -> frozenset[str]:
    """What an `Accept-Encoding` takes, of those that we may have. `q=0` refuses; nothing else of `q` matters here."""
    found = set()
    for part in header.decode("latin-1").lower().split(","):
        name, _, parameter = part.partition(";")
        weight = parameter.strip().removeprefix("q=").strip()
        if not (parameter and re.fullmatch(r"0(\.0*)?", weight)):
            found.add(name.strip())
    return frozenset(found)


def page_files(root: Path) -> Mapping[str, StaticFile]:
    """`{"/": index.html, "/service-worker.js", "/app/NAME": every file below root/app}` of a built site.

    A directory without an `app` of its own is served whole below `/app/`. Links are followed only where they stay
    inside. Raises `WebFilesError` when there is no index.html or there are too many files.
    """
    home = root.resolve()
    found = dict(_names_below(home))
    if "index.html" not in found:
        raise WebFilesError("the page has no index.html")
    if (home / "app").is_dir():
        paths = {f"/{name}": name for name in found if name in ROOT_FILES or name.startswith("app/")}
    else:
        paths = {f"/app/{name}": name for name in found}
    suffixes = tuple(suffix for _, suffix in ENCODINGS)
    files = {
        path: _static_file(found[name], IMMUTABLE if NAMED_BY_CONTENT.search(name) else REVALIDATE)
        for path, name in paths.items()
        if not (name.endswith(suffixes) and name.rpartition(".")[0] in found)
    }
    return {**files, "/": _static_file(found["index.html"], REVALIDATE)}


def brain_files(brain: SiteBrain) -> Mapping[str, StaticFile]:
    """`/brain/BRAIN_ID/NAME` for what brain.json lists and is there, and for all that a page needs of it."""
    home = brain.directory.resolve()
    listed = tuple(_listed_names(home / "brain.json"))
    paths = {name: (home / name).resolve() for name in (*BRAIN_CONTRACT_FILES, *listed, *brain.files())}
    return {
        f"/brain/{brain.id}/{name}": _static_file(path, IMMUTABLE)
        for name, path in paths.items()
        if path.is_relative_to(home) and path.is_file()
    }


def tree_stamps(root: Path) -> Mapping[str, Stamp | None]:
    """Every file of a page and what tells that it is still the same."""
    return {name: stamp_at(path) for name, path in _names_below(root.resolve())}


def _names_below(home: Path) -> list[tuple[str, Path]]:
    names = []
    for path in sorted(home.rglob("*")):
        relative = path.relative_to(home)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
        if not hidden and path.is_file() and path.resolve().is_relative_to(home):
            names.append((relative.as_posix(), path.resolve()))
        if len(names) > FILES_MAX:
            raise WebFilesError(f"the page has more than {FILES_MAX} files")
    return names


def _listed_names(manifest: Path) -> list[str]:
    """The names in brain.json; a foreign export has none. The runtime has checked the manifest before."""
    if not manifest.is_file():
        return []
    files = json.loads(manifest.read_bytes()).get("files")
    return [str(name) for name in files] if isinstance(files, dict) else []


def _static_file(path: Path, cache_control: str) -> StaticFile:
    beside = {coding: path.with_name(path.name + suffix) for coding, suffix in ENCODINGS}
    return StaticFile(
        plain=_encoded(path),
        content_type=CONTENT_TYPES.get(path.suffix.lower(), "application/octet-stream"),
        cache_control=cache_control,
        encoded={coding: _encoded(sibling) for coding, sibling in beside.items() if sibling.is_file()},
    )


def made_file(content: bytes, content_type: str) -> StaticFile:
    """A file that the host itself writes at start."""
    plain = Encoded(content, len(content), etag_of(hashlib.sha256(content).hexdigest()))
    return StaticFile(plain, content_type, REVALIDATE)


def _encoded(path: Path) -> Encoded:
    file = OpenFile(path)
    digest, size = hashlib.sha256(), 0
    while piece := file.read_some(READ_BYTES):
        digest.update(piece)
        size += len(piece)
    return Encoded(path, size, etag_of(digest.hexdigest()), file.stamp)


def etag_of(sha256: str) -> str:
    return f'"{sha256[:32]}"'
