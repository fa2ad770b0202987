"""What hangs on a table, and what becomes of each when CREATE OR REPLACE puts another in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

Look = Callable[[Session], object]


def shown(query: str, column: str = "name") -> Look:
    def look(session: Session) -> object:
        result = session.execute(query)
        place = [each.name for each in result.columns].index(column)
        return sorted(str(row[place]) for row in result.rows())

    return look


def asked(query: str) -> Look:
    return lambda session: session.execute(query).rows()


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    attach: tuple[str, ...]
    look: Look
    kept: bool
    """Whether it looks the same after CREATE OR REPLACE TABLE."""
    replace: str = "CREATE OR REPLACE TABLE t (id INT, email VARCHAR)"


TAGGED = "SELECT SYSTEM$GET_TAG('level', 't', 'TABLE')"
ATTACHMENTS = (
    Attachment(
        "quality checks",
        ("ALTER TABLE t ADD QUALITY CHECK there AS NOT_NULL (id)",
         "ALTER TABLE t ADD QUALITY CHECK small AS EXPRESSION (id < 100) ON_FAILURE = QUARANTINE"),
        shown("SHOW QUALITY CHECKS IN TABLE t"), kept=True,
    ),
    Attachment(
        "data product", ("CREATE DATA PRODUCT p OBJECTS = (t) PII = ('EMAIL')",),
        shown("SHOW DATA PRODUCTS", "objects"), kept=True,
    ),
    Attachment(
        "PII class", ("CALL SYSTEM$SET_PII_CLASS('t', 'email', 'EMAIL')",),
        asked("SELECT * FROM TABLE(INFORMATION_SCHEMA.PII_COLUMNS()) WHERE name = 'T'"), kept=True,
    ),
    Attachment(
        "alert that reads it",
        ("CREATE ALERT a SCHEDULE = '60 MINUTE' IF (EXISTS (SELECT 1 FROM t)) THEN SELECT 1",),
        shown("SHOW ALERTS", "condition"), kept=True,
    ),
    Attachment("view over it", ("CREATE VIEW v AS SELECT id FROM t",), asked("SELECT * FROM v"), kept=True),
    Attachment(
        "grant", ("CREATE ROLE IF NOT EXISTS reader_of_t", "GRANT SELECT ON TABLE t TO ROLE reader_of_t"),
        shown("SHOW GRANTS ON TABLE t", "privilege"), kept=False,
    ),
    Attachment(
        "grant with COPY GRANTS",
        ("CREATE ROLE IF NOT EXISTS reader_of_t", "GRANT SELECT ON TABLE t TO ROLE reader_of_t"),
        shown("SHOW GRANTS ON TABLE t", "privilege"), kept=True,
        replace="CREATE OR REPLACE TABLE t (id INT, email VARCHAR) COPY GRANTS",
    ),
    Attachment("tag", ("CREATE TAG level", "ALTER TABLE t SET TAG level = 'gold'"), asked(TAGGED), kept=False),
    Attachment("comment", ("COMMENT ON TABLE t IS 'words'",), shown("SHOW TABLES LIKE 'T'", "comment"), kept=False),
    Attachment("stream", ("CREATE STREAM s ON TABLE t",), shown("SHOW STREAMS", "stale"), kept=False),
    Attachment(
        "clustering key", ("ALTER TABLE t CLUSTER BY (id)",), shown("SHOW TABLES LIKE 'T'", "cluster_by"), kept=False
    ),
)  # fmt: skip


@pytest.mark.parametrize("attachment", ATTACHMENTS, ids=lambda attachment: attachment.name)
def test_what_stays_and_what_goes(session: Session, attachment: Attachment) -> None:
    session.execute("CREATE TABLE t (id INT, email VARCHAR)")
    bare = attachment.look(session) if attachment.name not in ("view over it", "tag") else None
    for statement in attachment.attach:
        session.execute(statement)
    before = attachment.look(session)
    assert before != bare
    session.execute(attachment.replace)
    assert (attachment.look(session) == before) is attachment.kept


@pytest.fixture
def checked(session: Session) -> Session:
    session.execute("CREATE TABLE t (id INT, amount INT)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK there AS NOT_NULL (id)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK sane AS EXPRESSION (amount >= 0)")
    session.execute("INSERT INTO t VALUES (1, 1)")
    return session


def test_checks_hold_for_the_new_table(checked: Session) -> None:
    for statement in (
        "CREATE OR REPLACE TABLE t (id INT, amount INT, note VARCHAR)",
        "CREATE OR REPLACE TABLE t LIKE t",
    ):
        checked.execute(statement)
        with pytest.raises(SnowmeltError, match=r"Quality checks of table .* failed.*THERE"):
            checked.execute("INSERT INTO t (amount) VALUES (1)")
    assert checked.execute("SELECT COUNT(*) FROM t").rows() == [(0,)]


def test_a_table_that_fails_takes_no_place(checked: Session) -> None:
    with pytest.raises(SnowmeltError, match="SANE"):
        checked.execute("CREATE OR REPLACE TABLE t AS SELECT 2 AS id, -1 AS amount")
    assert checked.execute("SELECT * FROM t").rows() == [(1, 1)]
    checked.execute("CREATE OR REPLACE TABLE t AS SELECT 3 AS id, 3 AS amount")
    assert checked.execute("SELECT * FROM t").rows() == [(3, 3)]
    of_the_table = "TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY(TABLE_NAME => 't'))"
    history = checked.execute(f"SELECT DISTINCT operation FROM {of_the_table}").rows()
    assert {row[0] for row in history} == {"INSERT", "CREATE TABLE"}, "with what was measured before"


def test_a_column_that_a_check_needs_is_not_taken_away(checked: Session) -> None:
    for columns, check in (("(amount INT)", "THERE"), ("(id INT)", "SANE")):
        with pytest.raises(SnowmeltError, match=f"quality check {check} needs column"):
            checked.execute(f"CREATE OR REPLACE TABLE t {columns}")
    checked.execute("ALTER TABLE t DROP QUALITY CHECK sane")
    checked.execute("CREATE OR REPLACE TABLE t (id INT)")


def test_replay_counts_what_was_replayed(session: Session) -> None:
    session.execute("CREATE TABLE t (id INT, amount INT)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK sane AS EXPRESSION (amount >= 0) ON_FAILURE = QUARANTINE")
    session.execute("INSERT INTO t VALUES (1, 1), (2, -1), (3, -1), (4, -1), (5, -1)")
    session.execute("UPDATE t_quarantine SET amount = 7 WHERE id IN (2, 3)")
    told = session.execute("ALTER TABLE t REPLAY QUARANTINE WHERE id < 5").rows()[0][0]
    assert told == "2 quarantined rows were replayed. 1 fail still, and are in quarantine again."
    counted = session.execute("SELECT (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM t_quarantine)").rows()
    assert counted == [(3, 2)]
    session.execute("UPDATE t_quarantine SET amount = 7")
    assert session.execute("ALTER TABLE t REPLAY QUARANTINE").rows()[0][0] == "2 quarantined rows were replayed."
