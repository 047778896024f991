"""Renders one chat template, in a process of its own that may be killed. Run as a script; imports nothing of ours.

A template is code from a file nobody vouches for. Jinja's immutable sandbox keeps it from Python's insides; that it
ends, and ends small, only the operating system can promise: this process limits its own memory and processor time.

One JSON object a line comes in: first `{template, memory_bytes, cpu_seconds, output_chars_max}`, then one for each
rendering: `{variables, now}`. One goes out for each of them: `{"text": …}` or `{"code": …, "detail": …}`.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

DETAIL_CHARS_MAX = 200


class RaisedByTemplate(Exception):
    """The template called `raise_exception`: these messages are not for it."""


class Generation(Extension):
    """`{% generation %}` marks what a model wrote, for training; here it is its content."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own form

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The body alone."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def raise_exception(message: object) -> None:
    """What templates call to refuse messages."""
    raise RaisedByTemplate(str(message))


def tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as models were trained on it: not escaped for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment() -> ImmutableSandboxedEnvironment:
    """As Transformers sets it up: blocks trimmed, `break` and `continue`, JSON that is not escaped."""
    found = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols], cache_size=0
    )
    found.filters["tojson"] = tojson
    found.globals["raise_exception"] = raise_exception
    return found


def limit_memory(extra_bytes: int) -> None:
    """Of what this process has now, and so much more; less when the system has no such list."""
    statm = Path("/proc/self/statm")
    held = int(statm.read_text("ascii").split()[0]) * resource.getpagesize() if statm.exists() else 0
    resource.setrlimit(resource.RLIMIT_AS, (held + extra_bytes, held + extra_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Processor time; the signal that comes then ends the process (SIGPROF's default)."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def rendered(template: jinja2.Template, variables: dict[str, object], now: datetime, chars_max: int) -> dict[str, str]:
    """The text of one request, as long as it is allowed to be."""
    parts, size = [], 0
    for part in template.generate(**variables, strftime_now=now.strftime):
        size += len(part)
        if size > chars_max:
            return {"code": "template_output", "detail": f"more than {chars_max} characters"}
        parts.append(part)
    return {"text": "".join(parts)}


def refused(work: Callable[[], dict[str, str]], source: str) -> dict[str, str]:
    """What `work` answers, or why not. Details are words of the template `source`, never a variable's value."""
    try:
        return work()
    except RaisedByTemplate as error:
        own = str(error) if str(error) in source else "a refusal of its own"
        return {"code": "template_raised", "detail": own[:DETAIL_CHARS_MAX]}
    except jinja2.TemplateSyntaxError as error:
        return {"code": "template_syntax", "detail": f"line {error.lineno}: {str(error.message)[:DETAIL_CHARS_MAX]}"}
    except (MemoryError, OverflowError):
        return {"code": "template_memory", "detail": "more memory than it may have"}
    except RecursionError:
        return {"code": "template_depth", "detail": "calls within calls without end"}
    except Exception as error:
        # an undefined name, a refused attribute, a filter's complaint: the text may quote a message, so only its kind
        return {"code": "template_failed", "detail": type(error).__name__}


def main() -> None:
    """Compile, then render until there is nothing more to read."""
    setup = json.loads(sys.stdin.readline())
    chars_max, seconds = setup["output_chars_max"], setup["cpu_seconds"]
    limit_memory(setup["memory_bytes"])
    compiled: list[jinja2.Template] = []

    def compile_template() -> dict[str, str]:
        compiled.append(environment().from_string(setup["template"]))
        return {"text": ""}

    with limited_time(seconds):
        answer(refused(compile_template, setup["template"]))
    if not compiled:
        return
    for line in sys.stdin:
        request = json.loads(line)
        now = datetime.fromisoformat(request["now"])
        work = partial(rendered, compiled[0], request["variables"], now, chars_max)
        with limited_time(seconds):
            answer(refused(work, setup["template"]))


def answer(found: dict[str, str]) -> None:
    """One line, at once."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
