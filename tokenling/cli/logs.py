"""Logs to standard error that name frames, types and counts, and never a value an owner wrote.

Other packages' loggers (hypercorn's, quart's) pass through the same formatter: of their records the template is kept
and the arguments are dropped, and of every exception the type and the frames, never its text. A message cannot be
vetted for what it quotes; a template written in source code quotes nothing.
"""

import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import structlog
from structlog.typing import EventDict, WrappedLogger

LEVELS = ("debug", "info", "warning", "error")
FRAMES_MAX = 30
"""Innermost frames shown of one exception: past that a recursion repeats itself."""
EXCEPTIONS_MAX = 10
"""Exceptions shown of one group or chain."""


def set_up_logs(level: str) -> None:
    """Send every logger of this process to standard error in one form; uncaught exceptions too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    _catch_uncaught()


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


def _frames_only(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by the frames of its exceptions."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = " | ".join(frames_of(error))
    return event


def _drop_extras(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Of a foreign record keep the template: its arguments may quote a request."""
    for extra in ("positional_args", "stack_info"):
        event.pop(extra, None)
    event["event"] = str(event.get("event", ""))
    return event


_SHARED = (
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    _frames_only,
)


def _formatter() -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_drop_extras, *_SHARED],
        use_get_message=False,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.LogfmtRenderer(key_order=["time", "level", "logger", "event"], bool_as_flag=False),
        ],
    )


def _catch_uncaught() -> None:
    log = structlog.get_logger("tokenling")

    def uncaught(_type: type[BaseException], error: BaseException, _traceback: TracebackType | None) -> None:
        log.error("crashed", exc_info=error)

    def in_thread(args: threading.ExceptHookArgs) -> None:
        log.error("a thread crashed", exc_info=args.exc_value)

    def unraisable(args: "sys.UnraisableHookArgs") -> None:
        log.error("an exception could not be raised", exc_info=args.exc_value)

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, in_thread, unraisable
