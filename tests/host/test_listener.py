import contextlib
import socket

import pytest

from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.listener import bind_listener, bound_address, own_hosts, own_origins
from tokenling.host.setting_values import Address


def test_port_zero_becomes_a_real_port_and_nothing_listens_yet():
    with contextlib.closing(bind_listener(Address("127.0.0.1", 0))) as listener:
        address = bound_address(listener)
        assert (address.host, True) == ("127.0.0.1", address.port > 0)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.host, address.port), timeout=2)


REFUSED = {
    "another program listens there": "127.0.0.1",
    "no interface of this machine has that address": "192.0.2.1",
}


@pytest.mark.parametrize(("reason", "host"), REFUSED.items())
def test_an_address_that_cannot_be_had_is_a_matter_of_settings(reason, host):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(HostRefused) as refused:
            bind_listener(Address(host, taken.getsockname()[1]))
    assert refused.value.exit_code is ExitCode.SETTINGS
    assert reason in str(refused.value)


def test_a_preview_is_known_by_its_address_and_by_localhost():
    assert own_origins(Address("127.0.0.1", 8460)) == ("http://127.0.0.1:8460", "http://localhost:8460")
    assert own_origins(Address("::1", 80)) == ("http://[::1]:80", "http://localhost:80")
    assert own_hosts(Address("127.0.0.1", 8460)) == ("127.0.0.1", "localhost")
    assert own_hosts(Address("::1", 8460)) == ("[::1]", "localhost")
