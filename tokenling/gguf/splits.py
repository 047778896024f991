"""A model split over several files: `NAME-00001-of-00003.gguf`, of which the first holds the metadata."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokenling.gguf.errors import GgufMalformed
from tokenling.gguf.header import TENSORS_MAX, GgufTensor, Header, Part, map_file, read_header
from tokenling.gguf.metadata import Metadata

PARTS_MAX = 1024
"""A guess: five times the largest published set. Every part stays mapped."""
SPLIT_NAME = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")


@dataclass(frozen=True, slots=True)
class SplitSet:
    """The mapped files by number, and all their tensors; not whole when `header_only` did without a part."""

    files: Mapping[int, Part]
    tensors: Mapping[str, GgufTensor]
    is_whole: bool


def open_parts(first: Part, header: Header, *, header_only: bool) -> SplitSet:
    """Every part of the set that `first` begins, and all their tensors. A single file is a set of one.

    Raises `GgufMalformed`; the parts opened here are then closed again, `first` is its caller's.
    """
    count = header.metadata.integer("split.count", 1, most=PARTS_MAX) or 1
    if header.metadata.integer("split.no", 0):
        raise GgufMalformed("split_first", first.path.name, f"part {header.metadata['split.no']}", "part 0 of its set")
    files = {0: first}
    rows = list(header.tensors)
    try:
        for number in range(1, count):
            part, tensors = _open_part(first.path, number, count, header_only=header_only)
            if part is not None:
                files[number] = part
                rows.extend(tensors)
        is_whole = len(files) == count
        return SplitSet(files, _merged(rows, header.metadata, is_whole=is_whole), is_whole)
    except BaseException:
        for number in files.keys() - {0}:
            files[number].map.close()
        raise


def part_path(first: Path, number: int, count: int) -> Path:
    """The file of part `number` (from 0) beside the first. Raises `GgufMalformed` for a name of another form."""
    match = SPLIT_NAME.fullmatch(first.name)
    if match is None or int(match["number"]) != 1 or int(match["count"]) != count:
        expected = f"NAME-00001-of-{count:05}.gguf, as the file is the first of {count} parts"
        raise GgufMalformed("split_name", first.name, "another name", expected)
    return first.with_name(f"{match['stem']}-{number + 1:05}-of-{count:05}.gguf")


def _open_part(
    first: Path, number: int, count: int, *, header_only: bool
) -> tuple[Part | None, tuple[GgufTensor, ...]]:
    """One further part and its tensors; None for one that `header_only` can do without."""
    path = part_path(first, number, count)
    if header_only and not path.exists():
        return None, ()
    part = map_file(path)
    try:
        header = read_header(part, number, header_only=header_only)
        found = header.metadata.integer("split.no"), header.metadata.integer("split.count")
        if found != (number, count):
            raise GgufMalformed("split_number", path.name, f"part {found[0]} of {found[1]}", f"{number} of {count}")
    except BaseException:
        part.map.close()
        raise
    return part, header.tensors


def _merged(rows: list[GgufTensor], metadata: Metadata, *, is_whole: bool) -> dict[str, GgufTensor]:
    """The tensors of all parts by name: each once, and as many as the first part promised."""
    found = {row.name: row for row in rows}
    if len(found) != len(rows):
        twice = next(row.name for place, row in enumerate(rows) if row.name in {other.name for other in rows[:place]})
        raise GgufMalformed("tensor_duplicate", twice, "the name in two parts", "each tensor once")
    promised = metadata.integer("split.tensors.count", len(rows), most=TENSORS_MAX)
    if is_whole and promised != len(rows):
        raise GgufMalformed("split_tensors", "split.tensors.count", str(promised), f"{len(rows)}, as the parts hold")
    return found
