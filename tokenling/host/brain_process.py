"""A brain in a process of its own: its lanes are the host's lanes, and its interpreter is not the host's.

Python runs one thread at a time in a process, so a host's event loop and its lanes wait for each other (figures in
docs/capacity.md). Here the lanes live in a child process, and what crashes there, a driver or a damaged graph, does not
end the host: the process is started again, and each turn that it took along is asked once more by itself.

Nothing is decided there. The child knows requests and replies, no pet, no key and no database, and ends with the host.
"""

import itertools
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import structlog
import trio

from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.brain_wire import Facts, Frame, Frames, Head, Unpacker, WireBroken, number_in, text_in, texts_in
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.ports import Generated, Generator, LaneBroke, TurnRefused
from tokenling.runtime import StopReason
from tokenling.runtime.requests import request_json

CALLED_OFF_S_MAX = 1.0
"""A lane that does not let go of a cancelled turn within this is hung, with its process: ten times the longest wait
that was measured (80 ms), and within a host's two seconds to stop."""
END_S_MAX = 0.3
"""A process that was told to end, by the end of its socket, has so long before it is killed. It holds nothing."""
RESTART_FIRST_S = 0.5
RESTART_MAX_S = 60.0
"""Between two starts that did not live: doubled each time. A guess."""
LOADING_S_MIN = 60.0
LOADING_TIMES = 10
"""A start that takes longer than this, and than so many times the first one, hangs."""
LIVED_S = 60.0
"""A process that served for so long was well: the next start does not wait long."""
TRIES = 2
"""A turn whose process ended under it is asked once more, of the next one."""
PROCESS_ENDED = "brain_process_ended"
_STOPS: Mapping[str, StopReason] = {"eos": "eos", "newline": "newline", "length": "length", "cancelled": "cancelled"}

log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Launched:
    """A process that has opened its brain and waits for turns. `held` is our end of the sockets."""

    process: "subprocess.Popen[bytes]"
    held: socket.socket
    unpacker: Unpacker
    facts: Facts

    def end(self) -> None:
        """In a thread: let it end, see that it does, and leave no zombie."""
        end_process(self.process, self.held, END_S_MAX)

    @property
    def how(self) -> str:
        """How it ended, for people."""
        return _how_it_ended(self.process)


def end_process(process: "subprocess.Popen[bytes]", held: socket.socket, within_s: float) -> str:
    """In a thread: close our end of its sockets, give it so long to end, then kill it. How it ended, for people."""
    held.close()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return _how_it_ended(process)


def _how_it_ended(process: "subprocess.Popen[bytes]") -> str:
    """The signal's name or the exit code of a process that has ended."""
    code = process.returncode
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


class Launch(Protocol):
    """Starts a process and waits until its brain is warm; runs in a thread. Raises `HostRefused`.

    `again_s`: another one has ended before, and this one may take so long, else it is ended. A GPU is left alone then:
    it may be what ended the last, and is given up anyway. None: the first, which may take what it takes.
    """

    def __call__(self, *, again_s: float | None) -> Launched: ...


@dataclass(slots=True, eq=False)
class _Asked:
    """A turn that was sent: its answer, once `done` is set; none when the process ended before."""

    done: trio.Event = field(default_factory=trio.Event)
    answer: Frame | None = None


class _Ended(Exception):
    """The process ended, or was ended, under a turn."""


