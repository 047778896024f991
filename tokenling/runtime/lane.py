"""A lane: one sequence at a time over a brain's ORT session, synchronously or in one thread hop from Trio."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tokenling.runtime.brain import Brain
from tokenling.runtime.cancellation import Cancellation, StepCancelled
from tokenling.runtime.errors import BrainRefused, GenerationRefused, LaneFailed
from tokenling.runtime.lane_thread import LaneThread
from tokenling.runtime.loop import OnToken, run_plan
from tokenling.runtime.plan import DecodePlan, Generation, Sampling
from tokenling.runtime.steps import BoundSteps, Steps
from tokenling.runtime.tags import TokenIndex
from tokenling.runtime.writer import Writer

if TYPE_CHECKING:
    import outcome as outcomes
    import trio

T = TypeVar("T")

INSERTION_TOKENS_MAX = 256
"""A lookup's answer: a guess, ten times the engine's longest."""
SEED_END = 2**53
"""Seeds are below it: JavaScript holds them exactly."""
TOP_K_MAX = 2**20
"""The largest vocabulary there may be."""
STUCK_S = 1.0
"""A device that has not let go of a cancelled step after this is taken for hung: ten times the longest wait that was
measured on a CPU (80 ms), and short enough for a host that must stop within two seconds."""


class TurnRunner(Protocol):
    """What writes turns: a lane, or several that batch. `provider` is ONNX Runtime's name of what computes."""

    @property
    def provider(self) -> str: ...
    async def generate(self, plan: DecodePlan, *, on_token: OnToken | None = None) -> Generation: ...
    async def turn(self, plan_of: Callable[[], DecodePlan], then: Callable[[DecodePlan, Generation], T]) -> T:
        """What `then` makes of the generation of the plan that `plan_of` makes. Both may run in another thread."""


class Lane:
    """`generate` and `decode` run one turn; a second one at the same time is a fault of the caller."""

    def __init__(self, brain: Brain, *, steps: type[Steps] | None = None) -> None:
        """`steps`: how a step runs; by the brain's device where nothing else is said."""

        self.brain = brain
        self.provider = brain.device.provider
        self.steps = steps or (Steps if brain.device.kind == "cpu" else BoundSteps)
        self.index = TokenIndex(brain.tokenizer.table)
        self._turn = threading.Lock()
        self._thread = LaneThread()

    def warm_up(self) -> None:
        """Run a real token and one more behind it: proves prefill, cache growth, logits. Raises `BrainRefused`."""
        plan = DecodePlan((self.brain.config.eos_ids[0],), 2, Sampling(0, 0, 1000, 0), (), ignore_eos=True)
        try:
            decode(self, plan)
        except LaneFailed as failure:
            raise BrainRefused("warm_up_failed", failure.subject, failure.found, failure.expected) from None

    async def generate(self, plan: DecodePlan, *, on_token: OnToken | None = None) -> Generation:
        """`decode` in the lane's thread: one hop for the whole turn. `on_token` is called in Trio's thread."""
        return await self.turn(lambda: plan, _generation, on_token=on_token)

    async def turn(
        self,
        plan_of: Callable[[], DecodePlan],
        then: Callable[[DecodePlan, Generation], T],
        *,
        on_token: OnToken | None = None,
    ) -> T:
        """A whole turn in the lane's thread, with what comes before and behind its `decode`: the event loop stays free.

        Cancelling the awaiting scope stops the step that runs; the thread is awaited, never abandoned, so nothing
        touches the lane after this returns or raises `trio.Cancelled`. Only another device than the CPU may hang, in
        its driver: its thread is left behind after `STUCK_S`, and the lane stays busy for ever.
        """
        import trio

        cancellation = Cancellation()
        portal = trio.lowlevel.current_trio_token()

        def send(piece: str) -> None:
            assert on_token is not None
            portal.run_sync_soon(on_token, piece)

        def work() -> T:
            plan = plan_of()
            generation = _decode(self, plan, cancellation, send if on_token else None)
            if generation.stop == "cancelled":
                raise StepCancelled  # nobody waits for what would be made of it
            return then(plan, generation)

        await trio.lowlevel.checkpoint_if_cancelled()
        self.take()  # here and not in the thread: a turn that finds the lane taken must not wait shielded
        may_hang = self.brain.device.kind != "cpu"
        hop: _Hop[_Made[T] | _Raised] = _Hop(self._thread, cancellation.cancel, STUCK_S if may_hang else None)
        outcome = await hop.run(lambda: _outcome(work))
        if outcome is not None:
            self.let_go()
        await trio.lowlevel.checkpoint_if_cancelled()
        assert outcome is not None, "only a cancelled turn leaves its thread behind"
        if isinstance(outcome, _Raised):
            raise outcome.error
        return outcome.value

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The lane is this turn's alone inside the block. Raises `LaneFailed` when another turn has it."""
        self.take()
        try:
            yield
        finally:
            self.let_go()

    def take(self) -> None:
        """The lane is the caller's until `let_go`. Raises `LaneFailed` when another turn has it."""
        if not self._turn.acquire(blocking=False):
            raise LaneFailed("lane_busy", "lane", "a turn that still runs", "one turn at a time")

    def let_go(self) -> None:
        """The next turn may come."""
        self._turn.release()


def _generation(_plan: DecodePlan, generation: Generation) -> Generation:
    return generation


