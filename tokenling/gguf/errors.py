"""The room's errors: branches of the runtime's `BrainRefused`, so that whoever opens a brain handles a GGUF too.

Each carries a stable `code`, a `subject` (the key or tensor), what was found and what was expected. A retry needs
another file. No message holds prompt text or generated text.
"""

from tokenling.runtime import BrainRefused


class GgufRefused(BrainRefused):
    """A GGUF file cannot be used. Raised while opening or building; nothing ran."""


class GgufMalformed(GgufRefused):
    """The bytes break the format: a count, length, offset, type or product that the file cannot hold."""


class GgufUnsupported(GgufRefused):
    """A well-formed file of a kind that is not run here: architecture, layout, quantisation. Never guessed at."""
