"""A GGUF file as a brain that a pet can live on: found in a directory, built, checked as any other brain.

Only architectures of the graph contract's model types are taken. The built graph is held to that contract, as every
export's is; its tokenizer and its ends come from the file.
"""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.model import Model, brain_of, open_model
from tokenling.gguf.reader import GgufFile, open_gguf
from tokenling.gguf.splits import SPLIT_NAME
from tokenling.gguf.tokenizer import GgufTokenizer, gguf_tokenizer
from tokenling.runtime import Brain, BrainRefused, Numerics
from tokenling.runtime.brain import check_id

MODEL_TYPES: Mapping[str, str] = {"llama": "llama", "gpt2": "gpt2", "gptneox": "gpt_neox"}
"""The architectures that pets can live on, and the contract's names of them."""
ID_HEX = 16
"""Of the file's digest in the id that a brain gets without one of its own: 64 bits tell files apart."""


def find_gguf(directory: Path) -> Path | None:
    """The one GGUF file in `directory`, or the first of its one split set; None where a brain's `config.json` lies.

    Raises `BrainRefused` for more than one. None too when there is no GGUF file at all.
    """
    if (directory / "config.json").exists() or not directory.is_dir():
        return None
    found = sorted(path for path in directory.iterdir() if path.suffix == ".gguf")
    heads = {(match["stem"], match["count"]) if (match := SPLIT_NAME.fullmatch(path.name)) else path for path in found}
    if len(heads) > 1:
        names = ", ".join(path.name for path in found[:3])
        raise BrainRefused("gguf_several", "brain directory", f"{len(found)} GGUF files ({names})", "one, or one set")
    return found[0] if found else None


def open_gguf_brain(
    path: Path,
    *,
    numerics: Numerics = "exact",
    threads: int = 1,
    graphs: Path | None = None,
    brain_id: str | None = None,
    features: tuple[str, ...] | None = None,
) -> Brain:
    """The brain in the file at `path`, ready for lanes. Raises `BrainRefused` (a `GgufRefused` is one).

    Its id is of the file's digest unless given; it has the features that are given. `graphs` is a directory of this
    brain's alone where the built graph is kept for the next start; what another file or choice left there goes.
    """
    with open_gguf(path) as file:
        _check_model_type(file)
        tokenizer = gguf_tokenizer(file)
        if not tokenizer.stop_ids:
            raise GgufUnsupported("eos_missing", "tokenizer.ggml.eos_token_id", "no such key", "an id that ends a text")
        model = open_model(file, numerics=numerics, threads=threads, cache_dir=graphs, digests=True)
    if graphs is not None:
        _drop_others(graphs, model)
    name = check_id(brain_id) if brain_id is not None else f"gguf-{digest_of(model)[:ID_HEX]}"
    return _as_pets_brain(model, tokenizer, name, features or ())


def digest_of(model: Model) -> str:
    """The SHA-256 of the file, or of its parts' digests; 64 hex digits."""
    digests = list(model.files.values())
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _check_model_type(file: GgufFile) -> None:
    if file.architecture not in MODEL_TYPES:
        expected = "one that a pet can live on: " + ", ".join(MODEL_TYPES)
        raise GgufUnsupported("model_type_unsupported", "general.architecture", file.architecture, expected)


def _as_pets_brain(model: Model, tokenizer: GgufTokenizer, name: str, features: tuple[str, ...]) -> Brain:
    found = brain_of(model, tokenizer.for_brain(), tokenizer.stop_ids, brain_id=name)
    begins = (tokenizer.bos_id,) if tokenizer.adds_bos and tokenizer.bos_id is not None else ()
    config = replace(found.config, model_type=MODEL_TYPES[found.config.model_type])
    return replace(found, features=features, config=config, begin_ids=begins)


def _drop_others(graphs: Path, model: Model) -> None:
    """Keep one graph, the one just used: each takes as much as the unpacked weights."""
    for kept in graphs.iterdir():
        if kept.is_dir() and kept.name != model.cache_key:
            shutil.rmtree(kept, ignore_errors=True)
