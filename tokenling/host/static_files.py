"""The page's and the brain's files: a table made once at start, so that no request can name a file outside it."""

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from tokenling.host.errors import WebFilesError
from tokenling.host.exchange import PIECE_BYTES

FILES_MAX = 2000
"""Files of a page. A guess: the whole browser app has a few dozen."""
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
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REVALIDATE = "no-cache"
IMMUTABLE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file as it was at start. `etag` holds its quotes and comes from the content's SHA-256."""

    path: Path
    size: int
    content_type: str
    etag: str
    cache_control: str

    async def pieces(self) -> AsyncIterator[bytes]:
        """The content. A file that has become shorter ends the answer short, which the client notices."""
        left = self.size
        async with await trio.open_file(self.path, "rb") as file:
            while left > 0 and (piece := await file.read(min(PIECE_BYTES, left))):
                left -= len(piece)
                yield piece


def page_files(root: Path) -> Mapping[str, StaticFile]:
    """`{"/": index.html, "/app/NAME": every file below root}`, links followed only where they stay inside.

    Raises `WebFilesError` when there is no index.html or there are too many files.
    """
    home = root.resolve()
    found = {name: _static_file(path, REVALIDATE) for name, path in _names_below(home)}
    if "index.html" not in found:
        raise WebFilesError("the page has no index.html")
    return {"/": found["index.html"], **{f"/app/{name}": file for name, file in found.items()}}


def brain_files(directory: Path, brain_id: str) -> Mapping[str, StaticFile]:
    """`/brain/BRAIN_ID/NAME` for what brain.json lists and is there, and for the contract's own files."""
    home = directory.resolve()
    listed = tuple(_listed_names(home / "brain.json"))
    paths = {name: (home / name).resolve() for name in (*BRAIN_CONTRACT_FILES, *listed)}
    return {
        f"/brain/{brain_id}/{name}": _static_file(path, IMMUTABLE)
        for name, path in paths.items()
        if path.is_relative_to(home) and path.is_file()
    }


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
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return StaticFile(
        path=path,
        size=path.stat().st_size,
        content_type=CONTENT_TYPES.get(path.suffix.lower(), "application/octet-stream"),
        etag=f'"{digest[:32]}"',
        cache_control=cache_control,
    )
