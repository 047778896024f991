"""From a file's path to a model that writes: what `run`, `chat`, `score`, `bench` and `verify` share."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokenling.cli.model.machine import cores
from tokenling.cli.model.progress import loading_bar
from tokenling.cli.waiting import Errand

if TYPE_CHECKING:
    from tokenling.gguf import ChatTemplate, GgufFile, GgufTokenizer, Model
    from tokenling.gguf.build import Rows
    from tokenling.gguf.model import Found
    from tokenling.runtime import Lane, Numerics

THREADS_DEFAULT_MAX = 4
"""As the host's: small models gain nothing from more."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """How a model will be opened, known before its vocabulary is."""

    numerics: "Numerics"
    cache_dir: Path | None
    digests: bool


@dataclass(frozen=True, slots=True)
class Texts:
    """The part of a file that deals with text: known before any weight is read."""

    file: "GgufFile"
    tokenizer: "GgufTokenizer"
    template: "ChatTemplate | None"
    context: int
    found: "Callable[[], Found] | None" = None
    """What was looked for ahead, once it is known."""

    def prompt_ids(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The ids of a conversation that its model is to answer. Raises `TemplateRefused`, `GenerationRefused`."""
        from tokenling.gguf import chat_ids

        assert self.template is not None
        return chat_ids(self.tokenizer, self.template, messages)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in its ORT session, and the lane that writes with its tokenizer."""

    model: "Model"
    lane: "Lane"


@contextmanager
def opened_texts(path: Path, context: int, *, chats: bool = False, ahead: Ahead | None = None) -> Iterator[Texts]:
    """The file at `path` with its tokenizer, and with its template if it `chats`. Raises `GgufRefused`.

    With `ahead` the file's digests are read, and its kept graph looked for, while the vocabulary is read.
    """
    from tokenling.gguf import chat_template, gguf_tokenizer, open_gguf
    from tokenling.gguf.build import Choices, resolve

    with open_gguf(path) as file:
        positions = resolve(file, Choices(positions=context))[2].positions
        template = chat_template(file) if chats else None
        found = None if ahead is None else _looked_for(file, positions, ahead)
        with contextlib.nullcontext() if template is None else _warming(template):
            yield Texts(file, gguf_tokenizer(file), template, positions, found)


def _looked_for(file: "GgufFile", positions: int, ahead: Ahead) -> "Callable[[], Found]":
    """Look for what is built already in a thread; the answer waits for it, and raises what it raised."""
    from tokenling.gguf.build import Choices
    from tokenling.gguf.model import find_built

    choices = Choices(ahead.numerics, "last", positions)
    return Errand(lambda: find_built(file, choices, cache_dir=ahead.cache_dir, digests=ahead.digests)).result


@contextmanager
def _warming(template: "ChatTemplate") -> Iterator[None]:
    """The template's process starts while the vocabulary is read, a tenth of a second of another core's, and ends."""
    from tokenling.gguf import TemplateRefused

    def warm() -> None:
        with contextlib.suppress(TemplateRefused):  # whoever renders a real conversation is told
            template.render([{"role": "user", "content": ""}])

    warming = Errand(warm)
    try:
        yield
    finally:
        try:
            warming.result()
        finally:
            template.close()


def load(
    texts: Texts,
    numerics: "Numerics",
    *,
    threads: int = 0,
    cache_dir: Path | None = None,
    digests: bool = False,
    rows: "Rows" = "last",
) -> Loaded:
    """The model of an open file, with a bar at a terminal. Raises `GgufRefused`, `OSError` for a cache or a disk."""
    from tokenling.gguf import brain_of, open_model
    from tokenling.runtime import open_lane

    with loading_bar(texts.file.path.name) as told:
        model = open_model(
            texts.file,
            numerics=numerics,
            rows=rows,
            positions=texts.context,
            threads=threads_or_default(threads),
            cache_dir=cache_dir,
            digests=digests,
            progress=told,
            found=None if texts.found is None else texts.found(),
        )
    tokenizer = texts.tokenizer
    brain = brain_of(model, tokenizer.for_brain(), tokenizer.stop_ids, brain_id=texts.file.path.stem)
    return Loaded(model, open_lane(brain))


def threads_or_default(threads: int) -> int:
    """As asked for; 0 is the cores, within reason."""
    return threads or min(THREADS_DEFAULT_MAX, cores())
