"""A process has few heaps however many threads it has, where the C library can be told so."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tokenling.host.heaps import BESIDE_LANES

ROOT = Path(__file__).parents[2]
THREADS = 7
"""At once, each with memory of its own; glibc makes a heap for each of up to eight a core."""
CODE = """
import sys, threading
from soak.mappings import resident_of
from tokenling.host.heaps import bound_heaps

threads, lanes = int(sys.argv[1]), sys.argv[2]
if lanes != "unbound":
    bound_heaps(int(lanes))
there, seen = threading.Barrier(threads + 1), threading.Barrier(threads + 1)

def work():
    held = [bytes(100_000) for _ in range(4)]
    there.wait()
    seen.wait()

for _ in range(threads):
    threading.Thread(target=work).start()
there.wait()
print(len(resident_of("self").thread_heaps))
seen.wait()
"""


def heaps_with(lanes: str) -> int:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    command = [sys.executable, "-c", CODE, str(THREADS), lanes]
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_threads_share_a_few_heaps() -> None:
    for lanes in (0, 2):
        assert heaps_with(str(lanes)) < BESIDE_LANES + lanes  # the first one is not a thread's
    assert heaps_with("unbound") > BESIDE_LANES + 2
