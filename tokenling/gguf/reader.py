"""An open GGUF file or split set: its metadata, its tensors and views of their bytes."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from tokenling.gguf.cursor import Buffer
from tokenling.gguf.errors import GgufMalformed
from tokenling.gguf.header import GgufTensor, Header, beyond_end, map_file, read_header
from tokenling.gguf.splits import SplitSet, open_parts


class GgufFile:
    """An open file or split set. A context manager."""

    def __init__(self, header: Header, parts: SplitSet) -> None:
        self.path = parts.files[0].path
        self.version = header.version
        self.metadata = header.metadata
        self.tensors: Mapping[str, GgufTensor] = MappingProxyType(dict(parts.tensors))
        self._parts = parts

    @property
    def architecture(self) -> str:
        """`general.architecture`. Raises `GgufMalformed` when the file has none."""
        return self.metadata.text("general.architecture")

    @property
    def size_bytes(self) -> int:
        """Of all parts, as they lie on disk."""
        return sum(part.size_bytes for part in self._parts.files.values())

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of the set."""
        return tuple(part.path for part in self._parts.files.values())

    @property
    def is_complete(self) -> bool:
        """Whether every tensor's bytes are there; false for a file cut behind its header, or a
        set that lacks a part, opened `header_only`."""
        return self._parts.is_whole and all(self._has(tensor) for tensor in self.tensors.values())

    def data(self, name: str) -> Buffer:
        """The raw bytes of a tensor, a read-only view into the map."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise GgufMalformed("tensor_missing", name, "no such tensor", "a tensor of this name")
        if not self._has(tensor):
            raise beyond_end(tensor, self._parts.files[tensor.part].size_bytes)
        view = memoryview(self._parts.files[tensor.part].map)
        return view[tensor.offset_bytes : tensor.offset_bytes + tensor.size_bytes]

    def _has(self, tensor: GgufTensor) -> bool:
        part = self._parts.files[tensor.part]
        return tensor.offset_bytes + tensor.size_bytes <= part.size_bytes

    def close(self) -> None:
        """Unmap the files; one whose bytes are still viewed goes when the last view does."""
        for part in self._parts.files.values():
            with contextlib.suppress(BufferError):
                part.map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def open_gguf(path: Path | str, *, header_only: bool = False) -> GgufFile:
    """The file at `path`, or the split set whose first part it is, checked whole. Raises `GgufRefused`.

    With `header_only` tensor data may be cut off or parts of the set missing: names, shapes, types and sizes are known
    (and checked as far as they can be), `data` refuses what is not there.
    """
    first = map_file(Path(path))
    try:
        header = read_header(first, 0, header_only=header_only)
        parts = open_parts(first, header, header_only=header_only)
    except BaseException:
        first.map.close()
        raise
    return GgufFile(header, parts)
