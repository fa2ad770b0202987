"""UNIQUE without Spark: keys are read from the files that a write made, and looked up in the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with open_account(tmp_path) as account:
        yield account.session()
        assert not account.engine.started.is_set(), "a look at keys started Spark"


@pytest.mark.parametrize(
    ("columns", "key", "first", "good", "bad"),
    [
        ("a INT", "a", "(1), (2)", "(3), (NULL), (NULL)", ["(1)", "(4), (4)", "(5), (2), (1)"]),
        ("a VARCHAR", "a", "('x'), ('yy')", "('z'), ('')", ["('yy')", "(''), ('q')"]),
        ("a NUMBER(10, 2)", "a", "(1.25), (2)", "(1.26)", ["(1.25)", "(2.00)"]),
        ("a DATE", "a", "('2024-01-01')", "('2024-01-02')", ["('2024-01-01')"]),
        ("a INT, b VARCHAR", "a, b", "(1, 'x'), (2, 'y')", "(1, 'y'), (2, 'x'), (1, NULL), (1, NULL)",
         ["(2, 'y')", "(3, 'z'), (3, 'z')"]),
    ],
    ids=["numbers", "texts", "decimals", "dates", "compound"],
)  # fmt: skip
def test_keys(session: Session, columns: str, key: str, first: str, good: str, bad: list[str]) -> None:
    session.execute(f"CREATE TABLE t ({columns})")
    session.execute(f"ALTER TABLE t ADD QUALITY CHECK once AS UNIQUE ({key})")
    session.execute(f"INSERT INTO t VALUES {first}")
    session.execute(f"INSERT INTO t VALUES {good}")
    for rows in bad:
        with pytest.raises(SnowmeltError, match="ONCE"):
            session.execute(f"INSERT INTO t VALUES {rows}")
    (asked,) = session.execute("EXECUTE QUALITY CHECKS ON t").rows()
    assert "PASSED" in asked


def test_how_many_rows_fail_is_told(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK once AS UNIQUE (a)")
    session.execute("INSERT INTO t VALUES (1), (2)")
    with pytest.raises(SnowmeltError, match="ONCE: 4 of 6 rows"):
        session.execute("INSERT INTO t VALUES (1), (1), (3), (3), (3), (4)")
    with pytest.raises(SnowmeltError, match="ONCE: 1 of 2 rows"):
        session.execute_script("BEGIN; INSERT INTO t VALUES (5); INSERT INTO t VALUES (5); COMMIT")
