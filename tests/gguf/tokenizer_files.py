"""The committed vocabularies of tests/gguf/tokenizers, to be read and to be written again with a change."""

from pathlib import Path

from gguf_bytes import INT32, UINT8, array, gguf, write

from tokenling.gguf import GgufFile, open_gguf

FILES = Path(__file__).parent / "tokenizers"
PREFIX = "tokenizer.ggml."


def keys_of(name: str) -> dict[str, object]:
    """A fixture's metadata, to be written again with a change."""
    with open_gguf(FILES / f"{name}.gguf") as file:
        return {key: _written(file, key) for key in file.metadata}


def _written(file: GgufFile, key: str) -> object:
    found = file.metadata[key]
    if isinstance(found, tuple):
        return list(found)
    if isinstance(found, str | int | float):
        return found
    kind = {"i": INT32, "u": UINT8}.get(found.dtype.kind)
    return array(kind, found.tolist()) if kind is not None else found.tolist()


def changed(folder: Path, name: str, **changes: object) -> Path:
    """A fixture with other values (None: without the key)."""
    keys = keys_of(name)
    keys.update({(key.replace("__", ".") if "__" in key else PREFIX + key): value for key, value in changes.items()})
    return write(folder / "changed.gguf", gguf({key: value for key, value in keys.items() if value is not None}))
