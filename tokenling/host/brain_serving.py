"""The brain's side of `brain_wire`: turns that a host asks for, on the lanes of this process."""

import socket
from collections.abc import Sequence

import structlog
import trio

from tokenling import __version__
from tokenling.host.brain_wire import Facts, Frame, Frames, Head, WireBroken, number_in, text_in
from tokenling.host.faults import shown_frames
from tokenling.host.plan import HostBrain
from tokenling.host.ports import Generated, Generator, TurnRefused
from tokenling.runtime import GenerationRefused
from tokenling.runtime.documents import JsonObject
from tokenling.runtime.requests import request_from_json

log = structlog.stdlib.get_logger(__name__)


def facts_of(brain: HostBrain) -> Facts:
    """What the host is told of a brain that was opened here."""
    first = brain.generators[0]
    gpu = brain.gpu
    return Facts(
        brain_id=brain.brain_id,
        features=brain.features,
        prompt_version=first.prompt_version,
        precision=brain.precision,
        succeeds=brain.succeeds,
        remarks=brain.remarks,
        cpu=tuple(lane.provider for lane in brain.generators),
        gpu=() if gpu is None else tuple(lane.provider for lane in gpu.generators),
        gpu_failure=None if gpu is None else gpu.failure,
        files=brain.files,
        version=__version__,
    )


def serve_turns(held: socket.socket, brain: HostBrain) -> None:
    """Answer turns until the host ends, which the end of the socket says. What runs then is cancelled."""
    lanes = (*brain.generators, *(() if brain.gpu is None else brain.gpu.generators))
    trio.run(_Turns(lanes).serve, held)


class _Turns:
    """The turns that run, by number."""

    def __init__(self, lanes: Sequence[Generator]) -> None:
        self._lanes = lanes
        self._scopes: dict[int, trio.CancelScope] = {}

    async def serve(self, held: socket.socket) -> None:
        frames = Frames(held)
        async with trio.open_nursery() as nursery:
            while asked := await frames.received():
                for frame in asked:
                    self._obey(frame.head, frames, nursery)
            nursery.cancel_scope.cancel()

    def _obey(self, head: Head, frames: Frames, nursery: trio.Nursery) -> None:
        if "off" in head:
            scope = self._scopes.get(number_in(head, "off"))
            if scope is not None:  # else its answer is on the way already
                scope.cancel()
            return
        number = number_in(head, "turn")
        scope = self._scopes[number] = trio.CancelScope()
        nursery.start_soon(self._answer, number, scope, head, frames, nursery)

    async def _answer(
        self, number: int, scope: trio.CancelScope, head: Head, frames: Frames, nursery: trio.Nursery
    ) -> None:
        answer = Frame({"turn": number, "off": True})
        with scope:
            answer = await self._run(number, head)
        del self._scopes[number]
        try:
            await frames.send(answer)
        except WireBroken:
            nursery.cancel_scope.cancel()  # the host is gone, or so stuck that it will not miss us

    async def _run(self, number: int, head: Head) -> Frame:
        try:
            lane = self._lanes[number_in(head, "lane")]  # a GPU's is not there any more after a restart
            request = request_from_json(_request_in(head))
            return _told(number, await lane.generate(request, turn_id=text_in(head, "id")))
        except (TurnRefused, GenerationRefused) as refused:
            return Frame({"turn": number, "refused": refused.code})
        except Exception as error:
            log.warning("generation failed", frames=shown_frames(error))
            return Frame({"turn": number, "failed": type(error).__name__})


def _request_in(head: Head) -> JsonObject:
    request = head.get("request")
    if not isinstance(request, dict):
        raise WireBroken
    return request


def _told(number: int, generated: Generated) -> Frame:
    reply = generated.reply
    head: Head = {"turn": number, "text": reply.text, "stop": reply.stop, "lookups": list(reply.lookups_used)}
    return Frame(head, generated.receipt)
