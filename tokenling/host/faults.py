"""What a fault may leave in a log or in a pet's error: its type and where it happened, never its message or a value."""

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

FRAMES_MAX = 30
"""Innermost frames shown of one exception: past that a recursion repeats itself."""
EXCEPTIONS_MAX = 10
"""Exceptions shown of one group or chain."""


_LACKS: Mapping[int, str] = {
    errno.EMFILE: "open files (ulimit -n)",
    errno.ENFILE: "open files, of the whole machine",
    errno.ENOMEM: "memory (ulimit -v)",
    errno.EAGAIN: "threads or processes (ulimit -u)",
}


def lack_in(error: BaseException) -> str | None:
    """What the machine, or a limit, did not give any more of; None where the error is about something else."""
    return next((lack for leaf in leaves(error) if (lack := _lack_of(leaf)) is not None), None)


def _lack_of(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return _LACKS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "start new thread" in str(error):  # Python has no class for it
        return _LACKS[errno.EAGAIN]
    return _LACKS.get(error.errno or 0) if isinstance(error, OSError) else None


def shown_frames(error: BaseException) -> str:
    """`frames_of` on one line."""
    return " | ".join(frames_of(error))


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group, however deep, or the exception itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def frames_of(error: BaseException) -> tuple[str, ...]:
    """One line per exception of a group or chain: its type, then its frames from the innermost out."""
    lines: list[str] = []
    for each in _related(error):
        if len(lines) == EXCEPTIONS_MAX:
            lines.append("…")
            break
        lines.append(" < ".join([type(each).__qualname__, *_frames(each.__traceback__)]))
    return tuple(lines)


def _related(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            waiting.extend(each.exceptions)
        cause = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
        if cause is not None:
            waiting.append(cause)


def _frames(traceback: TracebackType | None) -> Sequence[str]:
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{_short(code.co_filename)}:{traceback.tb_lineno} {code.co_qualname}")
        traceback = traceback.tb_next
    return frames[::-1][:FRAMES_MAX]


def _short(filename: str) -> str:
    """The last three parts: enough to find the file, no one's home directory."""
    return "/".join(Path(filename).parts[-3:])