class _Link:
    """One process while it lives: turns by number, and their answers."""

    def __init__(self, launched: Launched) -> None:
        self._launched = launched
        self._frames = Frames(launched.held, launched.unpacker)
        self._numbers = itertools.count(1)
        self._asked: dict[int, _Asked] = {}

    async def ask(self, lane: int, request: GenerationRequest, turn_id: str) -> Frame:
        """The answer to a turn. Raises `_Ended`. Cancelled, it returns when the lane has let go of the turn."""
        number = next(self._numbers)
        asked = self._asked[number] = _Asked()
        head: Head = {"turn": number, "lane": lane, "id": turn_id, "request": request_json(request)}
        try:
            await self._send(Frame(head))
            await asked.done.wait()
        except trio.Cancelled:
            await self._call_off(number, asked)
            raise
        finally:
            del self._asked[number]
        if asked.answer is None:
            raise _Ended
        return asked.answer

    async def _send(self, frame: Frame) -> None:
        try:
            await self._frames.send(frame)
        except WireBroken:
            self.kill()
            raise _Ended from None

    async def _call_off(self, number: int, asked: _Asked) -> None:
        with trio.move_on_after(CALLED_OFF_S_MAX, shield=True) as patience:
            with suppress(_Ended):
                await self._send(Frame({"off": number}))
            await asked.done.wait()
        if patience.cancelled_caught:
            log.error("the brain's process does not answer and is ended")
            self.kill()

    @property
    def pid(self) -> int:
        return self._launched.process.pid

    async def read(self) -> None:
        """Hand out answers until the process ends. Whoever still waits then learns of it."""
        try:
            while frames := await self._frames.received():
                for frame in frames:
                    asked = self._asked.get(number_in(frame.head, "turn"))
                    if asked is not None:
                        asked.answer = frame
                        asked.done.set()
        except WireBroken:
            log.error("the brain's process says what nobody understands and is ended")
            self.kill()
        finally:
            for asked in self._asked.values():
                asked.done.set()

    def kill(self) -> None:
        """End it at once. `read` returns."""
        self._launched.process.kill()

    async def end(self) -> None:
        """Nobody asks any more: the process ends."""
        with trio.CancelScope(shield=True):
            await self._frames.aclose()
            await trio.to_thread.run_sync(self._launched.end)


