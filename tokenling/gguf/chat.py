"""A conversation with a model: what both said stays in the caches, and only what is new is run.

A turn's prompt is the whole conversation in its chat template. As far as its tokens are those in the caches already,
they are kept; from the first that differs on (a template may tell the past in other words than it was said) it is run
anew. In exact numerics whole pieces alone are kept, as they were run: so each turn has a receipt that can be proved to
the bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tokenling.gguf.context import room_for
from tokenling.gguf.generate import generate
from tokenling.gguf.memory import PREFILL_CHUNK
from tokenling.gguf.model import Model
from tokenling.gguf.receipts import GenerationReceipt, make_generation_receipt
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation, DecodePlan, Generation, Lane, Sampling
from tokenling.runtime.loop import OnToken

Message: TypeAlias = Mapping[str, str]
"""`role` and `content`, as templates take them."""
PromptOf: TypeAlias = Callable[[Sequence[Message]], Sequence[int]]
"""The ids of a conversation that is to be answered."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a reply is written: `max_new` None is at most `most`, or what the context leaves."""

    max_new: int | None
    most: int
    sampling: Sampling
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One reply. `plan` has the whole conversation as its prompt, of which `pieces` were in the caches already."""

    plan: DecodePlan
    generation: Generation
    pieces: tuple[int, ...]

    @property
    def kept_tokens(self) -> int:
        """Of the prompt, those that did not have to be run."""
        return sum(self.pieces)


class Chat:
    """One conversation over a model, of at most its positions. Not safe for two threads."""

    def __init__(self, model: Model, lane: Lane, prompt_of: PromptOf, messages: Sequence[Message] = ()) -> None:
        self._model = model
        self._lane = lane
        self._prompt_of = prompt_of
        self._steps = BufferedSteps(model, model.positions, Cancellation())
        self._held: tuple[int, ...] = ()  # the tokens in the caches
        self.messages: tuple[Message, ...] = tuple(messages)

    @property
    def tokens(self) -> int:
        """In the caches."""
        return self._steps.tokens

    @property
    def context(self) -> int:
        """The most tokens of the whole conversation."""
        return self._steps.capacity

    def restart(self, messages: Sequence[Message] = ()) -> None:
        """Another conversation; what it has in common with this one is still not run again."""
        self.messages = tuple(messages)

    def ask(self, text: str, wanted: Wanted, *, cancel: Cancellation, on_token: OnToken | None = None) -> ChatTurn:
        """The reply to `text`; both join the conversation, unless not a token was written.

        A `cancel` that is set ends the reply where it is. Raises `ContextOverflow`, `TemplateRefused` and
        `GenerationRefused` before anything ran, `LaneFailed` when a step failed: the conversation is then as before.
        """
        asked: Message = {"role": "user", "content": text}
        ids = tuple(self._prompt_of([*self.messages, asked]))
        new = room_for(len(ids), wanted.max_new, wanted.most, self.context)
        kept = self._keep(ids)
        pieces = tuple(self._steps.pieces)
        plan = DecodePlan(ids[kept:], new, wanted.sampling, wanted.stops, prefill_chunk=PREFILL_CHUNK)
        generation = self._write(plan, ids, cancel, on_token)
        if generation.token_ids:
            self.messages = (*self.messages, asked, {"role": "assistant", "content": generation.text})
        return ChatTurn(replace(plan, prompt_ids=ids), generation, pieces)

    def receipt_of(self, turn: ChatTurn) -> GenerationReceipt:
        """The receipt of a turn of this conversation. The model must know its digests."""
        return make_generation_receipt(self._model, self._lane, turn.plan, turn.generation, pieces=turn.pieces)

    def _keep(self, ids: tuple[int, ...]) -> int:
        """Forget what is in the caches behind the common beginning; how many tokens stay, never all of `ids`."""
        pairs = zip(self._held, ids[:-1], strict=False)
        common = next((place for place, (held, wanted) in enumerate(pairs) if held != wanted),
                      min(len(self._held), len(ids) - 1))  # fmt: skip
        kept = self._steps.whole_pieces(common) if self._model.numerics == "exact" else common
        self._forget(kept)
        return kept

    def _forget(self, kept: int) -> None:
        self._steps.truncate(kept)
        self._held = self._held[:kept]

    def _write(
        self, plan: DecodePlan, ids: tuple[int, ...], cancel: Cancellation, on_token: OnToken | None
    ) -> Generation:
        """Run the plan behind what is held, and note what is held then."""
        kept = self._steps.tokens
        self._steps.resume(cancel)
        try:
            generation = generate(self._model, self._lane, plan, steps=self._steps, on_token=on_token)
        except BaseException:
            self._forget(kept)
            raise
        self._held = (*ids, *generation.token_ids)[: self._steps.tokens]
        return generation
