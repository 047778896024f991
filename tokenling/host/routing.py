"""Which worker runs which turn: estimates of nine cells a worker, and a plan made from them. Pure; time is a parameter.

A turn's *shape* is its kind crossed with a band of prompt size. A worker's estimate of a shape is the plain mean of its
first five whole turns, then an exponential mean that takes a fifth of each new one, so that one odd first turn does not
rule. A shape that only another worker has run is worth that worker's time multiplied by the least favourable ratio
between the two over the shapes that both have run.

`plan` walks the waiting turns in queue order over the lanes of all workers, those that run included, and gives each
turn to the worker that will have done it first; the CPU must win by a tenth. Where a completion cannot be told,
affinity decides: a CUDA worker is for what owners did, the CPU for background work, and an idle lane of the other kind
takes what would have to wait. Nothing here is stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tokenling.engine.request import GenerationRequest

TurnKind = Literal["reactive", "idle", "diary"]
Device = Literal["cpu", "cuda"]

BAND_BORDERS_TOKENS = (96, 256)
"""Where the short and the middle band end, in approximate tokens. Half of the contract's 300 prompts are below 96, none
is above 160; what is above 256 quotes an owner who writes much. A band need not be exact."""
BYTES_PER_TOKEN = 4
PROMPT_BYTES_COUNTED_MAX = BAND_BORDERS_TOKENS[-1] * BYTES_PER_TOKEN + 1
"""Counting stops here: whatever is longer is in the last band."""
PLAIN_MEAN_SAMPLES = 5
NEW_SAMPLE_SHARE = 0.2
CPU_MARGIN = 0.10
"""How much sooner the CPU must be done to take a turn from a CUDA worker: timings are noisy (the seed's choice)."""
OVERDUE_FACTOR = 2.0
"""A run that takes longer than this many times its estimate has an unknown end, so that a stuck worker does not hold
back what another could do (a guess)."""
PROMOTE_AFTER_S = 30.0
"""How long background work waits before it moves ahead of new reactive work (the seed's figure)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a turn costs by: its kind, and the band of its prompt's size (0 short, 1 middle, 2 long)."""

    kind: TurnKind
    band: int


def shape_of(kind: TurnKind, request: GenerationRequest) -> Shape:
    """The shape of a request; reads no more of it than the bands need."""
    counted = 0
    for part in (request.header, request.prefix, *reversed(request.lines)):
        counted += len(part[:PROMPT_BYTES_COUNTED_MAX].encode("utf-8", "surrogatepass")) + 1
        if counted >= PROMPT_BYTES_COUNTED_MAX:
            break
    return Shape(kind, band_of(counted // BYTES_PER_TOKEN))


def band_of(tokens: int) -> int:
    """0 to 2; a border belongs to the band below it."""
    return sum(tokens > border for border in BAND_BORDERS_TOKENS)


@dataclass(frozen=True, slots=True)
class Cell:
    """How long turns of one shape take on one worker, in seconds, over so many of them."""

    samples: int
    mean_s: float

    def with_sample(self, took_s: float) -> "Cell":
        share = 1 / (self.samples + 1) if self.samples < PLAIN_MEAN_SAMPLES else NEW_SAMPLE_SHARE
        return Cell(self.samples + 1, self.mean_s + share * (took_s - self.mean_s))


@dataclass(frozen=True, slots=True)
class Estimates:
    """A worker's cells: at most nine."""

    cells: Mapping[Shape, Cell] = field(default_factory=lambda: MappingProxyType({}))

    def with_sample(self, shape: Shape, took_s: float) -> "Estimates":
        """With one more whole turn, neither failed nor cancelled."""
        cell = self.cells.get(shape, Cell(0, 0.0)).with_sample(took_s)
        return Estimates(MappingProxyType({**self.cells, shape: cell}))

    def ratio_to(self, other: "Estimates") -> float | None:
        """The least favourable time of this worker against the other's over shared shapes; None without any."""
        shared = [shape for shape in self.cells if shape in other.cells and other.cells[shape].mean_s > 0]
        return max((self.cells[shape].mean_s / other.cells[shape].mean_s for shape in shared), default=None)

    def expected_s(self, shape: Shape, others: Iterable["Estimates"]) -> float | None:
        """Seconds a turn of this shape will take here: observed, else derived, else None."""
        if own := self.cells.get(shape):
            return own.mean_s
        derived = []
        for other in others:
            ratio = self.ratio_to(other)
            if ratio is not None and shape in other.cells:
                derived.append(other.cells[shape].mean_s * ratio)
        return max(derived, default=None)


@dataclass(frozen=True, slots=True)
class Running:
    """A turn on a lane since `since_s`."""

    shape: Shape
    since_s: float


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker that serves, as the plan sees it. `lanes` counts those that run too."""

    name: str
    device: Device
    lanes: int
    running: tuple[Running, ...] = ()
    estimates: Estimates = field(default_factory=Estimates)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A turn that waits since `since_s`; it never goes to the workers of `barred` (they lost it once)."""

    shape: Shape
    since_s: float
    barred: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a waiting turn will run: at once when `now`, else when a lane of the worker is free."""

    worker: str
    now: bool


def queue_order(waiting: Sequence[Waiting], now_s: float) -> list[int]:
    """Indices in the order of service; `waiting` is in order of arrival.

    What owners did goes first, then first come, first served; background work that waited 30 s goes before both.
    """

    def rank(index: int) -> tuple[int, float]:
        turn = waiting[index]
        if turn.shape.kind == "reactive":
            return (1, index)
        return (0, turn.since_s) if now_s - turn.since_s >= PROMOTE_AFTER_S else (2, turn.since_s)

    return sorted(range(len(waiting)), key=rank)


def next_for(worker: str, workers: Sequence[WorkerView], waiting: Sequence[Waiting], now_s: float) -> int | None:
    """The waiting turn that a free lane of this worker takes now; None: it does better to wait."""
    free = sum(view.lanes - len(view.running) for view in workers)
    for index, place in places(workers, waiting, now_s):
        if place is not None and place.now:
            if place.worker == worker:
                return index
            free -= 1
            if free <= 0:
                return None  # no lane is left that could start anything: later turns only wait
    return None


def plan(workers: Sequence[WorkerView], waiting: Sequence[Waiting], now_s: float) -> dict[int, Place | None]:
    """Where each waiting turn goes, by its index; None when every worker that serves is barred to it."""
    return dict(places(workers, waiting, now_s))


def places(
    workers: Sequence[WorkerView], waiting: Sequence[Waiting], now_s: float
) -> Iterable[tuple[int, Place | None]]:
    """The plan, turn by turn in queue order."""
    benches = [_Bench(view, [other.estimates for other in workers if other is not view], now_s) for view in workers]
    for index in queue_order(waiting, now_s):
        turn = waiting[index]
        open_to_it = [bench for bench in benches if bench.view.name not in turn.barred]
        bench = _chosen(turn.shape, open_to_it)
        yield index, None if bench is None else Place(bench.view.name, bench.seat(turn.shape))


class _Bench:
    """The lanes of a worker while a plan is made: when each is free, None where nobody knows."""

    def __init__(self, view: WorkerView, others: list[Estimates], now_s: float) -> None:
        self.view = view
        self._others = others
        self._now_s = now_s
        self._free_s: list[float | None] = [self._end_of(run) for run in view.running]
        self._free_s += [now_s] * (view.lanes - len(view.running))

    def _end_of(self, run: Running) -> float | None:
        expected_s = self.expected_s(run.shape)
        if expected_s is None or self._now_s - run.since_s > OVERDUE_FACTOR * expected_s:
            return None
        # due by now but still there: any moment, and not before a lane that is free already
        return max(run.since_s + expected_s, self._now_s + 1e-6)

    def expected_s(self, shape: Shape) -> float | None:
        return self.view.estimates.expected_s(shape, self._others)

    def is_idle(self) -> bool:
        return any(free is not None and free <= self._now_s for free in self._free_s)

    def wait_s(self, shape: Shape) -> float | None:
        """Seconds until a turn of this shape would be done here, or None where that cannot be told."""
        expected_s, free_s = self.expected_s(shape), self._earliest()
        return None if expected_s is None or free_s is None else free_s + expected_s - self._now_s

    def seat(self, shape: Shape) -> bool:
        """Give the turn the lane that is free first. Whether that is now."""
        free_s, expected_s = self._earliest(), self.expected_s(shape)
        lane = self._free_s.index(free_s)
        self._free_s[lane] = None if free_s is None or expected_s is None else free_s + expected_s
        return free_s is not None and free_s <= self._now_s

    def _earliest(self) -> float | None:
        return min((free for free in self._free_s if free is not None), default=None)


def _chosen(shape: Shape, benches: list[_Bench]) -> _Bench | None:
    if len(benches) <= 1:
        return benches[0] if benches else None
    timed = [(wait_s, bench) for bench in benches if (wait_s := bench.wait_s(shape)) is not None]
    if len(timed) == len(benches):
        return min(timed, key=lambda pair: _handicapped(pair[0], pair[1].view.device))[1]
    wanted: Device = "cuda" if shape.kind == "reactive" else "cpu"
    kin = sorted(benches, key=lambda bench: bench.view.device != wanted)
    return next((bench for bench in kin if bench.is_idle()), kin[0])


def _handicapped(wait_s: float, device: Device) -> float:
    return wait_s / (1 - CPU_MARGIN) if device == "cpu" else wait_s
