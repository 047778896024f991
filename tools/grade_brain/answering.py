"""A brain asked one request after another, through the runtime that owners meet."""

from dataclasses import replace
from pathlib import Path
from typing import cast

from tokenling.engine import GenerationRequest, Reply
from tokenling.runtime import Brain, Cancellation, Lane, Precision, decode, open_brain, open_lane, plan_turn, reply_of


class Answering:
    """One lane of a brain. `masked` False leaves the tag mask out, and with it the answers of lookups."""

    def __init__(self, brain: Brain, *, masked: bool = True) -> None:
        self.brain = brain
        self.masked = masked
        self._lane: Lane = open_lane(brain)

    def reply(self, request: GenerationRequest) -> Reply:
        """The brain's reply to a request, by the request's own seed."""
        plan = plan_turn(request, self.brain)
        if not self.masked:
            plan = replace(plan, constraint=None, insertions={})
        return reply_of(decode(self._lane, plan, cancel=Cancellation()))


def open_answering(folder: Path, precision: str, *, masked: bool = True) -> Answering:
    """The brain of a directory, ready to be asked."""
    return Answering(open_brain(folder, precision=cast("Precision", precision)), masked=masked)
