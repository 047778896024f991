"""Opens whatever brain a directory holds: an exported one by the runtime, a GGUF file by its own room.

Slow imports (ONNX Runtime) happen here, where they are first needed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenling.runtime import Brain, Numerics, Precision


@dataclass(frozen=True, slots=True)
class BrainChoice:
    """What a command was asked to open. `precision` is None where nobody chose one."""

    directory: Path
    precision: "Precision | None" = None
    numerics: "Numerics" = "exact"
    threads: int = 1
    brain_id: str | None = None
    features: tuple[str, ...] | None = None
    graphs: Path | None = None
    """Where the built graph of a GGUF file is kept, for this brain alone."""


def open_chosen(choice: BrainChoice) -> "Brain":
    """The brain in the directory. Raises `BrainRefused`; a precision chosen for a GGUF file is one."""
    from tokenling.runtime import BrainRefused, open_brain

    path = gguf_in(choice.directory)
    if path is None:
        return open_brain(
            choice.directory,
            precision=choice.precision or "q4",
            numerics=choice.numerics,
            threads=choice.threads,
            brain_id=choice.brain_id,
            features=choice.features,
        )
    if choice.precision not in (None, "gguf"):
        expected = f"none: {path.name} runs in its own bits"
        raise BrainRefused("gguf_precision", "precision", choice.precision, expected)
    from tokenling.gguf import open_gguf_brain

    return open_gguf_brain(
        path,
        numerics=choice.numerics,
        threads=choice.threads,
        graphs=choice.graphs,
        brain_id=choice.brain_id,
        features=choice.features,
    )


def gguf_in(directory: Path) -> Path | None:
    """The GGUF file that the directory holds as its brain. Raises `BrainRefused` for several."""
    from tokenling.gguf import find_gguf

    return find_gguf(directory)
