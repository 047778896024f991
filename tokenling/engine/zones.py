"""Local time from the pinned tzdata package alone: the system's zone files are never read."""

import pkgutil
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from io import BytesIO
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MINUTE = timedelta(minutes=1)
_SEGMENT_TICKS = 360
"""Zones never shift twice within six hours, so equal offsets at both ends mean one offset between."""


@lru_cache(maxsize=1)
def zone_keys() -> frozenset[str]:
    """Every zone that the pinned package knows."""
    return frozenset(_packed("zones").decode("ascii").split())


@lru_cache(maxsize=64)
def zone(key: str) -> ZoneInfo:
    """The zone of a known key (check with `zone_keys` first)."""
    assert key in zone_keys()
    return ZoneInfo.from_file(BytesIO(_packed(f"zoneinfo/{key}")), key=key)


def _packed(name: str) -> bytes:
    """A file of the pinned package. (`importlib.resources` reads a whole zip's directory anew for each of them.)"""
    data = pkgutil.get_data("tzdata", name)
    assert data is not None
    return data


def offset_minutes(key: str, tick: int) -> int:
    """Local time minus UTC at a tick, in whole minutes."""
    local = (_EPOCH + tick * _MINUTE).astimezone(zone(key))
    offset = local.utcoffset()
    assert offset is not None
    return offset // _MINUTE


@lru_cache(maxsize=4096)
def _segment_offset(key: str, segment: int) -> int | None:
    """The one offset of a six-hour segment, None when the zone shifts within it."""
    first = offset_minutes(key, segment * _SEGMENT_TICKS)
    return first if first == offset_minutes(key, (segment + 1) * _SEGMENT_TICKS) else None


def local_minute(key: str, tick: int) -> int:
    """Minutes of local time since 1970-01-01T00:00 on the local calendar."""
    offset = _segment_offset(key, tick // _SEGMENT_TICKS)
    return tick + (offset_minutes(key, tick) if offset is None else offset)


def same_offset_until(key: str, tick: int) -> int:
    """The last tick that surely has the offset of `tick`: the end of its segment, or `tick` alone in a shift."""
    segment = tick // _SEGMENT_TICKS
    return tick if _segment_offset(key, segment) is None else (segment + 1) * _SEGMENT_TICKS - 1


def date_text(day: int) -> str:
    """A local day number (since 1970-01-01) as YYYY-MM-DD."""
    return date.fromordinal(_EPOCH_ORDINAL + day).isoformat()


def month_of(day: int) -> int:
    """The month, 1 to 12, of a local day number."""
    return date.fromordinal(_EPOCH_ORDINAL + day).month
