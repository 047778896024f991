"""How a `tokenling model` command ends, and how its refusals are told."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

import click

from tokenling.cli.console import refuse


class ModelExit(IntEnum):
    """The exit codes (docs/commands.md shows the same table)."""

    DONE = 0
    FAILED = 1
    """A step failed, the verdict was a no, or a line of a chat was refused."""
    OPTIONS = 2
    """Options, or input that cannot be asked of this model."""
    MODEL = 3
    OUTPUT = 4
    """A file that was asked for cannot be written."""
    INTERRUPTED = 130
    """What shells give for SIGINT: 128 and its number."""


HINTS = {
    "context_overflow": "give a longer -c, a smaller -n or a shorter prompt",
    "template_raised": "--raw continues the prompt as it stands",
    "template_failed": "--raw continues the prompt as it stands",
    "template_syntax": "--raw continues the prompt as it stands",
}
"""What to do next, by the code of a refusal."""


def hint(code: str) -> str:
    """The end of a refusal's line."""
    return f"; {HINTS[code]}" if code in HINTS else ""


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """What goes wrong with the model at `path` inside the block ends the command with a line and its code."""
    from tokenling.gguf import TemplateRefused
    from tokenling.runtime import BrainRefused, GenerationRefused, LaneFailed, ReceiptRefused

    try:
        yield
    except BrainRefused as refused:
        refuse(ModelExit.MODEL, [f"model {path}: {refused}"])
    except (GenerationRefused, ReceiptRefused, TemplateRefused) as refused:
        refuse(ModelExit.OPTIONS, [str(refused) + hint(refused.code)])
    except LaneFailed as failed:
        refuse(ModelExit.FAILED, [str(failed)])
    except BrokenPipeError:
        raise  # whoever read the output went away: click ends it
    except OSError as failed:
        where = f"{failed.filename}: " if failed.filename else ""
        refuse(ModelExit.OUTPUT, [f"{where}{(failed.strerror or type(failed).__name__).lower()}"])
    except MemoryError:
        refuse(ModelExit.FAILED, [f"model {path}: out of memory; tokenling model fit {path} tells how much it takes"])


@contextmanager
def interruptions() -> Iterator[None]:
    """Ctrl-C inside the block ends the command with its exit code, whatever it was at: reading a prompt, importing."""
    try:
        yield
    except (KeyboardInterrupt, click.Abort):
        click.echo("", err=True)
        raise SystemExit(ModelExit.INTERRUPTED) from None


def refuse_option(option: str, found: str, expected: str) -> NoReturn:
    """End with a line about an option or an input."""
    refuse(ModelExit.OPTIONS, [f"{option}: found {found}, expected {expected}"])
