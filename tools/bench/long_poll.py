"""Many owners waiting at once: `python -m tools.bench.long_poll [--polls N]`, against a real process.

Pets with saves of 4 KB, 16 long-polls each (the bound). Measured: the server's memory over idle while they are parked;
the time until the last is answered when every pet changes; the time to stop under them when all are parked again.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import trio

from tokenling.host.waits import WAITS_PER_PET_MAX
from tools.bench.quiet_host import Keeper, QuietHost, quiet_save

SAVE_BYTES = 4096
MEMORY_BYTES_MAX = 80 * 1024 * 1024
WAKE_S_MAX = 2.0
STOP_S_MAX = 2.0
SETTLE_S = 1.0
"""After the last request was sent, until every poll is parked and memory is read."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What was measured with `polls` parked."""

    polls: int
    memory_bytes: int
    wake_s: float
    stop_s: float

    @property
    def kept(self) -> bool:
        return self.memory_bytes <= MEMORY_BYTES_MAX and self.wake_s <= WAKE_S_MAX and self.stop_s <= STOP_S_MAX

    def __str__(self) -> str:
        return (
            f"{self.polls} parked: {self.memory_bytes / 2**20:.1f} MiB over idle, "
            f"all woken in {self.wake_s:.2f} s, stopped under them in {self.stop_s:.2f} s"
        )


def measure(polls: int) -> Waiting:
    """Adopt, park, wake, park again, stop."""
    pets = -(-polls // WAITS_PER_PET_MAX)
    with tempfile.TemporaryDirectory() as state, QuietHost(Path(state)) as host:
        with httpx.Client(base_url=host.address, trust_env=False) as client:
            keepers = [Keeper(client) for _ in range(pets)]
            save = quiet_save(SAVE_BYTES)
            for keeper in keepers:
                keeper.adopt(save)
        return trio.run(_measure, host, keepers, polls)


async def _measure(host: QuietHost, keepers: Sequence[Keeper], polls: int) -> Waiting:
    async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=host.address, trust_env=False) as client:
        idle = host.resident_bytes()
        owners = [keepers[number % len(keepers)] for number in range(polls)]
        streams = [
            await stack.enter_async_context(await trio.open_tcp_stream("127.0.0.1", host.port)) for _ in range(polls)
        ]
        await _park(client, owners, streams)
        memory = host.resident_bytes() - idle
        begun = time.monotonic()
        async with trio.open_nursery() as nursery:
            for stream in streams:
                nursery.start_soon(_answered, stream, 200)
            for keeper in keepers:
                nursery.start_soon(_stroke, client, keeper)
        wake_s = time.monotonic() - begun
        await _park(client, owners, streams)
        async with trio.open_nursery() as nursery:
            for stream in streams:
                nursery.start_soon(_answered, stream, 304)
            stop_s = await trio.to_thread.run_sync(host.stop)
    return Waiting(polls, memory, wake_s, stop_s)


async def _park(client: httpx.AsyncClient, owners: Sequence[Keeper], streams: Sequence[trio.SocketStream]) -> None:
    tags = {}
    for keeper in {keeper.pet_id: keeper for keeper in owners}.values():
        answer = await client.get(keeper.path, headers=keeper.headers)
        tags[keeper.pet_id] = answer.headers["etag"]
    for keeper, stream in zip(owners, streams, strict=True):
        await stream.send_all(keeper.request("GET", tags[keeper.pet_id], "?wait=50"))
    await trio.sleep(SETTLE_S)


async def _stroke(client: httpx.AsyncClient, keeper: Keeper) -> None:
    body = keeper.stroke_body()
    (await client.post(f"{keeper.path}/commands", headers=keeper.headers, json=body, timeout=30)).raise_for_status()


async def _answered(stream: trio.SocketStream, status: int) -> None:
    """One whole answer with this status."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = await stream.receive_some()
        assert piece, "closed without an answer"
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d" % status), head[:40]
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
    while len(body) < length:
        piece = await stream.receive_some()
        assert piece, "closed in the middle of an answer"
        body += piece


def main() -> None:
    """Measure and print; exit code 1 when a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--polls", type=int, default=1000)
    found = measure(parser.parse_args().polls)
    print(found)
    if not found.kept:
        raise SystemExit(f"expected {MEMORY_BYTES_MAX / 2**20:.0f} MiB, {WAKE_S_MAX} s and {STOP_S_MAX} s at most")


if __name__ == "__main__":
    main()
