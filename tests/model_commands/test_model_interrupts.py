"""What SIGINT means from moment to moment, with none left out."""

import os
import signal
import threading

import pytest

from tokenling.cli.model.interrupting import interruptible, interrupts_taken
from tokenling.runtime import Cancellation


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def a_shell():
    """A run in the background of a shell has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.default_int_handler == signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_while_work_runs_it_cancels_and_the_outcome_is_kept():
    cancel = Cancellation()

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        while not cancel.is_cancelled:
            pass
        return "so far"

    assert ("so far", True) == interruptible(work, cancel)


def test_a_second_one_waits_no_longer():
    go_on = threading.Event()
    cancel = Cancellation()

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        while not cancel.is_cancelled:
            pass
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait()

    with pytest.raises(KeyboardInterrupt):
        interruptible(work, cancel)
    go_on.set()


def test_what_the_work_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, Cancellation())


def test_one_between_two_moments_counts_for_the_next():
    with interrupts_taken() as interrupts:
        ctrl_c()
        assert (7, True) == interrupts.run(lambda: 7, Cancellation())
        assert (7, False) == interrupts.run(lambda: 7, Cancellation())
        ctrl_c()
        with pytest.raises(KeyboardInterrupt), interrupts.raised():
            pass
        with interrupts.raised():
            pass


def test_at_a_prompt_it_is_raised():
    with interrupts_taken() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.raised():
        ctrl_c()


def test_two_between_two_moments_end_it_at_once():
    with interrupts_taken() as interrupts:
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        assert interrupts.run(lambda: 7, Cancellation())[1]


def test_one_behind_the_last_moment_is_raised_at_the_end():
    with pytest.raises(KeyboardInterrupt), interrupts_taken():
        ctrl_c()


def test_where_it_was_ignored_it_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_taken() as interrupts, interrupts.raised():
        ctrl_c()
        assert (7, False) == interrupts.run(lambda: 7, Cancellation())
    assert signal.SIG_IGN == signal.signal(signal.SIGINT, signal.default_int_handler)
