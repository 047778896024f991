"""Parsers of the settings: text in, a checked value out, or `Unfit`. The table in settings.py says what is allowed."""

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

ORIGINS_MAX = 64
"""Allowed origins and host names in one list: a guess far above any real deployment."""
FEATURES_MAX = 64
"""Trained features of one brain: a guess far above what the engine knows."""
ROWS_MAX = 16
"""As the runtime's: more rows share a product without gain."""
THREADS_MAX = 256
"""Threads and lanes asked for; more is a slip of the finger (the clamp to cores follows)."""
PETS_MAX = 1_000_000
"""The highest bound on registered pets; SQLite copes, capacity is measured elsewhere."""
GPU_INDEX_MAX = 63
"""The highest CUDA index: four times what one machine holds today."""
WEATHER_SEED = re.compile(r"[A-Za-z0-9._-]{0,64}")
"""What a save may carry as its weather seed (the engine's rule)."""
ENROL_CODE_LENGTHS = (8, 128)
"""Shorter is guessable, longer does not survive being typed."""

BRAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
FEATURE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
HOST_LABELS = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*")

Precision: TypeAlias = Literal["q4", "q8", "fp32"]
Numerics: TypeAlias = Literal["exact", "fast"]
Whose: TypeAlias = Literal["host", "own"]
T = TypeVar("T")

_PRECISIONS: Mapping[str, Precision] = {"q4": "q4", "q8": "q8", "fp32": "fp32"}
_WHOSE: Mapping[str, Whose] = {"host": "host", "own": "own"}
_NUMERICS: Mapping[str, Numerics] = {"exact": "exact", "fast": "fast"}
_DEFAULT_PORT = {"https": 443, "http": 80}


class Unfit(ValueError):
    """Raised by a parser for a value outside what is allowed; the text adds a detail, or is empty."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: an IP address and a port, 0 for any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    match = re.fullmatch(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<v4>[0-9.]+)):(?P<port>[0-9]{1,5})", text)
    if match is None:
        raise Unfit
    host, port = match["v6"] or match["v4"], int(match["port"])
    version = ipaddress.IPv6Address if match["v6"] else ipaddress.IPv4Address
    try:
        address = version(host)
    except ValueError:
        raise Unfit from None
    if port > 65535:
        raise Unfit("the port is above 65535")
    return Address(str(address), port)


def parse_loopback(text: str) -> Address:
    """An address that only this machine reaches."""
    address = parse_address(text)
    if not is_loopback(address.host):
        raise Unfit("that address is not loopback")
    return address


def parse_database(text: str) -> Path:
    path = Path(text)
    if not text or "\0" in text:
        raise Unfit
    if path.exists() and not path.is_file():
        raise Unfit("that path is not a file")
    if not path.absolute().parent.is_dir():
        raise Unfit("its directory does not exist")
    return path.absolute()


def parse_directory(text: str) -> Path:
    if not text or "\0" in text or not Path(text).is_dir():
        raise Unfit("no such directory")
    return Path(text).absolute()


def parse_brain_id(text: str) -> str:
    return _matching(BRAIN_ID, text)


def parse_features(text: str) -> tuple[str, ...]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise Unfit("not JSON") from None
    if not isinstance(value, list) or len(value) > FEATURES_MAX:
        raise Unfit
    features = tuple(_matching(FEATURE, item) if isinstance(item, str) else _unfit() for item in value)
    if len(set(features)) != len(features):
        raise Unfit("one is named twice")
    return features


def parse_origins(text: str) -> tuple[str, ...]:
    return _each(text, parse_origin)


def parse_origin(text: str) -> str:
    """An origin as a browser sends it: lower case, no default port, no path."""
    if "*" in text:
        raise Unfit("wildcards are refused")
    if not re.fullmatch(r"[!-~]+", text):
        raise Unfit
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Unfit from None
    host = parts.hostname or ""
    if parts.scheme not in {"https", "http"} or not _is_host(host) or "@" in parts.netloc:
        raise Unfit
    if parts.path or "?" in text or "#" in text:
        raise Unfit("an origin ends after the host and port, without a slash")
    if parts.scheme == "http" and not is_loopback(host):
        raise Unfit("plain http is for loopback only")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port in {None, _DEFAULT_PORT[parts.scheme]} else f":{port}")


def parse_hosts(text: str) -> tuple[str, ...]:
    return _each(text, parse_host)


def parse_host(text: str) -> str:
    """A name or address as a Host header shows it, its port left out: an IPv6 address stands in brackets."""
    if "*" in text:
        raise Unfit("wildcards are refused")
    match = re.fullmatch(r"\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[^:\[\]]+)", text.lower())
    if match is None or not _is_host(match["v6"] or match["name"]):
        raise Unfit
    return text.lower()


def parse_networks(text: str) -> tuple[str, ...]:
    return _each(text, _network)


def parse_weather_seed(text: str) -> str:
    return _matching(WEATHER_SEED, text)


def parse_enrol_code(text: str) -> str:
    shortest, longest = ENROL_CODE_LENGTHS
    if not shortest <= len(text) <= longest or not re.fullmatch(r"[!-~]+", text):
        raise Unfit
    return text


def is_loopback(host: str) -> bool:
    """True for localhost, its subdomains and the loopback addresses: what a browser treats as this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise Unfit
        return int(text)

    return parse


def parse_precision(text: str) -> Precision:
    return _one_of(_PRECISIONS, text)


def parse_whose(text: str) -> Whose:
    return _one_of(_WHOSE, text)


def parse_numerics(text: str) -> Numerics:
    return _one_of(_NUMERICS, text)


def _one_of(values: Mapping[str, T], text: str) -> T:
    if text not in values:
        raise Unfit
    return values[text]


def _each(text: str, parse: Callable[[str], str]) -> tuple[str, ...]:
    items = [item.strip() for item in text.split(",")]
    if len(items) > ORIGINS_MAX:
        raise Unfit(f"{len(items)} entries")
    return tuple(dict.fromkeys(parse(item) for item in items))


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise Unfit
    return text


def _unfit() -> str:
    raise Unfit


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise Unfit from None


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # A name that ends in digits only is a broken address ("127.0.0.300"), which URL parsers read in their own ways.
        return len(host) <= 253 and bool(HOST_LABELS.fullmatch(host)) and not host.rsplit(".", 1)[-1].isdigit()
    return True
