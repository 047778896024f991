"""A brain directory, opened: every file checked before it is used, the graph's contract before anything runs."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tokenling.runtime.config import ModelConfig, read_config
from tokenling.runtime.device import CPU, Device
from tokenling.runtime.documents import JsonObject, JsonValue, brain_object
from tokenling.runtime.errors import BrainRefused, quote
from tokenling.runtime.external_data import check_external, external_tensors
from tokenling.runtime.files import (
    DOCUMENT_BYTES_MAX,
    GRAPH_BYTES_MAX,
    TOKENIZER_BYTES_MAX,
    read_inside,
    sha256_inside,
)
from tokenling.runtime.graph import GraphLayout, check_graph
from tokenling.runtime.ort import (
    THREADS_MAX,
    Numerics,
    check_installation,
    open_session,
    return_freed_memory,
    signature,
)
from tokenling.runtime.rewrite import rewrite
from tokenling.runtime.tokenizer import Tokenizer, load_tokenizer
from tokenling.runtime.top import TopNames, with_top

if TYPE_CHECKING:
    import onnxruntime

Precision: TypeAlias = Literal["q4", "q8", "fp32", "gguf"]
"""`gguf` is a brain made of a GGUF file, in whatever bits that has: not one of a directory's."""

GRAPH_FILES: Mapping[Precision, str] = {
    "q4": "onnx/model_q4.onnx",
    "q8": "onnx/model_quantized.onnx",
    "fp32": "onnx/model.onnx",
}
"""The file of each precision of a directory: exactly this one, never another in its stead."""
NUMERICS: tuple[Numerics, ...] = ("exact", "fast")
PROMPT_VERSION_UNKNOWN = 0
"""Of a foreign export without `brain.json`: nothing says which prompts it was trained on."""
FEATURES_MAX = 64
"""A guess: the engine has a handful."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def may_read_prompts(trained_on: int, built: int) -> bool:
    """Whether a brain of prompt version `trained_on` may be given prompts of version `built`: its own, or, when nothing
    says which those are, any (tags are masked, so it acts legally whatever it makes of them)."""
    return trained_on in (built, PROMPT_VERSION_UNKNOWN)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `brain.json` says, or what the settings say of a foreign export; `files` is empty for the latter."""

    id: str
    features: tuple[str, ...]
    prompt_version: int
    succeeds: tuple[str, ...]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Brain:
    """A checked brain with its ORT session, which lanes share; immutable, safe to use from any thread."""

    id: str
    features: tuple[str, ...]
    prompt_version: int
    succeeds: tuple[str, ...]
    precision: Precision
    numerics: Numerics
    threads: int
    config: ModelConfig
    layout: GraphLayout
    tokenizer: Tokenizer
    file_sha256: Mapping[str, str]
    ort_version: str
    ort_session: "onnxruntime.InferenceSession"
    unread: frozenset[str]
    """Inputs of the layout that the rewritten graph does not read: they need not be fed."""
    begin_ids: tuple[int, ...] = ()
    """What goes in front of every prompt: the BOS of a model that was trained with one."""
    device: Device = CPU
    lanes: int = 1
    top: TopNames | None = None
    """Where the session's graph finds a row's greatest logits by itself: the names of those outputs."""

    @property
    def model_type(self) -> str:
        """`gpt2`, `gpt_neox` or `llama`."""
        return self.config.model_type

    @property
    def positions_max(self) -> int:
        """The most tokens the model has positions for."""
        return self.config.positions_max


