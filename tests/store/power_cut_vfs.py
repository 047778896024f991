"""A disk whose cache is lost when the power goes: only what was synced is sure to be there.

Every write goes to the real file and into a list; a sync turns the list into what is durable. `image` is what a power
cut at this moment would leave: the durable bytes, and of the writes since any that the dice let through.
"""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

_numbers = itertools.count()


@dataclass
class Platter:
    """One file as the disk keeps it: durable bytes, and writes or truncations (data None) that are not yet."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.pending:
            _apply(self.durable, *change)
        self.pending.clear()

    def image(self, chance: random.Random) -> bytes:
        left = bytearray(self.durable)
        for change in self.pending:
            if chance.random() < 0.5:
                _apply(left, *change)
        return bytes(left)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


class PowerCutVFS(apsw.VFS):
    """`before_call` is called before every write, truncation and sync: there the power may go."""

    def __init__(self) -> None:
        self.vfs_name = f"power-cut-{next(_numbers)}"
        super().__init__(self.vfs_name, "")
        self.platters: dict[str, Platter] = {}
        self.before_call: Callable[[], None] = lambda: None

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name))
        platter = self.platters.setdefault(path.name, Platter(bytearray(path.read_bytes() if path.exists() else b"")))
        return PowerCutFile(self, platter, name, flags)

    def xDelete(self, name: str, sync_directory: bool) -> None:  # noqa: N802
        super().xDelete(name, sync_directory)
        self.platters.pop(Path(name).name, None)

    def cut(self, directory: Path, chance: random.Random) -> None:
        """What the disk would hold now, written to `directory`."""
        for name, platter in self.platters.items():
            (directory / name).write_bytes(platter.image(chance))


class PowerCutFile(apsw.VFSFile):
    """One open file on that disk."""

    def __init__(self, vfs: PowerCutVFS, platter: Platter, name: object, flags: list[int]) -> None:
        self.vfs = vfs
        self.platter = platter
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.vfs.before_call()
        self.platter.pending.append((offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.vfs.before_call()
        self.platter.pending.append((size, None))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.vfs.before_call()
        self.platter.sync()