@dataclass(frozen=True, slots=True)
class _Made(Generic[T]):
    """What a turn gave."""

    value: T


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a turn raised, to be raised again by the caller."""

    error: Exception


def _outcome(work: Callable[[], T]) -> _Made[T] | _Raised:
    """What `work` gave or raised, as a value."""
    try:
        return _Made(work())
    except Exception as error:  # whatever it is: the lane is let go of first
        return _Raised(error)


class _Hop(Generic[T]):
    """One call in a lane's thread, awaited to its end whatever is cancelled meanwhile.

    Trio's own `to_thread.run_sync` cannot tell the call that it is unwanted. A task beside it that waits for a
    cancellation can, and costs two more rounds of the event loop behind each turn, milliseconds in which a lane of a
    busy host has nothing to do (docs/capacity.md).
    """

    def __init__(self, thread: LaneThread, on_cancel: Callable[[], None], stuck_s: float | None) -> None:
        """`on_cancel` asks the call to end soon; `stuck_s` after that it is left behind, if it may be at all."""
        import trio

        self._thread = thread
        self._on_cancel = on_cancel
        self._stuck_s = stuck_s
        self._task = trio.lowlevel.current_task()
        self._portal = trio.lowlevel.current_trio_token()
        self._is_over = False

    async def run(self, call: Callable[[], T]) -> T | None:
        """What `call`, which must not raise, gives; None when it was left behind. No checkpoint for cancellation."""
        import trio

        self._thread.start_soon(call, self._deliver)
        result: T | None = await trio.lowlevel.wait_task_rescheduled(self._abort)
        return result

    def _deliver(self, result: "outcomes.Outcome[T]") -> None:
        """In the thread: its last act. A call that was left behind may outlive the event loop."""
        import trio

        with suppress(trio.RunFinishedError):
            self._portal.run_sync_soon(self._end, result)

    def _end(self, result: "outcomes.Outcome[T] | None") -> None:
        import outcome as outcomes
        import trio

        if not self._is_over:
            self._is_over = True
            trio.lowlevel.reschedule(self._task, outcomes.Value(None) if result is None else result)

    def _abort(self, _raise_cancel: object) -> "trio.lowlevel.Abort":
        import trio

        self._on_cancel()
        if self._stuck_s is not None:
            trio.lowlevel.spawn_system_task(self._leave_behind, self._stuck_s)
        return trio.lowlevel.Abort.FAILED

    async def _leave_behind(self, after_s: float) -> None:
        import trio

        await trio.sleep(after_s)
        self._end(None)


def open_lane(brain: Brain) -> Lane:
    """A lane over the brain's ORT session, on its device; several may share it, each with one turn of its own."""
    return Lane(brain)


def decode(
    lane: Lane, plan: DecodePlan, *, cancel: Cancellation | None = None, on_token: OnToken | None = None
) -> Generation:
    """Carry out `plan` from an empty cache, in this thread. The synchronous twin of `Lane.generate`.

    `on_token` gets each piece of whole text as it is sure. A `cancel` that was set ends with the stop `cancelled` and
    what was written until then. Raises `GenerationRefused` before anything ran, `LaneFailed` when a step failed.
    """
    with lane.hold():
        return _decode(lane, plan, cancel or Cancellation(), on_token)


def _decode(lane: Lane, plan: DecodePlan, cancel: Cancellation, on_token: OnToken | None) -> Generation:
    """`decode` on a lane that is held."""
    check_plan(plan, lane.brain)
    writer = Writer(plan, lane.index, lane.brain.config.eos_ids)
    steps = lane.steps(lane.brain, len(plan.prompt_ids) + plan.max_new, cancel)
    return run_plan(steps, writer, plan, on_token)


def check_plan(plan: DecodePlan, brain: Brain) -> None:
    """Refuse a plan that could not run to its end on this brain."""
    _check_ids("prompt_ids", plan.prompt_ids, brain)
    if not plan.prompt_ids:
        raise GenerationRefused("prompt_empty", "prompt_ids", "no token", "at least one")
    if plan.max_new < 1 or plan.prefill_chunk < 0 or plan.insertions_max < 0:
        raise GenerationRefused("plan_range", "max_new", plan.max_new, "at least 1, chunk and insertions not negative")
    total = len(plan.prompt_ids) + plan.max_new
    if total > brain.positions_max:
        raise GenerationRefused(
            "does_not_fit", "prompt and output", f"{total} tokens", f"at most {brain.positions_max}"
        )
    _check_sampling(plan.sampling)
    if "" in plan.stops:
        raise GenerationRefused("stop_empty", "stops", "an empty text", "texts of at least one character")
    for tag, ids in plan.insertions.items():
        _check_ids("insertions", ids, brain)
        if plan.constraint is None or tag not in plan.constraint or len(ids) > INSERTION_TOKENS_MAX:
            expected = f"answers of legal tags, at most {INSERTION_TOKENS_MAX} tokens each"
            raise GenerationRefused("insertion_malformed", "insertions", f"{len(ids)} tokens", expected)


def _check_sampling(sampling: Sampling) -> None:
    ranges = (
        ("temperature_milli", sampling.temperature_milli, 100_000),
        ("top_k", sampling.top_k, TOP_K_MAX),
        ("top_p_milli", sampling.top_p_milli, 1000),
        ("seed", sampling.seed, SEED_END - 1),
    )
    for name, value, most in ranges:
        if not 0 <= value <= most:
            raise GenerationRefused("sampling_range", name, value, f"0 to {most}")


def _check_ids(subject: str, ids: tuple[int, ...], brain: Brain) -> None:
    if any(not 0 <= token < brain.config.vocabulary for token in ids):
        raise GenerationRefused("id_range", subject, "an id outside", f"ids from 0 to {brain.config.vocabulary - 1}")
