"""The host as one process: starts its parts in order, keeps them in one nursery, stops them on a signal.

::

    run_host           SIGTERM, SIGINT: stop
    └─ root nursery
       ├─ store task  (inside open_store)
       ├─ brain       its process, where it has one of its own
       ├─ pets        clock, executor, workers
       ├─ http        the listener: whoever connects finds a warm brain
       ├─ metrics     a second, loopback listener, where one is set
       └─ watchdog    tells systemd that the loop turns, where it asks

Every part is built here and nowhere else; the brain's loader is handed in. A crash of a part ends the process.
"""

import contextlib
import gc
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Collection
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeAlias

import structlog
import trio
from hypercorn.config import Config

from tokenling import __version__, engine
from tokenling.host.client_address import networks_of
from tokenling.host.condition import Condition, free_bytes
from tokenling.host.dispatch_faults import BrainInUse, PromptVersionRefused, StartRefused
from tokenling.host.errors import ListenError, WebFilesError
from tokenling.host.exchange import WireLimits
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.faults import lack_in
from tokenling.host.heaps import bound_heaps
from tokenling.host.http_app import create_app
from tokenling.host.listener import bind_listener, bound_address, own_hosts, own_origins
from tokenling.host.metrics import Metrics, Sources
from tokenling.host.notify import Notifier
from tokenling.host.pets import Pets, PetsSettings, prepared_for
from tokenling.host.plan import HostBrain, HostPlan
from tokenling.host.rates import LIMITS, Rates
from tokenling.host.rebrain import Rewriter, RewriteRefused
from tokenling.host.routes import HostFacts
from tokenling.host.server import hypercorn_config, serve_http
from tokenling.host.setting_values import Address
from tokenling.host.shell import Doors, Shell
from tokenling.store import Store, StoreFailed, StoreRefused, copy_to_try, open_store

