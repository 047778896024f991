"""A GGUF model, opened: the built graph in an ORT session, with what receipts and lanes must know of it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokenling.gguf import cache
from tokenling.gguf.build import Choices, Rows, build_model, resolve
from tokenling.gguf.building import building_folder
from tokenling.gguf.graph import WEIGHTS_FILE
from tokenling.gguf.hyperparameters import Hyperparameters
from tokenling.gguf.pages import give_back
from tokenling.gguf.progress import Progress, silent
from tokenling.gguf.reader import GgufFile
from tokenling.runtime import PROMPT_VERSION_UNKNOWN, Brain, BrainRefused, Numerics
from tokenling.runtime.config import ModelConfig
from tokenling.runtime.graph import GraphLayout, check_graph
from tokenling.runtime.ort import THREADS_MAX, check_installation, open_session, return_freed_memory, signature
from tokenling.runtime.tokenizer import Tokenizer

if TYPE_CHECKING:
    import onnxruntime


@dataclass(frozen=True, slots=True)
class Model:
    """A model ready to run; immutable, safe to use from any thread."""

    hyperparameters: Hyperparameters
    numerics: Numerics
    rows: Rows
    positions: int
    """The longest sequence it was built for."""
    threads: int
    layout: GraphLayout
    files: Mapping[str, str]
    """Name to SHA-256 of each file it came from; empty unless digests were asked for."""
    notes: tuple[str, ...]
    was_cached: bool
    cache_key: str
    """Of the directory it is kept in, empty when it is not."""
    ort_version: str
    ort_session: "onnxruntime.InferenceSession"


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of a model before it is built: its files' digests if they were asked for, the folder of its graph
    in a cache, and that graph's notes if it is there and whole."""

    files: Mapping[str, str]
    folder: Path | None
    notes: tuple[str, ...] | None


def find_built(
    file: GgufFile, choices: Choices, *, cache_dir: Path | None, digests: bool, progress: Progress = silent
) -> Found:
    """Read the files for their digests and look for the graph, as far as a cache or `digests` ask for it.

    The slow part of opening a kept graph that needs no vocabulary: it may run in a thread beside one that reads it.
    """
    choices = resolve(file, choices)[2]
    files = _digests(file, progress) if digests or cache_dir else {}
    folder = None if cache_dir is None else cache_dir.resolve() / cache.cache_key(files, choices)
    return Found(files, folder, None if folder is None else cache.kept_notes(folder))


def open_model(
    file: GgufFile,
    *,
    numerics: Numerics = "exact",
    rows: Rows = "last",
    positions: int = 0,
    threads: int = 1,
    cache_dir: Path | None = None,
    digests: bool = False,
    progress: Progress = silent,
    found: Found | None = None,
) -> Model:
    """The file's model, ready to run. Raises `GgufRefused` for a file that does not run here.

    `positions` is the longest sequence (0: the training's, at most 4096). `rows`: logits of the last token only, or of
    `all` for scoring. `cache_dir` keeps the built graph for the next time; that, and `digests`, reads the whole file
    for its SHA-256. `progress` is told how far it came; `found` is what `find_built` gave for the same choices. The
    file may be closed afterwards.
    """
    if not 1 <= threads <= THREADS_MAX:
        raise BrainRefused("threads_range", "threads", threads, f"1 to {THREADS_MAX}")
    ort_version = check_installation()
    h, _, choices = resolve(file, Choices(numerics, rows, positions))
    found = found or find_built(file, choices, cache_dir=cache_dir, digests=digests, progress=progress)
    with _built(file, choices, found, progress) as (folder, notes, was_cached):
        progress("loading", 1, 1)
        session = _session(folder, numerics, threads)
    return Model(
        hyperparameters=h,
        numerics=numerics,
        rows=rows,
        positions=choices.positions,
        threads=threads,
        layout=check_graph(*signature(session), _config(h, choices.positions, ())),
        files=found.files,
        notes=notes,
        was_cached=was_cached,
        cache_key="" if found.folder is None else found.folder.name,
        ort_version=ort_version,
        ort_session=session,
    )


def brain_of(model: Model, tokenizer: Tokenizer, eos_ids: tuple[int, ...], *, brain_id: str) -> Brain:
    """The model as a brain: lanes run it and pets can live on it. Its prompt version is unknown, it has no features."""
    return Brain(
        id=brain_id,
        features=(),
        prompt_version=PROMPT_VERSION_UNKNOWN,
        succeeds=(),
        precision="gguf",
        numerics=model.numerics,
        threads=model.threads,
        config=_config(model.hyperparameters, model.positions, eos_ids),
        layout=model.layout,
        tokenizer=tokenizer,
        file_sha256=model.files,
        ort_version=model.ort_version,
        ort_session=model.ort_session,
        unread=frozenset(),
    )


def _digests(file: GgufFile, progress: Progress) -> dict[str, str]:
    """The SHA-256 of each file of the set."""
    done = 0

    def told(size: int) -> None:
        nonlocal done
        done += size
        progress("reading", done, file.size_bytes)

    return {path.name: cache.sha256_of(path, told) for path in file.paths}


@contextmanager
def _built(
    file: GgufFile, choices: Choices, found: Found, progress: Progress
) -> Iterator[tuple[Path, tuple[str, ...], bool]]:
    """A folder with the built graph, its notes, and whether it was there before. Without a cache it goes again."""
    if found.folder is not None and found.notes is not None:
        yield found.folder, found.notes, True
        return
    if found.folder is not None:
        yield found.folder, _keep(file, choices, found.folder, progress), False
        return
    with building_folder(Path(tempfile.gettempdir()).resolve(), "tokenling-gguf-") as folder:
        yield folder, _write(file, choices, folder, progress), False


def _keep(file: GgufFile, choices: Choices, folder: Path, progress: Progress) -> tuple[str, ...]:
    """Build and keep; the graph's notes. The graph itself is gone before ONNX Runtime makes its own of it."""
    graph = build_model(file, choices, progress)
    cache.keep(folder, graph)
    return graph.notes


def _write(file: GgufFile, choices: Choices, folder: Path, progress: Progress) -> tuple[str, ...]:
    """Build and write; the graph's notes."""
    graph = build_model(file, choices, progress)
    cache.write_model(folder, graph)
    return graph.notes


def _session(folder: Path, numerics: Numerics, threads: int) -> "onnxruntime.InferenceSession":
    """An ORT session over the graph in `folder`, whose weights it maps."""
    graph = (folder / cache.MODEL_FILE).read_bytes()  # a skeleton: the weights lie beside it
    session = open_session(graph, numerics, threads, "built graph", folder=str(folder))
    give_back(folder / WEIGHTS_FILE)
    return_freed_memory()
    return session


def _config(h: Hyperparameters, positions: int, eos_ids: tuple[int, ...]) -> ModelConfig:
    """The numbers as the runtime's graph contract asks for them."""
    return ModelConfig(h.architecture, h.layers, h.kv_heads, h.head_dim, h.vocabulary, positions, eos_ids)
