import os
import socket

import pytest
import trio

from tokenling.host.notify import Notifier


@pytest.fixture(params=["file", "abstract"])
def manager(request, tmp_path):
    """A service manager's socket, and its name for the environment."""
    name = str(tmp_path / "notify") if request.param == "file" else f"@tokenling-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name[1:] if name.startswith("@") else name)
        listener.settimeout(5)
        yield listener, name


def test_a_state_reaches_the_service_manager(manager):
    listener, name = manager
    Notifier({"NOTIFY_SOCKET": name}).tell("READY=1")
    assert listener.recv(100) == b"READY=1"


async def test_the_watchdog_is_fed_twice_in_its_time(manager, autojump_clock):
    listener, name = manager
    listener.setblocking(False)
    notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "10000000", "WATCHDOG_PID": str(os.getpid())})
    with trio.move_on_after(21):
        await notifier.keep_watchdog(trio.Event())
    fed = [listener.recv(100) for _ in range(5)]
    assert fed == [b"WATCHDOG=1"] * 5
    with pytest.raises(BlockingIOError):
        listener.recv(100)


async def test_the_watchdog_ends_as_soon_as_the_host_stops(manager, autojump_clock):
    stop, begun = trio.Event(), trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Notifier({"NOTIFY_SOCKET": manager[1], "WATCHDOG_USEC": "10000000"}).keep_watchdog, stop)
        await trio.sleep(1)
        stop.set()
    assert trio.current_time() - begun == pytest.approx(1)


@pytest.mark.parametrize(
    "environ",
    [{}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}],
)
async def test_without_a_watchdog_of_its_own_nothing_is_fed(environ):
    with trio.fail_after(1):
        await Notifier(environ).keep_watchdog(trio.Event())


@pytest.mark.parametrize("name", ["", "/nowhere/at/all", "@nobody-listens-here", "/" + "x" * 500])
def test_a_manager_that_is_not_there_is_no_trouble(name):
    Notifier({"NOTIFY_SOCKET": name}).tell("READY=1")


def test_a_manager_that_does_not_read_does_not_hold_up_the_host(manager):
    _, name = manager
    notifier = Notifier({"NOTIFY_SOCKET": name})
    for _ in range(2000):
        notifier.tell("WATCHDOG=1")
