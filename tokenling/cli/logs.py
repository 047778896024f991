"""Logs to standard error that name frames, types and counts, and never a value an owner wrote.

Other packages' loggers (hypercorn's, quart's) pass through the same formatter: of their records the template is kept
and the arguments are dropped, and of every exception the type and the frames, never its text. A message cannot be
vetted for what it quotes; a template written in source code quotes nothing.
"""

import logging
import sys
import threading
from types import TracebackType

import structlog
from structlog.typing import EventDict, WrappedLogger

from tokenling.host.faults import shown_frames


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


def _frames_only(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by the frames of its exceptions."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = shown_frames(error)
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
