"""`tokenling model …`: GGUF files on the runtime, one module per command."""

import click

from tokenling.cli.lazy import Entry, LazyGroup
from tokenling.cli.model.exits import interruptions

MODEL_COMMANDS = {
    "run": Entry("tokenling.cli.model.run", "command", "Write on from one prompt."),
    "chat": Entry("tokenling.cli.model.chat", "command", "Talk with a model in this terminal."),
    "score": Entry("tokenling.cli.model.score", "command", "How likely a text is to a model, token by token."),
    "inspect": Entry("tokenling.cli.model.inspect", "command", "What a file holds, and whether it runs here."),
    "fit": Entry("tokenling.cli.model.fit", "command", "Whether a model fits into memory, from its header alone."),
    "caps": Entry("tokenling.cli.model.caps", "command", "What this machine and build can run."),
    "bench": Entry("tokenling.cli.model.bench", "command", "How fast a model reads and writes here."),
    "verify": Entry("tokenling.cli.model.verify", "command", "Run a generation again from its receipt."),
}
"""In the order of `tokenling model --help`."""


class _Models(LazyGroup):
    entries = MODEL_COMMANDS

    def invoke(self, ctx: click.Context) -> object:
        with interruptions():
            return super().invoke(ctx)


@click.group(cls=_Models)
def model() -> None:
    """Run, chat with, measure and prove any GGUF model (docs/gguf.md)."""
