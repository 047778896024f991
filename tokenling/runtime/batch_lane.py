"""Continuous batching: a lane whose one thread writes several turns at once, each as it would be written alone.

Turns join and leave between steps. A joining turn's prompt is run by itself, one a round, so that a burst of long
prompts does not hold up those that are being written; so is a step of several tokens (a lookup's answer). Everything
else is one step for all rows together (`rows.py`). Each turn has its own writer, draws and caches: what it writes
depends on nobody beside it. A cancelled turn leaves at the next round; nobody else's step is stopped for it.

The thread serves while there are turns: from the first until behind the last.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tokenling.runtime.brain import Brain
from tokenling.runtime.cancellation import Cancellation, StepCancelled
from tokenling.runtime.errors import LaneFailed
from tokenling.runtime.lane import check_plan
from tokenling.runtime.lane_thread import LaneThread
from tokenling.runtime.loop import OnToken, generation_of
from tokenling.runtime.plan import DecodePlan, Generation
from tokenling.runtime.rows import RowGraph, RowSteps
from tokenling.runtime.sampling import Logits
from tokenling.runtime.steps import Steps
from tokenling.runtime.tags import TokenIndex
from tokenling.runtime.writer import Writer

if TYPE_CHECKING:
    import outcome as outcomes

T = TypeVar("T")


class _Turn:
    """A turn on its way. Only the lane's thread touches it once it has joined, `cancellation` apart."""

    def __init__(self, plan: DecodePlan, writer: Writer, on_token: OnToken | None) -> None:
        import trio

        self.plan = plan
        self.writer = writer
        self.cancellation = Cancellation()
        self.done = trio.Event()
        self.outcome: Generation | Exception | None = None
        self.steps: Steps | None = None
        self.feed: Sequence[int] = plan.prompt_ids
        self.joined_s = self.decoding_s = time.perf_counter()
        self._portal = trio.lowlevel.current_trio_token()
        self._on_token = on_token

    def tell(self) -> None:
        """Hand on the text that the last token set free."""
        if self._on_token is not None and self.writer.piece:
            self._portal.run_sync_soon(self._on_token, self.writer.piece)

    def end(self, outcome: Generation | Exception) -> None:
        """The turn leaves the lane."""
        self.outcome = outcome
        self.steps = None
        self._portal.run_sync_soon(self.done.set)


def shares_of(count: int, sizes: Sequence[int]) -> list[int]:
    """How many turns share each step, of `count` turns over graphs for `sizes` rows: three quarters of a graph at
    least, because one that is half empty costs as much as its turns do alone (docs/capacity.md).

    Five turns over graphs for 2, 4 and 8 rows: 4 and 1; six: 6, in the graph for 8.
    """
    shares: list[int] = []
    while count:
        room = next((size for size in sizes if size >= count), None)
        share = count if room is not None and 4 * count >= 3 * room else max(filter(count.__ge__, sizes), default=1)
        shares.append(share)
        count -= share
    return shares


