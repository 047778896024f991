"""What a fault may leave in the log: where it happened and its type, never its message and never a value."""

import traceback
from collections.abc import Iterator
from types import TracebackType

FRAMES_MAX = 40
"""Frames kept of one traceback, the innermost ones: enough for any stack of ours, short for a recursion."""


def describe_fault(error: BaseException) -> dict[str, list[str]]:
    """`{faults: [type names], frames: ["module:line function", …]}`, the members of a group one after the other."""
    found = list(leaves(error))
    return {
        "faults": [type(leaf).__name__ for leaf in found],
        "frames": [frame for leaf in found for frame in _frames(leaf.__traceback__)],
    }


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group, however deep, or the exception itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def _frames(trace: TracebackType | None) -> list[str]:
    frames = [
        f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(trace)
    ]
    return frames[-FRAMES_MAX:]
