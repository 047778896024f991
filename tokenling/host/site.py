"""`app/site.json` as this host serves it: the built site's manifest, completed with the host's own brain.

The page reads it first: which build this is, where engine and brain are, how large they are. `tokenling site` writes
the same for a static site. The manifest's form is `SiteJson` in `web/src/site/site.ts`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tokenling.host.errors import WebFilesError
from tokenling.host.json_value import JsonValue

SITE_JSON = "app/site.json"
GRAPHS = {"fp32": "onnx/model.onnx", "q8": "onnx/model_quantized.onnx", "q4": "onnx/model_q4.onnx"}
"""The graph of each precision (design section 4)."""
CONTRACT_FILES = ("config.json", "tokenizer.json")


@dataclass(frozen=True, slots=True)
class SiteBrain:
    """The brain that a site offers to its pages. `precision` chooses the graph."""

    directory: Path
    id: str
    precision: str

    def files(self) -> tuple[str, ...]:
        """Names of what a page needs of it, external tensor files among them; empty when its graph is not there."""
        graph = GRAPHS.get(self.precision, "")
        if not graph or not (self.directory / graph).is_file():
            return ()
        manifest = ("brain.json",) if (self.directory / "brain.json").is_file() else ()
        return (*manifest, *CONTRACT_FILES, *self._with_data(graph))

    def _with_data(self, graph: str) -> Iterator[str]:
        """The graph, and beside it every file whose name begins with the graph's."""
        beside = sorted((self.directory / graph).parent.glob(f"{Path(graph).name}*"))
        return (path.relative_to(self.directory).as_posix() for path in beside if path.is_file())


def site_json(root: Path, brain: SiteBrain | None, *, hosted: bool, default_host: str | None = None) -> bytes | None:
    """The manifest of the site built at `root`, with `brain`; None when `root` has none. Raises `WebFilesError`."""
    manifest = read_manifest(root)
    return (
        None if manifest is None else completed(manifest, host_members(brain, hosted=hosted, default_host=default_host))
    )


def read_manifest(root: Path) -> dict[str, JsonValue] | None:
    """What the build wrote; None when `root` has none. Raises `WebFilesError`."""
    path = root / SITE_JSON
    if not path.is_file():
        return None
    try:
        value: JsonValue = json.loads(path.read_bytes())
    except ValueError:
        value = None
    if not isinstance(value, dict) or value.get("v") != 1:
        raise WebFilesError(f"{SITE_JSON}: found no manifest of version 1, expected what the build writes")
    return value


def listed_files(manifest: Mapping[str, JsonValue]) -> Mapping[str, tuple[int, str]]:
    """Size and SHA-256 of each file that a manifest names. Raises `WebFilesError`."""
    files = manifest.get("files")
    found: dict[str, tuple[int, str]] = {}
    for name, entry in files.items() if isinstance(files, dict) else ():
        size, sha256 = (entry.get("bytes"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
        if not isinstance(size, int) or not isinstance(sha256, str) or "\0" in name:
            raise WebFilesError(
                f"{SITE_JSON}: found a file without its size and sha256, expected what the build writes"
            )
        found[name] = size, sha256
    return found


def host_members(brain: SiteBrain | None, *, hosted: bool, default_host: str | None = None) -> Mapping[str, JsonValue]:
    """What whoever serves a site adds to its manifest. Reads and hashes the brain."""
    names = brain.files() if brain is not None else ()
    offered = brain_entry(brain, names) if brain is not None and names else None
    missing = None if offered else ("not_portable" if brain is not None else "not_bundled")
    own = brain.id if brain is not None and hosted else None
    return {
        "brain": offered, "brainMissing": missing, "hosted": hosted, "defaultHost": default_host, "hostBrain": own,
    }  # fmt: skip


def completed(manifest: Mapping[str, JsonValue], members: Mapping[str, JsonValue]) -> bytes:
    return json.dumps({**manifest, **members}, ensure_ascii=False, separators=(",", ":")).encode()


def brain_entry(brain: SiteBrain, names: tuple[str, ...]) -> JsonValue:
    files: dict[str, JsonValue] = {name: _entry(brain.directory / name) for name in names}
    return {"id": brain.id, "base": f"brain/{brain.id}/", "precision": brain.precision, "files": files}


def _entry(path: Path) -> JsonValue:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
