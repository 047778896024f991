"""The room's public names: a change here is a change for others."""

import tokenling.protocol

NAMES = """
ANSWER_BYTES_MAX Activate Apply Ask BuryRecord ChangeKey CheckRoom Decision Delete DropRecord ERROR_CODE_POINTS_MAX
Effect Event Expire FULL_ANSWERS_MAX ForgetOperations Held HostEvent INTEGER_MAX KEY_HASH_BYTES KeepOperation
KeepReplaced KeepTurnReceipt Live OPERATIONS_MAX Occupancy Operation OwnerOperation PREPARED_KEPT_MS PREPARED_MAX Park
Prepare Quarantine Rebrain REPLACED_KEPT_MS REPLACED_MAX RESTORE_EPOCH_STEP Record RefusalCode Refused Replay Restore
Rule SAVE_BYTES_MAX State Status StoredOperation TABLE TURN_RECEIPTS_MAX TURN_RECEIPT_BYTES_MAX Tombstone WriteRecord
decide pet_digest state_of
"""


def test_the_public_names_are_these() -> None:
    assert sorted(NAMES.split()) == sorted(tokenling.protocol.__all__)
    assert all(hasattr(tokenling.protocol, name) for name in NAMES.split())
