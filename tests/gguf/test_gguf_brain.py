"""A GGUF file as a brain: which file of a directory it is, and what the brain says of itself."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tokenling.gguf import find_gguf, open_gguf
from tokenling.gguf.brain import MODEL_TYPES, digest_of
from tokenling.gguf.model import Model, open_model
from tokenling.runtime import BrainRefused
from tokenling.runtime.config import MODEL_TYPES as CONTRACT_TYPES

MODELS = Path(__file__).parent / "models"
FOUND: dict[str, tuple[tuple[str, ...], str | None]] = {
    # name: the files, the one that is found
    "an empty directory": ((), None),
    "one file": (("a.gguf", "readme.md"), "a.gguf"),
    "a set": (("m-00002-of-00003.gguf", "m-00001-of-00003.gguf", "m-00003-of-00003.gguf"), "m-00001-of-00003.gguf"),
    "an exported brain with a file beside it": (("config.json", "a.gguf"), None),
    "an exported brain with two beside it": (("config.json", "a.gguf", "b.gguf"), None),
}
SEVERAL = {
    "two files": ("a.gguf", "b.gguf"),
    "a file and a set": ("a.gguf", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"),
    "two sets of one name": ("m-00001-of-00002.gguf", "m-00001-of-00003.gguf"),
}


def filled(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


@pytest.mark.parametrize("case", FOUND)
def test_the_one_file_or_the_first_of_the_one_set_is_found(case: str, tmp_path: Path) -> None:
    names, expected = FOUND[case]
    found = find_gguf(filled(tmp_path, names))
    assert expected == (found.name if found else None)


def test_what_is_no_directory_holds_none(tmp_path: Path) -> None:
    assert find_gguf(tmp_path / "missing") is None
    assert find_gguf(MODELS / "llama.gguf") is None


@pytest.mark.parametrize("case", SEVERAL)
def test_several_are_refused_and_named(case: str, tmp_path: Path) -> None:
    with pytest.raises(BrainRefused, match="gguf_several") as refused:
        find_gguf(filled(tmp_path, SEVERAL[case]))
    assert SEVERAL[case][0] in refused.value.found


def test_the_model_types_are_the_graph_contracts() -> None:
    assert set(CONTRACT_TYPES) == set(MODEL_TYPES.values())


def test_a_digest_is_the_files_own_and_of_a_set_that_of_its_digests() -> None:
    model = opened("llama")
    own = hashlib.sha256((MODELS / "llama.gguf").read_bytes()).hexdigest()
    assert own == digest_of(model)
    of_set = replace(model, files={"a": "1" * 64, "b": "2" * 64})
    assert hashlib.sha256(b"1" * 64 + b"2" * 64).hexdigest() == digest_of(of_set)
    assert digest_of(of_set) != digest_of(replace(model, files={"a": "2" * 64, "b": "1" * 64}))


def opened(name: str) -> Model:
    with open_gguf(MODELS / f"{name}.gguf") as file:
        return open_model(file, digests=True)