class BrainProcess:
    """Keeps one process running while `serve` runs, and asks it."""

    def __init__(self, launch: Launch) -> None:
        """Starts the first process; in a thread. Raises `HostRefused`."""
        began_s = time.monotonic()
        first = launch(again_s=None)
        self._launch = launch
        self._patience_s = max(LOADING_S_MIN, LOADING_TIMES * (time.monotonic() - began_s))
        self._first: Launched | None = first
        self.facts = first.facts
        self.restarts = 0
        self._link: _Link | None = None
        self._changed = trio.Event()

    @property
    def is_up(self) -> bool:
        """Whether turns are taken now; one that is asked meanwhile waits."""
        return self._link is not None

    @property
    def pid(self) -> int | None:
        """The process that serves now, or is about to for the first time."""
        if self._first is not None:
            return self._first.process.pid
        return None if self._link is None else self._link.pid

    async def changed(self) -> None:
        """Wait until a process has come or gone."""
        await self._changed.wait()

    def generators(self) -> tuple[tuple[Generator, ...], tuple[Generator, ...]]:
        """The lanes of the CPU and those of a GPU, in the order in which the process numbers them."""
        numbered = list(enumerate((*self.facts.cpu, *self.facts.gpu)))
        lanes = [LaneElsewhere(self, number, provider) for number, provider in numbered]
        return tuple(lanes[: len(self.facts.cpu)]), tuple(lanes[len(self.facts.cpu) :])

    def close(self) -> None:
        """End a first process that was never served."""
        if self._first is not None:
            self._first.end()
            self._first = None

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep a process until cancelled. Raises `HostRefused` when the brain is another one after a restart."""
        launched, self._first = self._first, None
        assert launched is not None, "it serves once"
        pause_s = RESTART_FIRST_S
        while True:
            began_s = trio.current_time()
            await self._live(launched, task_status)
            task_status = trio.TASK_STATUS_IGNORED
            if trio.current_time() - began_s > LIVED_S:
                pause_s = RESTART_FIRST_S
            log.error("the brain's process ended and is started again", how=launched.how, again_in_s=pause_s)
            launched, pause_s = await self._again(pause_s)
            log.warning("the brain's process serves again", pid=launched.process.pid)

    async def _live(self, launched: Launched, task_status: trio.TaskStatus[None]) -> None:
        link = _Link(launched)
        self._turn_to(link)
        task_status.started()
        try:
            await link.read()
        finally:
            self._turn_to(None)
            await link.end()

    def _turn_to(self, link: _Link | None) -> None:
        self._link = link
        self._changed.set()
        self._changed = trio.Event()

    async def _again(self, pause_s: float) -> tuple[Launched, float]:
        """The next process that starts, and how long to wait should it not live."""
        while True:
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, RESTART_MAX_S)
            self.restarts += 1
            launch = partial(self._launch, again_s=self._patience_s)
            try:
                launched = await trio.to_thread.run_sync(launch, abandon_on_cancel=True)
            except HostRefused as refused:
                log.error("the brain's process did not start", reason=str(refused), again_in_s=pause_s)
            except (OSError, RuntimeError, MemoryError) as failed:  # of the machine: no thread, no memory to be had
                log.error("the brain's process did not start", reason=type(failed).__name__, again_in_s=pause_s)
            else:
                if await self._fits(launched):
                    return launched, pause_s

    async def _fits(self, launched: Launched) -> bool:
        """Whether it can take the place of the first one. Raises `HostRefused` when no later one will either."""
        told = launched.facts
        if told.is_same_brain(self.facts) and told.version == self.facts.version:
            if len(told.cpu) == len(self.facts.cpu):  # batching may be refused, or not, from one start to the next
                return True
            log.error("the brain's process has another number of lanes than before", found=len(told.cpu))
        await trio.to_thread.run_sync(launched.end)
        if told.version != self.facts.version:
            raise HostRefused(ExitCode.CRASHED, f"tokenling is {told.version} now: the host must start again, too")
        if not told.is_same_brain(self.facts):
            raise HostRefused(ExitCode.BRAIN, "the brain's files were changed under the host: start it again")
        return False

    async def ask(self, lane: int, request: GenerationRequest, turn_id: str) -> Generated:
        """The turn on a lane of the process, waiting for the next process where there is none."""
        link: _Link | None = None
        for _ in range(TRIES):
            link = await self._link_behind(link)
            with suppress(_Ended):
                return await self._answer_of(link, lane, request, turn_id)
        raise LaneBroke(PROCESS_ENDED)

    async def _link_behind(self, ended: _Link | None) -> _Link:
        """A process that lives, another one than that which ended under the turn."""
        while self._link is None or self._link is ended:
            await self.changed()
        return self._link

    async def _answer_of(self, link: _Link, lane: int, request: GenerationRequest, turn_id: str) -> Generated:
        answer = await link.ask(lane, request, turn_id)
        try:
            return generated_in(answer)
        except WireBroken:
            link.kill()
            raise _Ended from None


def generated_in(frame: Frame) -> Generated:
    """What an answer says. Raises `TurnRefused`, `LaneBroke`, and `WireBroken` for what is no answer."""
    head = frame.head
    if "refused" in head:
        raise TurnRefused(text_in(head, "refused"))
    if "failed" in head:
        raise LaneBroke(text_in(head, "failed"))
    stop = _STOPS.get(text_in(head, "stop"))
    if stop is None:
        raise WireBroken
    return Generated(Reply(text_in(head, "text"), stop, texts_in(head, "lookups")), frame.body)


class LaneElsewhere:
    """A lane of the process, as the host's generator."""

    def __init__(self, process: BrainProcess, number: int, provider: str) -> None:
        self._process = process
        self._number = number
        self.provider = provider

    @property
    def brain_id(self) -> str:
        return self._process.facts.brain_id

    @property
    def features(self) -> tuple[str, ...]:
        return self._process.facts.features

    @property
    def prompt_version(self) -> int:
        return self._process.facts.prompt_version

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        """Run the turn there. Raises `TurnRefused` or `LaneBroke`."""
        return await self._process.ask(self._number, request, turn_id)