def open_brain(
    path: Path | str,
    *,
    precision: Precision = "q4",
    numerics: Numerics = "exact",
    threads: int = 1,
    brain_id: str | None = None,
    features: tuple[str, ...] | None = None,
    lanes: int = 1,
) -> Brain:
    """The brain in the directory `path`, ready for lanes. Raises `BrainRefused` on the first breach of the contract.

    `lanes`: how many threads at a time will run turns over it; several do not share ONNX Runtime's memory arena.
    `brain_id` and `features` are required for a foreign export without `brain.json`, and must match it where it is.
    Reads the files once, hashes what it reads, and loads exactly those bytes (external data apart, which ONNX Runtime
    opens itself after the check).
    """
    _check_choices(precision, numerics, threads)
    ort_version = check_installation()
    root = Path(path)
    if not root.is_dir():
        raise BrainRefused("brain_missing", "brain directory", str(path), "a directory")
    manifest = _manifest(root, brain_id, features)
    documents, digests = _read_documents(root)
    config = read_config(brain_object(documents["config.json"], "config.json"))
    tokenizer = load_tokenizer(documents["tokenizer.json"], config.vocabulary)
    graph_file = GRAPH_FILES[precision]
    graph = read_inside(root, graph_file, GRAPH_BYTES_MAX)
    digests |= _graph_digests(root, graph, graph_file)
    _check_digests(manifest, digests)
    folder = str((root / graph_file).parent) if len(digests) > len(documents) + 1 else None
    rewritten = rewrite(graph, graph_file)
    del graph  # a large graph's bytes are not kept while ONNX Runtime makes its own of them
    unread = rewritten.unread
    model, top = with_top(rewritten.model, graph_file, config.vocabulary)
    del rewritten
    session = open_session(model, numerics, threads, graph_file, folder=folder, arena=lanes == 1)
    del model
    return_freed_memory()
    return Brain(
        id=manifest.id,
        features=manifest.features,
        prompt_version=manifest.prompt_version,
        succeeds=manifest.succeeds,
        precision=precision,
        numerics=numerics,
        threads=threads,
        config=config,
        layout=check_graph(*signature(session, added=top or ()), config),
        tokenizer=tokenizer,
        file_sha256=digests,
        ort_version=ort_version,
        ort_session=session,
        unread=unread,
        lanes=lanes,
        top=top,
    )


def on_cuda(brain: Brain, path: Path | str, *, index: int) -> Brain:
    """The same brain with an ORT session on the CUDA device `index`, from the same bytes of the directory `path`.

    The graph runs as it is stored, but for its last row: what is made for the CPU's kernels would leave the device.
    Raises `BrainRefused`: `cuda_unavailable`, or `file_changed` when the files are no longer those of `brain`.
    """
    if brain.precision not in GRAPH_FILES:
        raise BrainRefused("device_unknown", "device", f"cuda:{index}", f"cpu, where a brain in {brain.precision} runs")
    graph, graph_file, folder = stored_graph(brain, Path(path))
    device = Device("cuda", index)
    rewritten = rewrite(graph, graph_file, attention=False)
    session = open_session(rewritten.model, brain.numerics, brain.threads, graph_file, folder=folder, device=device)
    layout = check_graph(*signature(session), brain.config)
    return replace(brain, ort_session=session, layout=layout, unread=rewritten.unread, device=device, top=None)


def stored_graph(brain: Brain, root: Path) -> tuple[bytes, str, str | None]:
    """The graph that `brain` was opened with: its bytes, its file's name, the folder of weights beside it, if any.

    Raises `BrainRefused` (`file_changed`) when it is another one by now.
    """
    graph_file = GRAPH_FILES[brain.precision]
    graph = read_inside(root, graph_file, GRAPH_BYTES_MAX)
    digests = _graph_digests(root, graph, graph_file)
    for name, digest in digests.items():
        if brain.file_sha256.get(name) != digest:
            raise BrainRefused("file_changed", name, f"SHA-256 {digest}", "the bytes that the brain was opened with")
    return graph, graph_file, str((root / graph_file).parent) if len(digests) > 1 else None


def _check_choices(precision: Precision, numerics: Numerics, threads: int) -> None:
    if precision not in GRAPH_FILES:
        raise BrainRefused("precision_unknown", "precision", precision, " or ".join(GRAPH_FILES))
    if numerics not in NUMERICS:
        raise BrainRefused("numerics_unknown", "numerics", numerics, " or ".join(NUMERICS))
    if not 1 <= threads <= THREADS_MAX:
        raise BrainRefused("threads_range", "threads", threads, f"1 to {THREADS_MAX}")


