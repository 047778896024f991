"""A wait that a signal always ends, also one that comes between Python's last instruction and the system call."""

import ctypes
import functools
import io
import operator
import os
import select
import signal
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from tokenling.cli.lines import Lines
from tokenling.cli.waiting import READ_BYTES, Errand, read_all, wait_readable


class Rung(Exception):  # noqa: N818 - what a signal's handler raises here
    pass


@contextmanager
def ringing(handler):
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def raises(_number, _frame):
    raise Rung


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def late(descriptor):
    """A descriptor that a signal comes with, as the system call is about to be made: `select` asks for its number in C,
    and no instruction of Python's, before which a handler would run, lies between that and the call."""

    class Late:
        pass

    leave_mark = ctypes.CDLL(None)["raise"]
    leave_mark.restype = functools.partial(operator.add, descriptor)  # 0, it worked, and the number
    found = Late()
    found.fileno = functools.partial(leave_mark, int(signal.SIGUSR1))
    return found


def test_a_signal_just_before_the_system_call_ends_the_wait(pipe):
    with ringing(raises):
        with pytest.raises(Rung):
            wait_readable(late(pipe[0]))
        # where nothing else is waited for, it is seen when time is over
        with pytest.raises(Rung):
            select.select([late(pipe[0])], [], [], 0.01)


def test_a_handler_that_raises_nothing_ends_no_wait(pipe):
    heard = []
    with ringing(lambda *_: (heard.append("rung"), os.write(pipe[1], b"x"))):
        assert wait_readable(late(pipe[0]))
    assert heard


def test_a_signal_while_it_waits_ends_it(pipe):
    def rung_soon():
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        wait_readable(pipe[0])

    with ringing(raises), pytest.raises(Rung):
        rung_soon()


def test_signals_that_nobody_waited_for_are_no_input(pipe):
    with ringing(lambda *_: None):
        for _ in range(20_000):  # more than the bell holds
            signal.raise_signal(signal.SIGUSR1)
        assert not wait_readable(pipe[0], 0.0)
        assert not wait_readable(late(pipe[0]), 0.01)


def test_another_thread_waits_as_well(pipe):
    waiting = Errand(lambda: (wait_readable(pipe[0], 0.0), wait_readable(pipe[0])))
    os.write(pipe[1], b"x")
    assert waiting.result()[1]


def test_the_wakeup_descriptor_of_before_is_put_back(pipe):
    with ringing(raises):
        assert not wait_readable(pipe[0], 0.0)
        with pytest.raises(Rung):
            wait_readable(late(pipe[0]))
    assert -1 == signal.set_wakeup_fd(-1)


@pytest.mark.parametrize("length", [0, 1, READ_BYTES, 3 * READ_BYTES + 1])
def test_all_that_comes_is_read_and_no_more_than_asked_for(length, tmp_path):
    data = os.urandom(length)
    path = tmp_path / "data"
    path.write_bytes(data)
    for most in (length + 1, length, length // 2):
        with path.open("rb") as source:
            assert data[:most] == read_all(source, most)
        assert data[:most] == read_all(io.BytesIO(data), most)


def test_a_pipe_is_read_to_its_end(pipe):
    data = os.urandom(5 * READ_BYTES)
    writing = Errand(lambda: os.write(pipe[1], data))
    with os.fdopen(pipe[0], "rb", closefd=False) as source:
        assert data == read_all(source, len(data))
    assert len(data) == writing.result()


def test_an_errand_gives_what_its_work_gives_or_raises():
    assert (errand := Errand(lambda: 7)).result() == errand.result() == 7

    def fails():
        raise Rung

    with pytest.raises(Rung):
        Errand(fails).result()


def test_a_signal_ends_the_wait_for_an_errand_and_it_can_be_waited_for_again():
    go_on = threading.Event()
    errand = Errand(go_on.wait)
    errand._ended = late(number := errand._ended)
    with ringing(raises), pytest.raises(Rung):
        errand.result()
    errand._ended = number
    go_on.set()
    assert errand.result()


def test_an_errand_leaves_no_descriptor_open():
    before = len(list(Path("/dev/fd").iterdir()))
    for count in range(20):
        errand = Errand(lambda: None)
        if count % 2:
            errand.result()
        else:
            wait_readable(errand._ended)
    del errand
    assert before == len(list(Path("/dev/fd").iterdir()))


def test_what_was_typed_of_a_line_is_forgotten_and_the_next_is_whole(pipe):
    with os.fdopen(pipe[0], "rb", closefd=False) as source:
        lines = Lines(source, 100)
        os.write(pipe[1], b"half a li")
        assert lines.next(0.0) is None
        lines.forget()
        os.write(pipe[1], b"whole\n")
        assert b"whole" == lines.next(0.0)


def test_lines_of_a_stream_in_memory_are_the_same():
    lines = Lines(io.BytesIO(b"one\r\ntwo\n" + b"x" * 101 + b"\nlast"), 100)
    assert [b"one", b"two", b"x" * 101, b"last"] == [lines.next() for _ in range(4)]
    with pytest.raises(EOFError):
        lines.next()


def test_an_interrupt_as_soon_as_the_descriptor_is_set_leaves_none_behind(monkeypatch):
    real, calls = signal.set_wakeup_fd, []

    def interrupted(descriptor, **how):
        before = real(descriptor, **how)
        calls.append(descriptor)
        if len(calls) == 1:
            raise KeyboardInterrupt  # what a handler raises between the call and the assignment of what it gave
        return before

    monkeypatch.setattr(signal, "set_wakeup_fd", interrupted)
    heard, rung = os.pipe()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_readable(heard, 0)
    finally:
        os.close(heard)
        os.close(rung)
    assert -1 == real(-1)
