"""`tokenling model fit`: whether a model fits into this machine's memory, with the arithmetic, before it is loaded."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenling.cli.model.exits import ModelExit, refusals, refuse_option
from tokenling.cli.model.machine import read_memory, resident_bytes, temporary_space
from tokenling.cli.model.options import context_option, file_argument, json_option
from tokenling.cli.model.shown import put_json, size, table

if TYPE_CHECKING:
    from tokenling.gguf import GgufFile
    from tokenling.gguf.memory import MemoryNeed
    from tokenling.runtime import Numerics

TIGHT = 0.9
"""Beyond this share of what is left, everything else on the machine feels it: the verdict says so."""
TOKEN_BYTES = 460
"""Of a tokenizer for each token and merge of its vocabulary. Measured (docs/gguf.md)."""
PROCESS_BYTES = 75 * 2**20
"""Of Python with NumPy, ONNX Runtime and tokenizers, where the system does not tell what this process has."""
WORDS = {"fits": "fits", "tight": "fits, and leaves little", "too_large": "does not fit"}


@dataclass(frozen=True, slots=True)
class Fit:
    """A model's need against what is left. `process_bytes` is this process's own, its tokenizer included."""

    need: "MemoryNeed"
    process_bytes: int
    available_bytes: int
    disk_free_bytes: int

    @property
    def total_bytes(self) -> int:
        """Of the whole process at the end of a full context."""
        return self.need.total_bytes + self.process_bytes

    @property
    def verdict(self) -> str:
        """One of `WORDS`."""
        if self.total_bytes > self.available_bytes:
            return "too_large"
        return "tight" if self.total_bytes > TIGHT * self.available_bytes else "fits"

    @property
    def needs_disk(self) -> bool:
        """Whether the built graph has no room while the model opens."""
        return self.need.temporary_bytes > self.disk_free_bytes


@click.command("fit")
@file_argument
@context_option
@click.option("--numerics", type=click.Choice(("fast", "exact")), help="Of one kind only, instead of both.")
@click.option("--memory-mib", type=click.IntRange(1), help="Against so much memory instead of what is left here.")
@json_option
def command(*, file: Path, context: int, numerics: "Numerics | None", memory_mib: int | None, as_json: bool) -> None:
    """Tell how much memory FILE takes and whether that fits here, from its header alone.

    FILE may be cut off behind its header, as one that is still being downloaded. Exit codes: 0 it fits (with
    --numerics in that kind, else in `fast`), 1 it does not, 3 it does not run here at all.
    """
    from tokenling.gguf import open_gguf

    available = available_bytes(memory_mib)
    with refusals(file), open_gguf(file, header_only=True) as opened:
        process = process_bytes() + tokenizer_bytes(opened)
        kinds: tuple[Numerics, ...] = ("fast", "exact") if numerics is None else (numerics,)
        found = [fit_of(opened, kind, context, process, available) for kind in kinds]
    if as_json:
        put_json({"file": str(file), "availableBytes": available, "fits": [as_object(fit) for fit in found]})
    else:
        click.echo(text(found, available))
    sys.exit(ModelExit.FAILED if found[0].verdict == "too_large" or found[0].needs_disk else ModelExit.DONE)


def available_bytes(memory_mib: int | None) -> int:
    """What there is to fill: as asked for, else what is left on this machine."""
    if memory_mib is not None:
        return memory_mib * 2**20
    memory = read_memory()
    if memory is None:
        refuse_option("--memory-mib", "a system that does not tell its memory", "the memory in MiB")
    return memory.available


def process_bytes() -> int:
    """What this process takes before it has a model: the libraries of a run are loaded to see it."""
    for library in ("onnxruntime", "tokenizers"):
        import_module(library)
    return resident_bytes() or PROCESS_BYTES


def tokenizer_bytes(file: "GgufFile") -> int:
    """What a tokenizer of the file's vocabulary takes."""
    keys = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges")
    return TOKEN_BYTES * sum(len(file.metadata.texts(key, ())) for key in keys)


def fit_of(file: "GgufFile", numerics: "Numerics", context: int, process: int, available: int) -> Fit:
    """The file's need in one kind of numerics. Raises `GgufRefused`."""
    from tokenling.gguf.memory import memory_of

    return Fit(memory_of(file, numerics=numerics, context=context), process, available, temporary_space()[1])


def text(found: list[Fit], available: int) -> str:
    """For a person: the sum and the verdict of each kind."""
    parts = ("weights", f"caches of {found[0].need.context} tokens", "one step's work", "graph", "process, tokenizer")
    columns = [
        (fit.need.weights_bytes, fit.need.cache_bytes, fit.need.work_bytes, fit.need.graph_bytes, fit.process_bytes)
        for fit in found
    ]
    rows = [["", *(fit.need.numerics for fit in found)]]
    rows += [[part, *(size(column[at]) for column in columns)] for at, part in enumerate(parts)]
    rows.append(["together", *(size(fit.total_bytes) for fit in found)])
    rows.append([f"of {size(available)} that are left", *(WORDS[fit.verdict] for fit in found)])
    folder, free = temporary_space()
    disk = [size(fit.need.temporary_bytes) + (", no room" if fit.needs_disk else "") for fit in found]
    rows.append([f"on disk while it opens ({size(free)} free in {folder})", *disk])
    return table(rows, right=range(1, len(found) + 1))


def as_object(fit: Fit) -> Mapping[str, object]:
    """For a program."""
    need = fit.need
    return {
        "numerics": need.numerics,
        "contextTokens": need.context,
        "verdict": fit.verdict,
        "totalBytes": fit.total_bytes,
        "weightsBytes": need.weights_bytes,
        "cacheBytes": need.cache_bytes,
        "workBytes": need.work_bytes,
        "graphBytes": need.graph_bytes,
        "processBytes": fit.process_bytes,
        "temporaryDiskBytes": need.temporary_bytes,
        "hasDisk": not fit.needs_disk,
    }
