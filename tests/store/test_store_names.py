"""The room's public names and errors."""

import apsw
import pytest

import tokenling.store
from tokenling.store.errors import FailureCode, failure_of

NAMES = """
Checked Counts FailureCode LivePet OpenCode PetSummary PrefixUnknown Rebrained ReplacedSave Restored StaleWrite
Statistics Store StoreError StoreFailed StoreRefused back_up_beside check_file copy_to_try open_store restore
"""


def test_the_public_names_are_these() -> None:
    assert sorted(NAMES.split()) == sorted(tokenling.store.__all__)
    assert all(hasattr(tokenling.store, name) for name in NAMES.split())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (apsw.FullError("secret"), FailureCode.FULL),
        (apsw.IOError("secret"), FailureCode.IO),
        (apsw.CantOpenError("secret"), FailureCode.IO),
        (apsw.BusyError("secret"), FailureCode.LOCKED),
        (apsw.ReadOnlyError("secret"), FailureCode.READ_ONLY),
        (apsw.CorruptError("secret"), FailureCode.CORRUPT),
        (apsw.ConstraintError("secret"), FailureCode.SQLITE),
        (OSError(28, "secret"), FailureCode.FULL),
        (OSError(5, "secret"), FailureCode.IO),
    ],
)
def test_foreign_errors_are_named_without_their_text(error: apsw.Error | OSError, code: FailureCode) -> None:
    assert code == failure_of(error).code
    assert "secret" not in str(failure_of(error))
