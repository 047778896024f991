"""What a fault may leave in the log: where it happened and its type, never its message and never a value."""

import traceback
from collections.abc import Iterator
from types import TracebackType

FRAMES_MAX = 40
"""Frames kept of one traceback, the innermost ones: enough for any stack of ours, short for a recursion."""


def describe_fault(error: BaseException) -> dict[str, list[str]]:
    """`{faults: [type names], frames: ["module:line function", …]}`, the members of a group one after the other."""
    leaves = list(_leaves(error))
    return {
        "faults": [type(leaf).__name__ for leaf in leaves],
        "frames": [frame for leaf in leaves for frame in _frames(leaf.__traceback__)],
    }


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _frames(trace: TracebackType | None) -> list[str]:
    frames = [
        f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(trace)
    ]
    return frames[-FRAMES_MAX:]
