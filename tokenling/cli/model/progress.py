"""A bar for what takes long, on standard error, when that is a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

PATIENCE_S = 2.0
"""What is done sooner needs no bar."""
STEPS = 100


@contextmanager
def loading_bar(label: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[str, int, int], None]]:
    """What `open_model` is to tell how far it came."""
    started = clock()
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(length=STEPS, label=label, file=sys.stderr, hidden=True, show_eta=False) as bar:

        def told(what: str, done: int, total: int) -> None:
            if is_hidden or clock() - started < PATIENCE_S:
                return
            bar.hidden = False
            bar.label = f"{label}: {what}"
            bar.pos = min(STEPS, done * STEPS // max(1, total))
            bar.render_progress()

        yield told
