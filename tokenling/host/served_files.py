"""The page and the brain as they are on the disk now: a page that is replaced under the host is read again.

A request is answered from one edition of the page, and only with files that are still those the edition read. When the
page's index or manifest has changed, or a file has, the whole page is read again; it becomes the next edition when it
kept still meanwhile and is what its manifest lists. Until then the old edition stands for what is left of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import structlog
import trio

from tokenling.host.errors import ApiError, WebFilesError
from tokenling.host.file_content import Content, Stamp, stamp_at
from tokenling.host.json_value import JsonValue
from tokenling.host.site import SITE_JSON, SiteBrain, completed, host_members, listed_files, read_manifest
from tokenling.host.static_files import (
    CONTENT_TYPES,
    Encoded,
    StaticFile,
    brain_files,
    etag_of,
    made_file,
    page_files,
    tree_stamps,
)

STILL_S = 0.5
"""A page that keeps still for this long is replaced whole: a copy file by file changes more often (a guess)."""
LOOKS = 3
"""For a page that does not keep still, while a request waits."""
REST_S = 1.0
"""After looks in vain. Each costs a read of the whole page at worst."""
RETRY_S = 2

log = structlog.stdlib.get_logger("tokenling.host")


@dataclass(frozen=True, slots=True)
class Edition:
    """The page as it was read once. `mark`, of its manifest and its index, moves when it is replaced.

    `origins`: which content each coding that was ever served belongs to, by tags; the manifest lists no codings.
    """

    files: Mapping[str, StaticFile]
    mark: tuple[Stamp | None, ...]
    origins: Mapping[str, str]


class Found(NamedTuple):
    """A file, the representation of it that the client takes, and its bytes."""

    file: StaticFile
    coding: str | None
    form: Encoded
    content: Content


class ServedFiles:
    """Every file that the host serves, by exact path. Reads and hashes them all when made: blocks.

    Raises `WebFilesError` when the page cannot be served.
    """

    def __init__(self, web_root: Path | None, brain: SiteBrain | None) -> None:
        self._root = web_root
        self._members = {} if web_root is None else host_members(brain, hosted=True)
        self._brain = {} if brain is None else dict(brain_files(brain))
        self._edition = Edition({}, (), {}) if web_root is None else _read(web_root, self._members)
        self._reading = trio.Lock()
        self._rests_until_s = self._brain_rests_until_s = 0.0

    async def find(self, path: str, accepted: frozenset[str]) -> Found | None:
        """None where nothing is served. Raises `ApiError` 503 while the file is being replaced."""
        if path in self._brain:
            return await self._find_of_brain(path, accepted)
        current = await self._is_current() or await self._look_again(self._edition)
        edition = self._edition
        if (file := edition.files.get(path)) is None:
            if not current:
                raise _changing()
            return None
        found = await _opened(file, accepted)
        if found is None and await self._look_again(edition):
            if (file := self._edition.files.get(path)) is None:
                return None
            found = await _opened(file, accepted)
        if found is None:
            raise _changing()
        return found

    async def _find_of_brain(self, path: str, accepted: frozenset[str]) -> Found:
        """An id never changes its bytes: a file that was put there anew is served when it holds the same ones."""
        old = self._brain[path]
        found = await _opened(old, accepted)
        if found is None:
            async with self._reading:
                if self._brain[path] is old and trio.current_time() >= self._brain_rests_until_s:
                    await self._read_brain_again(path, old)
            found = await _opened(self._brain[path], accepted)
        if found is None:
            raise _changing()
        return found

    async def _read_brain_again(self, path: str, old: StaticFile) -> None:
        try:
            fresh = await trio.to_thread.run_sync(old.read_again)
        except OSError:
            return
        if fresh.tags == old.tags:
            self._brain[path] = fresh
        else:
            self._brain_rests_until_s = trio.current_time() + REST_S

    async def _is_current(self) -> bool:
        root = self._root
        return root is None or await trio.to_thread.run_sync(_mark_of, root) == self._edition.mark

    async def _look_again(self, old: Edition) -> bool:
        """Whether there is a newer edition than `old` now."""
        root = self._root
        if root is None:
            return False
        async with self._reading:
            if self._edition is old and trio.current_time() >= self._rests_until_s:
                for _ in range(LOOKS):
                    before = await trio.to_thread.run_sync(_stamps_of, root)
                    await trio.sleep(STILL_S)
                    fresh = await trio.to_thread.run_sync(_read_still, root, self._members, before, old)
                    if fresh is not None:
                        self._edition = fresh
                        log.info("the page has changed and was read again", files=len(fresh.files))
                        return True
                self._rests_until_s = trio.current_time() + REST_S
                log.warning("the page has changed and is not whole", expected=f"what {SITE_JSON} lists")
            return self._edition is not old


async def _opened(file: StaticFile, accepted: frozenset[str]) -> Found | None:
    coding, form = file.choose(accepted)
    content = await trio.to_thread.run_sync(form.open)
    return None if content is None else Found(file, coding, form, content)


def _mark_of(root: Path) -> tuple[Stamp | None, ...]:
    return tuple(stamp_at(root / name) for name in (SITE_JSON, "index.html"))


def _read(root: Path, members: Mapping[str, JsonValue]) -> Edition:
    mark = _mark_of(root)
    files = dict(page_files(root))
    if (manifest := read_manifest(root)) is not None:
        files[f"/{SITE_JSON}"] = made_file(completed(manifest, members), CONTENT_TYPES[".json"])
    return Edition(files, mark, _origins_of(files))


def _stamps_of(root: Path) -> Mapping[str, Stamp | None] | None:
    try:
        return tree_stamps(root)
    except (OSError, WebFilesError):
        return None  # folders come and go while they are listed


def _read_still(
    root: Path, members: Mapping[str, JsonValue], before: Mapping[str, Stamp | None] | None, old: Edition
) -> Edition | None:
    """The page, if it is whole and nothing in it has changed since `before` until it was read."""
    try:
        manifest = read_manifest(root)
        listed = {} if manifest is None else listed_files(manifest)
        if any((root / name).stat().st_size != size for name, (size, _) in listed.items()):
            return None  # before anything is hashed
        fresh = _read(root, members)
    except (OSError, WebFilesError):
        return None
    plain = {path: file.plain.etag for path, file in fresh.files.items()}
    whole = all(plain.get(f"/{name}") == etag_of(sha256) for name, (_, sha256) in listed.items() if name != SITE_JSON)
    if before is None or not whole or _stamps_of(root) != before:
        return None
    same_manifest = fresh.mark[:1] == old.mark[:1]
    files = {
        path: _trusted(file, old.files.get(path), same_manifest, old.origins) for path, file in fresh.files.items()
    }
    return Edition(files, fresh.mark, {**old.origins, **_origins_of(files)})


def _origins_of(files: Mapping[str, StaticFile]) -> Mapping[str, str]:
    return {form.etag: file.plain.etag for file in files.values() for form in file.encoded.values()}


def _trusted(file: StaticFile, old: StaticFile | None, same_manifest: bool, origins: Mapping[str, str]) -> StaticFile:
    """The file with its own codings only: a copy over the old page leaves some behind, and brings some early."""
    awaited = same_manifest and old is not None and old.plain.etag == file.plain.etag
    trusted = {file.plain.etag} if awaited else {file.plain.etag, None}
    kept = {coding: form for coding, form in file.encoded.items() if origins.get(form.etag) in trusted}
    return replace(file, encoded=kept)


def _changing() -> ApiError:
    detail = "The host's files are being replaced; ask again soon."
    return ApiError(503, "files_changing", detail, retry_after_s=RETRY_S)
