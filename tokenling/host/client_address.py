"""Who is asking: the client's address behind proxies that are trusted, and never what a stranger claims. Pure."""

import ipaddress
import re
from collections.abc import Sequence
from typing import TypeAlias

from tokenling.host.answers import Headers

HOPS_MAX = 16
"""Entries of `X-Forwarded-For` that are looked at, from the right: no real chain is as long."""
PREFIX_IPV6 = 64
"""One IPv6 customer has a /64 at least: its addresses count as one client."""

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](?::[0-9]{1,5})?|(?P<v4>[0-9.]+):[0-9]{1,5}")


def networks_of(names: Sequence[str]) -> tuple[Network, ...]:
    """The networks of `_TRUSTED_PROXIES`, already checked by the settings."""
    return tuple(ipaddress.ip_network(name) for name in names)


def client_of(peer: str, headers: Headers, trusted: Sequence[Network]) -> str | None:
    """The client to count requests for: an IPv4 address, or the /64 of an IPv6 one. None: nobody to tell apart.

    The chain is `X-Forwarded-For`, all its lines in order, and then the peer. It is read from the right while the hop
    read last is trusted, for only a trusted hop's word about its own peer is worth anything. None is a peer on this
    machine while no proxy is trusted: a local program, or a proxy that nobody has named, whose clients all look alike.
    """
    address = address_of(peer)
    if address is None or (not trusted and address.is_loopback):
        return None
    for claimed in _forwarded(headers):
        if not _is_trusted(address, trusted):
            break
        before = address_of(claimed)
        if before is None:
            break  # garbage written by a trusted hop: the hop itself is the last that is known
        address = before
    return _counted(address)


def address_of(text: str) -> IpAddress | None:
    """The address in `text`, a port and brackets aside, an IPv4 one in IPv6 clothes as IPv4; None if it is none."""
    found = _PORT.fullmatch(text)
    if found is not None:
        text = found["v6"] or found["v4"]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _forwarded(headers: Headers) -> list[str]:
    """What hops said of their peers, the nearest first."""
    lines = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
    return [entry.strip() for entry in ",".join(lines).rsplit(",", HOPS_MAX)[::-1][:HOPS_MAX]] if lines else []


def _is_trusted(address: IpAddress, trusted: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in trusted)


def _counted(address: IpAddress) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, PREFIX_IPV6), strict=False))
