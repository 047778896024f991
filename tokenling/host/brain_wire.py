"""What a host and the process of its brain say to each other, over a pair of sockets that nobody else has.

A frame is two lengths, a head in JSON and a body in bytes (a turn receipt). The host asks for turns by number and calls
them off; each is answered once::

    host  -> brain   {"turn": 7, "lane": 0, "id": "…", "request": {…}}     {"off": 7}
    brain -> host    {"turn": 7, "text": "…", "stop": "eos", "lookups": […]} + receipt
                     {"turn": 7, "refused": "does_not_fit"}   {"turn": 7, "failed": "LaneFailed"}
                     {"turn": 7, "off": true}

The first frame of a brain says what it is, or why it is none: `{"brain": {…}}`, `{"exit": 3, "lines": […]}`.
"""

import json
import socket
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, cast

import trio

Head: TypeAlias = dict[str, object]

_LENGTHS = struct.Struct(">II")
FRAME_BYTES_MAX = 16 * 1024 * 1024
"""Of a head and its body each. A request quotes at most a save (1 MiB, six times that where JSON escapes it)."""
READ_BYTES = 65_536
SEND_S_MAX = 1.0
"""The other side reads at once or is hung: a frame is far smaller than what a socket holds."""


class WireBroken(Exception):
    """The other side is gone, hung, or says what is no frame. Nothing more can be had from it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    head: Head
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the process opened: the brain, a provider for each lane of the CPU and of a GPU, and what became of a GPU
    that was asked for (None: nobody asked, "": it started)."""

    brain_id: str
    features: tuple[str, ...]
    prompt_version: int
    precision: str
    succeeds: tuple[str, ...]
    remarks: tuple[str, ...]
    cpu: tuple[str, ...]
    gpu: tuple[str, ...] = ()
    gpu_failure: str | None = None
    files: tuple[str, ...] = ()
    """Names and SHA-256 of the brain's files, one text each."""
    version: str = ""
    """Of the package that runs there."""

    def is_same_brain(self, other: "Facts") -> bool:
        """Whether it is the other's brain, byte for byte, to pets, prompts and receipts."""
        ours, theirs = (
            (each.brain_id, each.features, each.prompt_version, each.precision, each.files) for each in (self, other)
        )
        return ours == theirs

    def head(self) -> Head:
        """As the first frame's head."""
        return {"brain": asdict(self)}


def facts_in(head: Head) -> Facts:
    """The facts that a first frame brought; raises `WireBroken`."""
    told = head.get("brain")
    if not isinstance(told, dict):
        raise WireBroken
    version = told.get("prompt_version")
    if type(version) is not int:
        raise WireBroken
    return Facts(
        brain_id=text_in(told, "brain_id"),
        features=texts_in(told, "features"),
        prompt_version=version,
        precision=text_in(told, "precision"),
        succeeds=texts_in(told, "succeeds"),
        remarks=texts_in(told, "remarks"),
        cpu=texts_in(told, "cpu"),
        gpu=texts_in(told, "gpu"),
        gpu_failure=None if told.get("gpu_failure") is None else text_in(told, "gpu_failure"),
        files=texts_in(told, "files"),
        version=text_in(told, "version"),
    )


def pack(frame: Frame) -> bytes:
    """The frame's bytes."""
    head = json.dumps(frame.head, separators=(",", ":"), ensure_ascii=False).encode()
    return _LENGTHS.pack(len(head), len(frame.body)) + head + frame.body


class Unpacker:
    """Frames out of a stream of bytes, however it is cut."""

    def __init__(self) -> None:
        self._held = bytearray()

    def frames(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole with this data. Raises `WireBroken` for what is none."""
        self._held += data
        while len(self._held) >= _LENGTHS.size:
            head_bytes, body_bytes = _LENGTHS.unpack_from(self._held)
            if max(head_bytes, body_bytes) > FRAME_BYTES_MAX:
                raise WireBroken
            begin, end = _LENGTHS.size + head_bytes, _LENGTHS.size + head_bytes + body_bytes
            if len(self._held) < end:
                return
            head, body = bytes(self._held[_LENGTHS.size : begin]), bytes(self._held[begin:end])
            del self._held[:end]
            yield Frame(_head(head), body)


def _head(data: bytes) -> Head:
    try:
        head: object = json.loads(data)
    except ValueError:
        raise WireBroken from None
    if not isinstance(head, dict):
        raise WireBroken
    return cast("Head", head)


def number_in(head: Head, name: Literal["turn", "off", "lane"]) -> int:
    """A whole number of a head; raises `WireBroken`."""
    number = head.get(name)
    if type(number) is not int:
        raise WireBroken
    return number


def text_in(head: Head, name: str) -> str:
    """A text of a head; raises `WireBroken`."""
    text = head.get(name)
    if not isinstance(text, str):
        raise WireBroken
    return text


def texts_in(head: Head, name: str) -> tuple[str, ...]:
    """A list of texts of a head; raises `WireBroken`."""
    texts = head.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise WireBroken
    return tuple(texts)


def first_frame(held: socket.socket, unpacker: Unpacker) -> Frame:
    """Wait, in a thread, for the first frame. The socket blocks. Raises `WireBroken` at the end of the stream."""
    while data := held.recv(READ_BYTES):
        for frame in unpacker.frames(data):
            return frame
    raise WireBroken


class Frames:
    """Frames over a socket, in Trio. One task receives; any may send."""

    def __init__(self, held: socket.socket, unpacker: Unpacker | None = None) -> None:
        held.setblocking(False)
        self._socket = held
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(held))
        self._unpacker = unpacker or Unpacker()
        self._sending = trio.Lock()

    async def send(self, frame: Frame) -> None:
        """Send it whole whatever is cancelled meanwhile, for half a frame would be the end. Raises `WireBroken`.

        What the socket takes at once, nearly always all, goes without a round of the event loop: a lane waits for it.
        """
        data = memoryview(pack(frame))
        try:
            if not self._sending.locked():
                data = data[self._take(data) :]
            if data:
                with trio.CancelScope(shield=True), trio.fail_after(SEND_S_MAX):
                    async with self._sending:
                        await self._stream.send_all(data)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            raise WireBroken from None

    def _take(self, data: memoryview) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    async def received(self) -> list[Frame]:
        """The next frames; none when the other side has ended. Raises `WireBroken`."""
        while True:
            try:
                data = await self._stream.receive_some(READ_BYTES)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                return []
            if not data:
                return []
            frames = list(self._unpacker.frames(bytes(data)))
            if frames:
                return frames

    async def aclose(self) -> None:
        """Close it: the other side sees the end."""
        await self._stream.aclose()
