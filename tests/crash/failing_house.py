"""A whole host in this process, HTTP and all, on a disk that fails on order."""

import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import apsw
import httpx
import pytest
import trio
from crash_disk import CrashVFS
from crash_home import BRAIN_ID, Owner, Wish
from crash_zygote import ScriptedBrain

from tokenling.host.http_app import create_app
from tokenling.host.pets import Pets, PetsSettings
from tokenling.host.plan import wall_clock_ms
from tokenling.host.routes import HostFacts
from tokenling.host.server import hypercorn_config, serve_http
from tokenling.store import files, open_store, tombstones


@dataclass
class Order:
    """The `at`-th call from now (from 1) fails in its way; `lasting`: every later one, too. `at` 0: none."""

    at: int = 0
    kind: str = "EIO"
    lasting: bool = False
    calls: int = 0
    struck: int = 0
    hold: Callable[[str], None] = lambda kind: None
    """Asked first, in the disk's own thread: it may wait."""

    def give(self, at: int, kind: str, *, lasting: bool) -> None:
        self.at, self.kind, self.lasting, self.calls, self.struck = at, kind, lasting, 0, 0

    def strike(self) -> bool:
        """Whether this call fails."""
        self.calls += 1
        hit = self.at > 0 and (self.calls >= self.at if self.lasting else self.calls == self.at)
        self.struck += hit
        return hit

    def before(self, kind: str, _file: str) -> bool:
        """The disk's hook."""
        self.hold(kind)
        if not self.strike():
            return False
        if self.kind == "short":
            if kind == "write":
                return True
            raise apsw.IOError("I/O error")
        raise apsw.FullError("disk full") if self.kind == "ENOSPC" else apsw.IOError("I/O error")


class FailingOs(ModuleType):
    """`os` for the store's own files (tombstones, directory syncs): open, write, fsync and ftruncate may fail."""

    def __init__(self, order: Order) -> None:
        super().__init__("os")
        self._order = order

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _fail(self) -> None:
        if self._order.strike():
            raise OSError(errno.ENOSPC if self._order.kind == "ENOSPC" else errno.EIO, "on order")

    def open(self, *arguments: Any) -> int:
        self._fail()
        return os.open(*arguments)

    def write(self, handle: int, data: bytes) -> int:
        if self._order.kind == "short" and self._order.strike():
            os.write(handle, bytes(data)[: len(data) // 2])
            raise OSError(errno.EIO, "on order")
        if self._order.kind != "short":
            self._fail()
        return os.write(handle, data)

    def fsync(self, handle: int) -> None:
        self._fail()

    def ftruncate(self, handle: int, size: int) -> None:
        self._fail()
        os.ftruncate(handle, size)


@dataclass
class FailingHouse:
    """A running host; `order` fails its disk."""

    order: Order
    client: httpx.AsyncClient
    pets: Pets

    async def send(self, owner: Owner, wish: Wish) -> httpx.Response:
        headers = {"Authorization": f"Bearer {owner.key}"}
        return await self.client.request(wish.method, wish.path, json=wish.body, headers=headers)

    async def view(self, owner: Owner) -> httpx.Response:
        return await self.client.get(owner.path, headers={"Authorization": f"Bearer {owner.key}"})


@asynccontextmanager
async def failing_house(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FailingHouse]:
    order = Order()
    vfs = CrashVFS()
    async with open_store(folder / "pets.sqlite", now_ms=wall_clock_ms(), vfs=vfs.vfs_name) as store:
        vfs.before = order.before
        for module in (files, tombstones):
            monkeypatch.setattr(module, "os", FailingOs(order))
        pets = Pets(store, [ScriptedBrain()], now_ms=wall_clock_ms, settings=PetsSettings(pets_max=1000))
        await pets.start()
        app = create_app(pets, facts=HostFacts("0", 1, BRAIN_ID, ()), allowed_origins=())
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(pets.serve)
            serve = partial(serve_http, app, hypercorn_config("127.0.0.1:0"), stop=stop)
            (address,) = await nursery.start(serve)
            async with httpx.AsyncClient(base_url=address, timeout=20, trust_env=False) as client:
                yield FailingHouse(order, client, pets)
            order.give(0, "EIO", lasting=False)
            stop.set()
            pets.close()