STOP_S = 1.4
"""From the signal to the forced end of what does not stop by itself; the promise is 2 s."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

SWITCH_S = 0.0002
"""How long a thread keeps the interpreter when another wants it (Python's default: 5 ms). A lane gives it up for each
step of its ORT session, a fraction of a millisecond, and wants it back behind: with the default it then waits 5 ms for
the event loop, fifteen times a turn (docs/capacity.md)."""

COLLECT_AFTER = (10_000, 10, 10)
"""Containers made beyond those let go, before Python looks for cycles among the young, the middle-aged and the old
(Python's default: 700, 10, 10). Owners' pets in memory are hundreds of thousands of containers, every look at the old
went through them all, 80 to 300 ms in which the loop stood still, and that was a sixth of the host's time; a request
leaves two or three containers in cycles (docs/capacity.md)."""

_Bound: TypeAlias = tuple[socket.socket, socket.socket | None]
"""The listener of the API and, where one is set, that of the metrics. A check only sees that they can be had."""

log = structlog.stdlib.get_logger("tokenling.host")


class _Stop:
    """What a signal does: it cancels the start, and once the host serves it sets `event`, which the parts obey."""

    def __init__(self) -> None:
        self.event = trio.Event()
        self.starting = trio.CancelScope()
        self.serving = False

    def now(self, number: int) -> None:
        if self.event.is_set():
            return
        log.info("stopping", signal=signal.Signals(number).name)
        self.event.set()
        if not self.serving:
            self.starting.cancel()


def run_host(plan: HostPlan) -> ExitCode:
    """Run until stopped; the exit code. Raises `HostRefused` when it cannot start; anything else is a crash."""
    sys.setswitchinterval(SWITCH_S)
    bound_heaps(0 if plan.settings.brain_process == "own" else plan.settings.cpu_lanes)
    stop = _Stop()
    try:
        _run_until(plan, stop)
    except HostRefused:
        raise
    except Exception as crash:
        lack = None if stop.serving else lack_in(crash)
        if lack is None:
            raise
        raise HostRefused(ExitCode.CRASHED, f"cannot start: this process gets no more {lack}") from None
    return ExitCode.STOPPED


def _run_until(plan: HostPlan, stop: _Stop) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(contextlib.closing(bind_listener(plan.settings.listen)))
        second = plan.settings.metrics_listen
        bound = listener, None if second is None else stack.enter_context(contextlib.closing(bind_listener(second)))
        try:
            trio.run(_run, plan, bound, stop)
        except BaseExceptionGroup as group:
            refused, crash = group.split((HostRefused, ListenError))
            if refused is None or crash is not None:
                raise
            raise _refusal_in(refused) from None
        finally:
            for number in STOP_SIGNALS:  # Python gives every other meaning up while it ends, and a second Ctrl-C kills
                signal.signal(number, signal.SIG_IGN)


def _refusal_in(group: BaseExceptionGroup[BaseException]) -> HostRefused:
    """The first refusal. A port may still be lost between binding and listening: to a host that started beside us."""
    first = group.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _refusal_in(first)
    return first if isinstance(first, HostRefused) else HostRefused(ExitCode.SETTINGS, str(first))


async def _run(plan: HostPlan, bound: _Bound, stop: _Stop) -> None:
    _obey_signals(stop)
    with stop.starting:
        async with _opened_store(plan) as store:
            await _start_and_serve(plan, store, bound, stop)


def _obey_signals(stop: _Stop) -> None:
    """From now on SIGTERM and SIGINT stop the host, and say nothing new to one that stops or has stopped.

    `trio.open_signal_receiver` would give them their old meaning back when it ends, before the process does.
    """
    token = trio.lowlevel.current_trio_token()

    def taken(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(stop.now, number, idempotent=True)

    for number in STOP_SIGNALS:
        signal.signal(number, taken)


@contextlib.asynccontextmanager
async def _opened_store(plan: HostPlan) -> AsyncIterator[Store]:
    """The database; for a check a copy, or an empty one where there is none, that vanishes again."""
    async with contextlib.AsyncExitStack() as stack:
        path = plan.settings.database
        try:
            if plan.check:
                path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tokenling-check-"))) / path.name
                if plan.settings.database.exists():
                    await trio.to_thread.run_sync(copy_to_try, plan.settings.database, path)
            store = await stack.enter_async_context(open_store(path, now_ms=plan.now_ms()))
        except StoreRefused as refused:
            told = StoreRefused(refused.code, plan.settings.database, refused.found, refused.expected)
            raise HostRefused(ExitCode.DATABASE, f"database {refused.code}: {told}") from None
        yield store


async def _start_and_serve(plan: HostPlan, store: Store, bound: _Bound, stop: _Stop) -> None:
    brain = await trio.to_thread.run_sync(plan.load_brain, plan.settings, abandon_on_cancel=True)
    async with _running(brain):
        await _serve(plan, store, brain, bound, stop)


@contextlib.asynccontextmanager
async def _running(brain: HostBrain) -> AsyncIterator[None]:
    """The brain's process, where it has one of its own, from before the first turn until after the last."""
    if brain.process is None:
        yield
        return
    async with trio.open_nursery() as nursery:
        await nursery.start(brain.process.serve)
        yield
        nursery.cancel_scope.cancel()


async def _serve(plan: HostPlan, store: Store, brain: HostBrain, bound: _Bound, stop: _Stop) -> None:
    pets = await _started_pets(plan, store, brain)
    listener, second = bound
    address = bound_address(listener)
    doors = Doors(rates=Rates(None if plan.preview else LIMITS), trusted=networks_of(plan.settings.trusted_proxies))
    app = await trio.to_thread.run_sync(_application, plan, pets, brain, address, doors)
    if plan.check:
        return plan.announce(None, brain)
    notifier = Notifier()
    stop.serving = True
    async with trio.open_nursery() as parts:
        await parts.start(pets.serve)
        serve = partial(serve_http, stop=stop.event, on_connections=doors.note_connections)
        await parts.start(partial(serve, app, _config_of(listener), listener=listener))
        if second is not None:
            metrics = _metrics(store, pets, doors, bound_address(second))
            await parts.start(partial(serve_http, metrics, _config_of(second), stop=stop.event, listener=second))
            plan.announce_metrics(bound_address(second))
        parts.start_soon(notifier.keep_watchdog, stop.event)
        _collect_seldom()
        plan.announce(address, brain)
        notifier.tell("READY=1")
        await stop.event.wait()
        # from here: no new connection, parked polls answered, turns cancelled, commits finished
        notifier.tell("STOPPING=1")
        parts.cancel_scope.deadline = trio.current_time() + STOP_S
        pets.close()
    return None


def _collect_seldom() -> None:
    """What the start has made lives as long as the process: no look for cycles goes through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def _config_of(listener: socket.socket) -> Config:
    return hypercorn_config(str(bound_address(listener)))


def _metrics(store: Store, pets: Pets, doors: Doors, address: Address) -> Shell:
    """The application of the second address: behind a shell too, so that it is bounded and answers as the first."""
    free = partial(free_bytes, store.path)
    condition = Condition(pets, doors.waits, free_bytes=free)
    page = Metrics(Sources(doors, store, condition, lambda: doors.connections, free, pets.life))
    own = Doors(rates=Rates(None))
    return Shell(page, own, polls=None, allowed_origins=(), allowed_hosts=own_hosts(address), limits=WireLimits())


async def _started_pets(plan: HostPlan, store: Store, brain: HostBrain) -> Pets:
    pets_max = plan.settings.pets_max
    settings = PetsSettings(pets_max, prepared_for(pets_max), weather_seed=plan.settings.weather_seed)
    try:
        pets = Pets(
            store, brain.generators, now_ms=plan.now_ms, settings=settings, gpu=brain.gpu, process=brain.process
        )
        if plan.preview:
            await _follow_succession(plan, store, brain)
        await pets.start()
    except RewriteRefused as refused:
        raise HostRefused(ExitCode.DATABASE, str(refused)) from None
    except PromptVersionRefused as refused:
        raise HostRefused(ExitCode.BRAIN, str(refused)) from None
    except BrainInUse as refused:
        raise HostRefused(ExitCode.DATABASE, str(refused)) from None
    except StartRefused as refused:  # a name that fits no save, a clock that is plainly wrong
        raise HostRefused(ExitCode.SETTINGS, str(refused)) from None
    except StoreFailed as failed:
        raise HostRefused(ExitCode.DATABASE, str(failed)) from None
    return pets


async def _follow_succession(plan: HostPlan, store: Store, brain: HostBrain) -> None:
    """Pets of a brain that this one succeeds move on to it; the store makes a backup first."""
    hosted = (await store.counts()).hosted_by_brain
    for old in brain.succeeds:
        if hosted.get(old):
            now_ms = plan.now_ms()
            done = await store.rebrain(old, brain.brain_id, Rewriter(brain.brain_id), now_ms=now_ms)
            log.info("pets moved to the next brain", pets=done.pets, old=old, new=brain.brain_id)


def _application(plan: HostPlan, pets: Pets, brain: HostBrain, address: Address, doors: Doors) -> Shell:
    settings = plan.settings
    origins: Collection[str] = settings.origins
    hosts: Collection[str] | None = settings.allowed_hosts
    if plan.preview:
        origins, hosts = (*origins, *own_origins(address)), own_hosts(address)
    try:
        return create_app(
            pets,
            facts=HostFacts(__version__, engine.ENGINE_VERSION, brain.brain_id, brain.features),
            allowed_origins=origins,
            allowed_hosts=hosts,
            web_root=plan.web_root,
            brain_dir=brain.directory,
            precision=brain.precision or settings.precision,
            enrol_code=settings.enrol_code,
            doors=doors,
            free_bytes=partial(free_bytes, settings.database),
        )
    except WebFilesError as refused:
        raise HostRefused(ExitCode.SETTINGS, str(refused)) from None
