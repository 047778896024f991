"""Who answers a simulated pet's turns: a small script that reads the prompt, or a real brain."""

from collections.abc import Callable
from pathlib import Path

from tokenling.engine import GenerationRequest, Reply
from tokenling.engine.draws import draw

Writer = Callable[[GenerationRequest], Reply]

PLEASURES = (
    "[play]", "[sing]", "[explore]", "[draw]", "[dance]", "[watch]", "[go garden]", "[go window]", "[go hearth]",
    "[go nest]", "[curious]",
)  # fmt: skip
NEEDS = (
    ("hungry", ("[eat]", "[explore]")), ("empty", ("[eat]", "[explore]")), ("grubby", ("[wash]",)),
    ("muddy", ("[wash]",)), ("weary", ("[nap]",)), ("cold", ("[go hearth]",)), ("chilly", ("[go hearth]",)),
)  # fmt: skip
"""A word of the prompt's body line, and what helps, best first."""


def scripted(request: GenerationRequest) -> Reply:
    """A sensible pet: it takes what is offered, minds its body, and does what it likes otherwise.

    A function of the request alone, as a brain is. It needs two tries to mind its body: brains are not perfect.
    """
    if request.mode == "diary":
        return Reply("Today was a day.", "newline", ())
    chosen = _tag(request)
    return Reply(f"{chosen} la la", "newline", ())


def _tag(request: GenerationRequest) -> str:
    if "[accept]" in request.tags:
        return "[accept]"
    body = next(line for line in request.header.splitlines() if line.startswith("Body: "))
    minds = draw("simulation", "minds", str(request.seed), 2) == 0
    for word, helps in NEEDS if minds else ():
        helping = [tag for tag in helps if tag in request.tags]
        if f" {word}," in f"{body}," and helping:
            return helping[0]
    legal = [tag for tag in PLEASURES if tag in request.tags]
    return legal[draw("simulation", "likes", str(request.seed), len(legal))] if legal else ""


def brain_writer(directory: Path) -> Writer:
    """Words of a brain, in this thread. Raises the runtime's `BrainError`."""
    from tokenling.runtime import decode, open_brain, open_lane, plan_turn, reply_of

    brain = open_brain(directory)
    lane = open_lane(brain)
    lane.warm_up()
    return lambda request: reply_of(decode(lane, plan_turn(request, brain)))