def _read_documents(root: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """The two files every brain has, with their digests."""
    sizes = {"config.json": DOCUMENT_BYTES_MAX, "tokenizer.json": TOKENIZER_BYTES_MAX}
    documents = {name: read_inside(root, name, most) for name, most in sizes.items()}
    return documents, {name: hashlib.sha256(data).hexdigest() for name, data in documents.items()}


def _graph_digests(root: Path, graph: bytes, graph_file: str) -> dict[str, str]:
    """The digests of the graph and of the files that it reads beside itself, after each was found to lie inside."""
    folder = graph_file.rpartition("/")[0]
    files = check_external(root, folder, external_tensors(graph, graph_file))
    return {graph_file: hashlib.sha256(graph).hexdigest(), **{file: sha256_inside(root, file) for file in files}}


def _manifest(root: Path, brain_id: str | None, features: tuple[str, ...] | None) -> Manifest:
    """`brain.json` against the settings, or the settings alone for a foreign export."""
    if not (root / "brain.json").exists() and not (root / "brain.json").is_symlink():
        if brain_id is None or features is None:
            raise BrainRefused(
                "brain_json_missing", "brain.json", "no file", "the file, or an id and features as settings"
            )
        return Manifest(check_id(brain_id), features, PROMPT_VERSION_UNKNOWN, (), {})
    manifest = read_manifest(brain_object(read_inside(root, "brain.json", DOCUMENT_BYTES_MAX), "brain.json"))
    if brain_id is not None and brain_id != manifest.id:
        raise BrainRefused("id_mismatch", "brain.json id", manifest.id, f"{brain_id}, as set")
    if features is not None and set(features) != set(manifest.features):
        raise BrainRefused("features_mismatch", "brain.json features", manifest.features, f"{quote(features)}, as set")
    return manifest


def read_manifest(document: JsonObject) -> Manifest:
    """The checked content of `brain.json`. Raises `BrainRefused`."""
    version = document.get("promptVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BrainRefused("manifest_field", "brain.json promptVersion", version, "a positive integer")
    return Manifest(
        id=check_id(document.get("id")),
        features=_texts(document.get("features"), "features"),
        prompt_version=version,
        succeeds=_texts(document.get("succeeds", []), "succeeds"),
        files=_file_digests(document.get("files")),
    )


def check_id(value: JsonValue) -> str:
    """A brain's id, if it can be one. Raises `BrainRefused`."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        expected = "1 to 100 letters, digits, dots, dashes, underscores"
        raise BrainRefused("manifest_field", "brain.json id", value, expected)
    return value


def _texts(value: JsonValue, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > FEATURES_MAX or not all(isinstance(entry, str) for entry in value):
        raise BrainRefused("manifest_field", f"brain.json {field}", value, f"a list of at most {FEATURES_MAX} strings")
    return tuple(str(entry) for entry in value)


def _file_digests(value: JsonValue) -> dict[str, str]:
    if not isinstance(value, Mapping) or not value:
        raise BrainRefused("manifest_field", "brain.json files", value, "an object of file names and SHA-256 digests")
    for name, digest in value.items():
        if not isinstance(digest, str) or not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise BrainRefused("manifest_field", f"brain.json files {name}", digest, "64 lower-case hex digits")
    return {name: str(digest) for name, digest in value.items()}


def _check_digests(manifest: Manifest, digests: Mapping[str, str]) -> None:
    """Each file that is used must be listed with its digest; a foreign export lists none."""
    if not manifest.files:
        return
    for name, digest in digests.items():
        listed = manifest.files.get(name)
        if listed is None:
            raise BrainRefused("file_unlisted", f"brain.json files {name}", "no digest", "the file's SHA-256")
        if listed != digest:
            raise BrainRefused("file_changed", name, f"SHA-256 {digest}", f"{listed}, as in brain.json")
