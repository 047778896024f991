"""What a machine, or a limit, did not give is told apart from a fault of our own."""

import errno

import pytest

from tokenling.host.faults import lack_in

LACKS = {
    "open files (ulimit -n)": OSError(errno.EMFILE, "x"),
    "open files, of the whole machine": OSError(errno.ENFILE, "x"),
    "memory (ulimit -v)": MemoryError(),
    "threads or processes (ulimit -u)": RuntimeError("can't start new thread"),
}


@pytest.mark.parametrize(("told", "error"), LACKS.items())
def test_a_lack_is_named_however_deep_in_a_group(told: str, error: Exception) -> None:
    assert told == lack_in(error)
    assert told == lack_in(ExceptionGroup("", [ExceptionGroup("", [ValueError(), error])]))


@pytest.mark.parametrize("error", [OSError(errno.EIO, "x"), OSError(), RuntimeError("x"), KeyError("x")])
def test_a_fault_is_no_lack(error: Exception) -> None:
    assert lack_in(error) is None
