"""The tables, their versions, and the way from one version to the next."""

from pathlib import Path

import apsw

from tokenling.store.errors import OpenCode, StoreRefused

APPLICATION_ID = 0x746B6C67
"""`tklg` in SQLite's header: another program's database is refused, not written to."""

_FIRST = """
CREATE TABLE migrations (version INTEGER PRIMARY KEY, migrated_at_ms INTEGER NOT NULL) STRICT;

-- save comes last: reading the other columns then never walks its overflow pages
CREATE TABLE pets (
  pet INTEGER PRIMARY KEY,
  pet_id TEXT NOT NULL UNIQUE,
  pet_digest TEXT NOT NULL UNIQUE,
  key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
  status TEXT NOT NULL CHECK (status IN ('prepared', 'active', 'parked', 'quarantined')),
  epoch INTEGER NOT NULL CHECK (epoch >= 1),
  revision INTEGER NOT NULL CHECK (revision >= 1),
  brain_id TEXT NOT NULL,
  device_id TEXT,
  error TEXT,
  prepared_at_ms INTEGER NOT NULL,
  changed_at_ms INTEGER NOT NULL,
  operations INTEGER NOT NULL CHECK (operations >= 0),
  save BLOB NOT NULL
) STRICT;
CREATE INDEX pets_by_status ON pets (status, brain_id);

CREATE TABLE operations (
  pet INTEGER NOT NULL REFERENCES pets ON DELETE CASCADE,
  operation_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  digest BLOB NOT NULL,
  result_epoch INTEGER NOT NULL,
  result_revision INTEGER NOT NULL,
  answer BLOB,
  UNIQUE (pet, operation_id),
  UNIQUE (pet, epoch, ordinal)
) STRICT;

CREATE TABLE turn_receipts (
  pet INTEGER NOT NULL REFERENCES pets ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  made_at_ms INTEGER NOT NULL,
  receipt BLOB NOT NULL,
  UNIQUE (pet, ordinal)
) STRICT;

CREATE TABLE replaced_saves (
  pet INTEGER NOT NULL REFERENCES pets ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  replaced_at_ms INTEGER NOT NULL,
  save BLOB NOT NULL,
  UNIQUE (pet, ordinal)
) STRICT;

CREATE TABLE tombstones (pet_digest TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""The n-th script leads from version n to n + 1. A released script never changes."""


def check_identity(connection: apsw.Connection, path: Path) -> int:
    """The schema version that the file holds (0: an empty file), or `StoreRefused`."""
    application = connection.pragma("application_id")
    version = connection.pragma("user_version")
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if application != APPLICATION_ID and not (empty and application == 0 and version == 0):
        raise StoreRefused(
            OpenCode.FOREIGN, path, f"another program's database ({application:#x})", f"{APPLICATION_ID:#x}"
        )
    if version > len(MIGRATIONS):
        expected = f"at most {len(MIGRATIONS)}: a newer release wrote this"
        raise StoreRefused(OpenCode.NEWER_SCHEMA, path, f"schema version {version}", expected)
    return int(version)


def migrate(connection: apsw.Connection, version: int, now_ms: int) -> None:
    """Bring the schema from `version` to the newest in one transaction: all the way or not at all."""
    if version == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
            connection.execute(script)
            connection.execute("INSERT INTO migrations VALUES (?, ?)", (number, now_ms))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", len(MIGRATIONS))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
