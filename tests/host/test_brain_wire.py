"""Frames between a host and its brain's process, however the stream is cut and whatever comes."""

import socket
import struct
import threading

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tokenling.host.brain_wire import (
    FRAME_BYTES_MAX,
    Facts,
    Frame,
    Frames,
    Unpacker,
    WireBroken,
    facts_in,
    first_frame,
    pack,
)

FACTS = Facts("sprout-2", ("lookups",), 1, "q4", ("sprout-1",), ("a remark",), ("CPUExecutionProvider",) * 2)
SCALARS = st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.booleans() | st.none()
FRAMES = st.builds(Frame, st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), SCALARS), st.binary())


def frame_bytes(head: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">II", len(head), len(body)) + head + body


@given(st.lists(FRAMES, max_size=4), st.integers(1, 40))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(frames: list[Frame], size: int) -> None:
    unpacker, stream = Unpacker(), b"".join(map(pack, frames))
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert frames == [frame for part in parts for frame in unpacker.frames(part)]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 8,
        struct.pack(">II", FRAME_BYTES_MAX + 1, 0),
        struct.pack(">II", 2, FRAME_BYTES_MAX + 1) + b"{}",
        frame_bytes(b"[]"),
        frame_bytes(b"{"),
        frame_bytes(b"\xff\xfe"),
        frame_bytes(b""),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(WireBroken):
        list(Unpacker().frames(data))


WITH_GPU = Facts("b", (), 2, "gguf", (), (), ("CPU",), ("CUDA",), "")
WITHOUT_DRIVER = Facts("b", (), 2, "", (), (), ("CPU",), (), "no driver")


@pytest.mark.parametrize("facts", [FACTS, WITH_GPU, WITHOUT_DRIVER])
def test_facts_come_through_as_they_are(facts: Facts) -> None:
    (frame,) = Unpacker().frames(pack(Frame(facts.head())))
    assert facts == facts_in(frame.head)


@pytest.mark.parametrize(
    "wrong",
    [{"brain_id": 7}, {"prompt_version": True}, {"features": "lookups"}, {"cpu": [1]}, {"gpu_failure": 3}],
)
def test_facts_of_another_shape_are_refused(wrong: dict[str, object]) -> None:
    head = FACTS.head()
    told = head["brain"]
    assert isinstance(told, dict)
    with pytest.raises(WireBroken):
        facts_in({"brain": told | wrong})
    with pytest.raises(WireBroken):
        facts_in({"exit": 3})


async def test_what_a_full_socket_does_not_take_at_once_follows_whole_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    sender, receiver = Frames(ours), Frames(theirs)
    sent = [Frame({"turn": number}, bytes([number]) * 400_000) for number in range(6)]
    found: list[Frame] = []

    async def receive() -> None:
        while len(found) < len(sent):
            found.extend(await receiver.received())

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for frame in sent:
                nursery.start_soon(sender.send, frame)
            nursery.start_soon(receive)
    assert sorted(frame.body for frame in sent) == sorted(frame.body for frame in found)
    await sender.aclose()
    assert [] == await receiver.received()
    await receiver.aclose()


async def test_a_side_that_reads_nothing_or_is_gone_breaks_the_wire(autojump_clock: trio.testing.MockClock) -> None:
    ours, theirs = socket.socketpair()
    frames = Frames(ours)
    with pytest.raises(WireBroken):
        await frames.send(Frame({}, bytes(8_000_000)))
    theirs.close()
    with pytest.raises(WireBroken):
        await frames.send(Frame({}))
    await frames.aclose()


async def test_a_cancelled_sender_has_sent_its_frame_whole() -> None:
    ours, theirs = socket.socketpair()
    sender, receiver = Frames(ours), Frames(theirs)
    frame = Frame({"turn": 1}, bytes(1_000_000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sender.send, frame)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            assert [frame] == await receiver.received()
    await sender.aclose()
    await receiver.aclose()


def test_the_first_frame_is_waited_for_in_a_thread_and_the_end_of_the_stream_is_told() -> None:
    ours, theirs = socket.socketpair()
    data = pack(Frame({"brain": {}}))
    writer = threading.Thread(target=lambda: (theirs.sendall(data[:3]), theirs.sendall(data[3:]), theirs.close()))
    writer.start()
    unpacker = Unpacker()
    assert Frame({"brain": {}}) == first_frame(ours, unpacker)
    with pytest.raises(WireBroken):
        first_frame(ours, unpacker)
    writer.join()
    ours.close()
