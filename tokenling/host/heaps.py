"""How many heaps the C library may have for the threads of a host.

glibc makes one for each thread that runs beside others, up to eight a core, and a heap keeps what its busiest moment
took. Which thread does what is chance in a host, so that over hours one heap after the other holds the memory of a
prompt, an upload or a group of commits: bounded, and for nothing (docs/capacity.md, "A day without end").
"""

import ctypes
import sys

BESIDE_LANES = 3
"""The first heap, that of the start, which holds the brain, and one more for all that come and go."""
_M_ARENA_MAX = -8


def bound_heaps(lanes: int) -> None:
    """Before threads start: a heap for each lane and few for everybody else. Of no effect without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, BESIDE_LANES + lanes)
