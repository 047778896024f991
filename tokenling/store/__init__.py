"""The only SQLite file: one store task, group commit, answers after the commit. See docs/store.md.

`async with open_store(path, now_ms=…) as store` is the door.
"""

from tokenling.store.backups import Checked, back_up_beside, check_file, copy_to_try
from tokenling.store.errors import (
    FailureCode,
    OpenCode,
    PrefixUnknown,
    StaleWrite,
    StoreError,
    StoreFailed,
    StoreRefused,
)
from tokenling.store.restoring import Restored, restore
from tokenling.store.store import Store, open_store
from tokenling.store.values import Counts, LivePet, PetSummary, Rebrained, ReplacedSave, Statistics

__all__ = [
    "Checked",
    "Counts",
    "FailureCode",
    "LivePet",
    "OpenCode",
    "PetSummary",
    "PrefixUnknown",
    "Rebrained",
    "ReplacedSave",
    "Restored",
    "StaleWrite",
    "Statistics",
    "Store",
    "StoreError",
    "StoreFailed",
    "StoreRefused",
    "back_up_beside",
    "check_file",
    "copy_to_try",
    "open_store",
    "restore",
]
