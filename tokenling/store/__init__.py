"""The only SQLite file: one store task, group commit, answers after the commit. See docs/store.md.

`async with open_store(path, now_ms=…) as store` is the door.
"""

from tokenling.store.errors import (
    FailureCode,
    OpenCode,
    PrefixUnknown,
    StaleWrite,
    StoreError,
    StoreFailed,
    StoreRefused,
)
from tokenling.store.store import Store, open_store
from tokenling.store.values import Counts, PetSummary, Rebrained, ReplacedSave, Statistics

__all__ = [
    "Counts",
    "FailureCode",
    "OpenCode",
    "PetSummary",
    "PrefixUnknown",
    "Rebrained",
    "ReplacedSave",
    "StaleWrite",
    "Statistics",
    "Store",
    "StoreError",
    "StoreFailed",
    "StoreRefused",
    "open_store",
]