class BatchLane:
    """Up to `rows_max` turns at a time over a brain's ORT session and its graphs for several rows."""

    def __init__(self, brain: Brain, graphs: Sequence[RowGraph]) -> None:
        assert graphs, "a single row is a Lane"
        self.brain = brain
        self.provider = brain.device.provider
        self.rows_max = graphs[-1].rows
        self._index = TokenIndex(brain.tokenizer.table)
        self._rows = [RowSteps(brain, graph) for graph in graphs]
        self._lock = threading.Lock()
        self._joining: list[_Turn] = []
        self._turns: list[_Turn] = []
        self._thread = LaneThread()
        self._idle = threading.Event()
        self._idle.set()

    @property
    def is_serving(self) -> bool:
        """Whether its thread has turns."""
        return not self._idle.is_set()

    def join(self) -> None:
        """Wait, in the calling thread, until the lane's own has no turn any more."""
        self._idle.wait()

    def __len__(self) -> int:
        """The turns that it writes or that wait to join."""
        with self._lock:
            return len(self._joining) + sum(turn.outcome is None for turn in self._turns)

    async def generate(self, plan: DecodePlan, *, on_token: OnToken | None = None) -> Generation:
        """As `Lane.generate`: the same tokens, errors and cancellation. Raises `LaneFailed` when every row is taken."""
        import trio

        check_plan(plan, self.brain)
        await trio.lowlevel.checkpoint_if_cancelled()
        if len(self) >= self.rows_max:
            raise LaneFailed("lane_busy", "lane", f"{len(self)} turns", f"at most {self.rows_max} at a time")
        turn = _Turn(plan, Writer(plan, self._index, self.brain.config.eos_ids), on_token)

        async def stop_when_cancelled() -> None:
            try:
                await trio.sleep_forever()
            finally:
                turn.cancellation.cancel()

        self._join(turn)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop_when_cancelled)
            with trio.CancelScope(shield=True):
                await turn.done.wait()
            nursery.cancel_scope.cancel()
        await trio.lowlevel.checkpoint_if_cancelled()
        assert turn.outcome is not None, "a turn that is done has an outcome"
        if isinstance(turn.outcome, Exception):
            raise turn.outcome
        return turn.outcome

    def _join(self, turn: _Turn) -> None:
        with self._lock:
            self._joining.append(turn)
            if self.is_serving:
                return
            self._idle.clear()
        self._thread.start_soon(self._serve, self._ended)

    def _serve(self) -> None:
        """Write until nobody is left. Runs in the lane's thread."""
        while turns := self._present():
            self._round(turns)

    def _present(self) -> list[_Turn]:
        """Those who stayed, and those who joined; without any the thread rests."""
        with self._lock:
            self._turns = [turn for turn in self._turns if turn.outcome is None] + self._joining
            self._joining = []
            if not self._turns:
                self._idle.set()
            return self._turns

    def _ended(self, result: "outcomes.Outcome[None]") -> None:
        """Behind the thread. A fault of the lane's own fails the turns that it held, and no later one."""
        import outcome as outcomes

        if not isinstance(result, outcomes.Error):
            return
        with self._lock:
            held, self._turns, self._joining = [*self._turns, *self._joining], [], []
            self._idle.set()
        failure = LaneFailed("batch_failed", "lane", type(result.error).__name__, "rounds without a fault")
        for turn in held:
            if turn.outcome is None:
                turn.end(failure)

    def _round(self, turns: Sequence[_Turn]) -> None:
        """One prompt, then one step of every turn that is being written."""
        for turn in turns:
            if turn.cancellation.is_cancelled:
                self._cancel(turn)
        starting = [turn for turn in turns if turn.outcome is None and turn.steps is None]
        if starting:
            self._alone(starting[0], lambda: self._prefill(starting[0]))
        writing = [turn for turn in turns if turn.outcome is None and turn.steps is not None]
        single = [turn for turn in writing if len(turn.feed) == 1]
        for turn in writing:
            if len(turn.feed) > 1:
                self._step_alone(turn)
        self._step_all(single)

    def _prefill(self, turn: _Turn) -> Logits:
        turn.joined_s = time.perf_counter()
        steps = Steps(self.brain, len(turn.plan.prompt_ids) + turn.plan.max_new, turn.cancellation)
        logits = steps.prefill(turn.plan.prompt_ids, turn.plan.prefill_chunk)
        turn.steps, turn.decoding_s = steps, time.perf_counter()
        return logits

    def _step_all(self, turns: Sequence[_Turn]) -> None:
        """One token of each, in as few steps as it takes."""
        at = 0
        for count in shares_of(len(turns), [rows.rows for rows in self._rows]):
            self._step_together(turns[at : at + count])
            at += count

    def _step_together(self, turns: Sequence[_Turn]) -> None:
        """One token of each, in one step. One that fails is taken by each alone, so that it fails for whom it must."""
        if len(turns) == 1:
            return self._step_alone(turns[0])
        rows = next(rows for rows in self._rows if rows.rows >= len(turns))
        sequences = [turn.steps for turn in turns if turn.steps is not None]
        try:
            found = rows.step(sequences, [turn.feed[0] for turn in turns])
        except LaneFailed:
            for turn in turns:
                self._step_alone(turn)
            return None
        for turn, logits in zip(turns, found, strict=True):
            self._write(turn, logits)
        return None

    def _step_alone(self, turn: _Turn) -> None:
        steps = turn.steps
        assert steps is not None, "a turn that is being written has a sequence"
        self._alone(turn, lambda: steps.step(turn.feed))

    def _alone(self, turn: _Turn, logits_of: Callable[[], Logits]) -> None:
        """A step of one turn, and what it writes then; whatever goes wrong ends this turn and no other."""
        try:
            logits = logits_of()
        except StepCancelled:
            self._cancel(turn)
        except Exception as error:  # carried to the turn's own task, and raised there
            turn.end(error)
        else:
            self._write(turn, logits)

    def _write(self, turn: _Turn, logits: Logits) -> None:
        try:
            turn.feed = turn.writer.write(logits)
        except Exception as error:  # logits that are not finite: this turn's
            return turn.end(error)
        turn.tell()
        return None if turn.feed else self._end(turn)

    def _cancel(self, turn: _Turn) -> None:
        turn.writer.cancel()
        turn.tell()
        self._end(turn)

    @staticmethod
    def _end(turn: _Turn) -> None:
        now_s = time.perf_counter()
        decoding_s = max(turn.decoding_s, turn.joined_s)
        prefill_ms, decode_ms = (decoding_s - turn.joined_s) * 1000, (now_s - decoding_s) * 1000
        turn.end(generation_of(turn.writer, prefill_ms, decode_ms))


class BatchPool:
    """Lanes that batch, one thread each; a turn joins the one with the fewest."""

    def __init__(self, lanes: Sequence[BatchLane]) -> None:
        self._lanes = tuple(lanes)
        self.brain = lanes[0].brain
        self.provider = lanes[0].provider

    @property
    def rows_max(self) -> int:
        """The turns that can be written at a time."""
        return sum(lane.rows_max for lane in self._lanes)

    async def generate(self, plan: DecodePlan, *, on_token: OnToken | None = None) -> Generation:
        """As `BatchLane.generate`, on the lane that has the fewest turns."""
        return await min(self._lanes, key=len).generate(plan, on_token=on_token)

    async def turn(self, plan_of: Callable[[], DecodePlan], then: Callable[[DecodePlan, Generation], T]) -> T:
        """As `Lane.turn`, but what comes before and behind is done here: a lane's thread writes for others then."""
        plan = plan_of()
        return then(plan, await self.generate(plan))
