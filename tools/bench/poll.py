"""What a poll costs the server, with and without Quart: `python -m tools.bench.poll [--rounds N]`.

Two requests get the same 304 from the same shell, the same dispatch and the same pet: `GET`, which the shell answers by
itself, and `HEAD`, which goes through Quart. They take turns, a block each, over kept connections; what is compared is
the processor time of the server's process.
"""

import argparse
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import httpx
import trio

from tools.bench.quiet_host import Keeper, QuietHost, quiet_save

SHARE_MAX = 0.70
"""The promise: what a 304 costs by the fast path, as a share of its cost through Quart."""
CONNECTIONS = 8
BLOCK = 200
"""Requests of one kind in a row and connection; short, so that a noisy neighbour meets both kinds."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Median processor milliseconds of the server for one request, over the blocks."""

    fast_ms: float
    quart_ms: float

    @property
    def share(self) -> float:
        return self.fast_ms / self.quart_ms


async def ask(port: int, request: bytes, times: int) -> None:
    """The same request again and again on one connection; each answer is a 304."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        for _ in range(times):
            await stream.send_all(request)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                piece = await stream.receive_some()
                assert piece, "the server closed the connection"
                answer += piece
            assert answer.startswith(b"HTTP/1.1 304"), answer[:40]


async def block(host: QuietHost, request: bytes, times: int) -> float:
    """Server milliseconds a request, over one block."""
    before = host.cpu_ns()
    async with trio.open_nursery() as nursery:
        for _ in range(CONNECTIONS):
            nursery.start_soon(ask, host.port, request, times)
    return (host.cpu_ns() - before) / 1e6 / (CONNECTIONS * times)


def measure(rounds: int, times: int = BLOCK) -> Cost:
    """Both kinds in turn; the first round warms up and does not count."""
    with tempfile.TemporaryDirectory() as state, QuietHost(Path(state)) as host:
        with httpx.Client(base_url=host.address, trust_env=False) as client:
            keeper = Keeper(client)
            tag = keeper.adopt(quiet_save(4096))
        fast, quart = [], []
        for _ in range(rounds + 1):
            fast.append(trio.run(block, host, keeper.request("GET", tag), times))
            quart.append(trio.run(block, host, keeper.request("HEAD", tag), times))
    return Cost(statistics.median(fast[1:]), statistics.median(quart[1:]))


def main() -> None:
    """Measure and print; exit code 1 when the promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    cost = measure(parser.parse_args().rounds)
    print(f"304 by the shell {cost.fast_ms:.3f} ms, through Quart {cost.quart_ms:.3f} ms: {cost.share:.0%}")
    if cost.share > SHARE_MAX:
        raise SystemExit(f"expected at most {SHARE_MAX:.0%}")


if __name__ == "__main__":
    main()
