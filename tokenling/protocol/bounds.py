"""The protocol's bounds and terms, each beside its reason."""

OPERATIONS_MAX = 100_000
"""Operation ids kept in one epoch: a command every 10 s for 11 days; 10 MB of ids at most (a guess)."""
FULL_ANSWERS_MAX = 256
"""Operations of an epoch whose whole answer is kept: far more than a client has in flight (a guess)."""
TURN_RECEIPTS_MAX = 50
"""Turn receipts kept per pet (design section 5)."""
TURN_RECEIPT_BYTES_MAX = 262_144
"""One turn receipt: 1024 prompt tokens, their text and the choices take under 100 KB; the rest is margin."""
ANSWER_BYTES_MAX = 4 * 1_048_576
"""One kept answer: a save of 1 MiB within a JSON answer, with room for effects and escapes."""
PREPARED_KEPT_MS = 24 * 60 * 60 * 1000
"""A prepared pet that nobody activated goes after a day (design section 5)."""
PREPARED_MAX = 16
"""Prepared pets at once, unless the host says otherwise: a quarter of the default 64 pets, so that uploads which
nobody activates do not crowd out pets (a guess)."""
REPLACED_KEPT_MS = 7 * 24 * 60 * 60 * 1000
"""A save that a takeover replaced can be had back for a week (design section 5)."""
REPLACED_MAX = 4
"""Replaced saves kept per pet: repeated takeovers must not fill the disk (a guess)."""
RESTORE_EPOCH_STEP = 2**20
"""How far a restore moves epoch and revision: beyond what a pet went through since any backup worth restoring."""
