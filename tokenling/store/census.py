"""How many pets there are, known at all times: counted once when the database opens, then kept by triggers.

Counting reads an index entry for every pet, which a metrics page that is asked each few seconds, and every newcomer,
should not cost a house of many. The table and its triggers are temporary, of the one connection that writes: nothing of
them is in the file, and a transaction that is rolled back takes them back too.
"""

import apsw

from tokenling.protocol import Status
from tokenling.store.values import Counts, counts_of

_CENSUS = """
CREATE TEMP TABLE census (
  status TEXT NOT NULL, brain_id TEXT NOT NULL, pets INTEGER NOT NULL, PRIMARY KEY (status, brain_id)
) STRICT, WITHOUT ROWID;
INSERT INTO census SELECT status, brain_id, count(*) FROM main.pets GROUP BY status, brain_id;
CREATE TEMP TRIGGER census_came AFTER INSERT ON main.pets BEGIN
  INSERT INTO census VALUES (new.status, new.brain_id, 1)
    ON CONFLICT (status, brain_id) DO UPDATE SET pets = pets + 1;
END;
CREATE TEMP TRIGGER census_went AFTER DELETE ON main.pets BEGIN
  UPDATE census SET pets = pets - 1 WHERE status = old.status AND brain_id = old.brain_id;
END;
CREATE TEMP TRIGGER census_moved AFTER UPDATE OF status, brain_id ON main.pets
  WHEN old.status <> new.status OR old.brain_id <> new.brain_id
BEGIN
  UPDATE census SET pets = pets - 1 WHERE status = old.status AND brain_id = old.brain_id;
  INSERT INTO census VALUES (new.status, new.brain_id, 1)
    ON CONFLICT (status, brain_id) DO UPDATE SET pets = pets + 1;
END;
"""


def take(connection: apsw.Connection) -> None:
    """Count once, and keep the count from now on."""
    connection.execute(_CENSUS)


def counts(connection: apsw.Connection) -> Counts:
    """The pets by status and by brain, as of the transaction that asks."""
    return counts_of(connection.execute("SELECT status, brain_id, pets FROM census WHERE pets > 0 ORDER BY brain_id"))


def room(connection: apsw.Connection) -> tuple[int, int]:
    """How many pets there are, and how many of them are prepared."""
    row = connection.execute(
        "SELECT coalesce(sum(pets), 0), coalesce(sum(pets) FILTER (WHERE status = ?), 0) FROM census",
        (Status.PREPARED.value,),
    ).fetchone()
    assert row is not None, "a sum has a row"
    pets, prepared = row
    return int(pets), int(prepared)
