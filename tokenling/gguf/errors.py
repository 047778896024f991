"""The room's errors: branches of the runtime's `BrainRefused`, so that whoever opens a brain handles a GGUF too.

Each carries a stable `code`, a `subject` (the key or tensor), what was found and what was expected. A retry needs
another file. No message holds prompt text or generated text.
"""

from tokenling.runtime import BrainRefused, GenerationRefused


class GgufRefused(BrainRefused):
    """A GGUF file cannot be used. Raised while opening or building; nothing ran."""


class GgufMalformed(GgufRefused):
    """The bytes break the format: a count, length, offset, type or product that the file cannot hold."""


class GgufUnsupported(GgufRefused):
    """A well-formed file of a kind that is not run here: architecture, layout, quantisation. Never guessed at."""


class ContextOverflow(GenerationRefused):
    """Prompt and output do not fit the context together. Nothing ran and nothing was cut: ask for less, or for a longer
    context."""

    def __init__(self, prompt_tokens: int, new_tokens: int, context: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.new_tokens = new_tokens
        self.context = context
        found = f"{prompt_tokens} tokens of prompt and {new_tokens} to write"
        super().__init__("context_overflow", "context", found, f"at most {context} together")
