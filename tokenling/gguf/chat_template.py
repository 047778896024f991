"""A file's chat template: messages to the text that its model was trained on.

A template is code from a file nobody vouches for. It runs in Jinja's immutable sandbox, in a child process
(`template_worker.py`) with a bound on its memory and processor time; one that does not answer in time is killed.
"""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from tokenling.gguf.errors import GgufMalformed
from tokenling.gguf.metadata import Metadata
from tokenling.gguf.reader import GgufFile
from tokenling.gguf.vocabulary import PREFIX
from tokenling.runtime import BrainError
from tokenling.runtime.errors import quote

JsonLike: TypeAlias = "str | int | float | bool | Sequence[JsonLike] | Mapping[str, JsonLike] | None"

TEMPLATE_CHARS_MAX = 2**18
"""A guess: more than twice the longest published."""
INPUT_CHARS_MAX = 2**22
"""Of messages, tools and variables, as JSON: as much as four of the longest texts that can be encoded."""
OUTPUT_CHARS_MAX = 2**22
MEMORY_BYTES = 2**27
"""What a child may take beyond what it starts with (some 30 MB): enough for the longest input and output."""
CPU_SECONDS = 0.5
"""Of one rendering. The longest published templates take some 10 ms."""
WALL_SECONDS = 20.0
"""Of one answer: a machine that is busy elsewhere, not a template, takes so long."""
WORKER = Path(__file__).with_name("template_worker.py")
KEY = "tokenizer.chat_template"
SPECIAL_TOKENS = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
"""A file's name of a special token, and the templates'."""


class TemplateRefused(BrainError):
    """A template did not render: it is broken, refuses these messages, or takes more than it may. Retrying is no use.

    Codes: `template_syntax`, `template_raised` (its own words), `template_failed`, `template_output`,
    `template_memory`, `template_time`, `template_depth`, `template_input`.
    """


class _Worker:
    """The child of one template."""

    def __init__(self, source: str) -> None:
        # a fresh interpreter and not a fork: a fork would hold this process's memory, and its threads' locks
        self._process = subprocess.Popen(  # noqa: S603 - our own script on our own interpreter
            [sys.executable, "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        setup = {"template": source, "memory_bytes": MEMORY_BYTES, "cpu_seconds": CPU_SECONDS}
        try:
            self.ask(json.dumps({**setup, "output_chars_max": OUTPUT_CHARS_MAX}))
        except BaseException:
            self.close()
            raise

    def ask(self, line: str) -> str:
        """The text that comes back. Raises `TemplateRefused`, after which the child may be gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(WALL_SECONDS, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answered = self._process.stdout.readline()
        except BrokenPipeError:
            answered = ""
        finally:
            timer.cancel()
        if not answered.endswith("\n"):
            raise self._died()
        found = json.loads(answered)
        if "text" not in found:
            raise TemplateRefused(found["code"], KEY, found["detail"], EXPECTED[found["code"]])
        text: str = found["text"]
        return text

    def _died(self) -> TemplateRefused:
        """Killed by its own timer, by ours, or by the want of memory."""
        self._process.kill()
        code = self._process.wait()
        if code in (-signal.SIGPROF, -signal.SIGKILL):
            return TemplateRefused("template_time", KEY, "no end", EXPECTED["template_time"])
        return TemplateRefused("template_memory", KEY, f"its process ended with {code}", EXPECTED["template_memory"])

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        self._process.kill()
        with self._process:
            pass


EXPECTED: Mapping[str, str] = {
    "template_syntax": "a template that compiles",
    "template_raised": "messages that the template takes",
    "template_failed": "a template that renders",
    "template_output": f"at most {OUTPUT_CHARS_MAX} characters",
    "template_memory": f"at most {MEMORY_BYTES} bytes of memory",
    "template_time": f"an end within {CPU_SECONDS:g} s of processor time",
    "template_depth": "calls that return",
}


@dataclass(slots=True)
class ChatTemplate:
    """One template of a file. Rendering may be asked of it from any thread; `close` ends its process."""

    source: str
    special_tokens: Mapping[str, str]
    """`bos_token`, `eos_token` and the others that templates name, by name."""
    now: Callable[[], datetime] = field(default=datetime.now, repr=False)
    """What `strftime_now` reads."""
    _worker: _Worker | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def render(
        self,
        messages: Sequence[Mapping[str, JsonLike]],
        *,
        tools: Sequence[Mapping[str, JsonLike]] | None = None,
        add_generation_prompt: bool = True,
        **variables: JsonLike,
    ) -> str:
        """The prompt as one text: `chat_ids` makes tokens of it and keeps what was said from being read as special.

        Starts the child at the first call (some 0.1 s) and keeps it. Raises `TemplateRefused`.
        """
        given = {**self.special_tokens, "documents": None, **variables, "messages": messages, "tools": tools,
                 "add_generation_prompt": add_generation_prompt}  # fmt: skip
        line = _line(given, self.now())
        with self._lock:
            if self._worker is None or not self._worker.is_alive:
                self._end()
                self._worker = _Worker(self.source)
            try:
                return self._worker.ask(line)
            except BaseException:
                self._end()
                raise

    def close(self) -> None:
        """End the child; rendering starts another."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def chat_template(file: GgufFile, *, name: str | None = None) -> ChatTemplate | None:
    """The file's template, or the one of its further ones called `name`; None when it has none.

    Nothing is run yet: a template that does not compile is refused when it first renders. Raises `GgufMalformed` for
    one that is too long.
    """
    key = KEY if name is None else f"{KEY}.{name}"
    if key not in file.metadata:
        return None
    source = file.metadata.text(key)
    if len(source) > TEMPLATE_CHARS_MAX:
        raise GgufMalformed("template_long", key, f"{len(source)} characters", f"at most {TEMPLATE_CHARS_MAX}")
    return ChatTemplate(source, _special_tokens(file.metadata))


def _special_tokens(metadata: Metadata) -> dict[str, str]:
    """The texts of the special tokens that the file names, as templates call them."""
    texts = metadata.texts(PREFIX + "tokens", ())
    found = {}
    for name, called in SPECIAL_TOKENS.items():
        key = f"{PREFIX}{name}_token_id"
        if key in metadata and (token := metadata.integer(key)) < len(texts):
            found[called] = texts[token]
    return found


def _line(given: Mapping[str, JsonLike], now: datetime) -> str:
    try:
        line = json.dumps({"variables": given, "now": now.isoformat()})
    except (TypeError, ValueError, RecursionError) as error:
        raise TemplateRefused("template_input", "messages", quote(type(error).__name__), "values of JSON") from None
    if len(line) > INPUT_CHARS_MAX:
        raise TemplateRefused("template_input", "messages", f"{len(line)} characters", f"at most {INPUT_CHARS_MAX}")
    return line
