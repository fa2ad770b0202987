"""Every way a row or a value can leave, under every kind of policy at once: the values that are hidden name themselves.

A table has values that say which policy hides them. A role reads it in every way there is; nothing that it gets, no
file it writes and no error it sees may hold such a value, and what it may see has to be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.policies.conftest import ALL_HIDDEN, hidden_in
from tests.features.policies.ways import WAYS


@pytest.fixture(scope="module")
def reader(account: Account, admin: Session) -> Iterator[Session]:
    session = account.session(
        user="PM_READER", role="PM_READER", database="PM", schema="MINE", warehouse="COMPUTE_WH"
    )  # fmt: skip
    yield session
    session.close()


@pytest.mark.parametrize("name", WAYS)
def test_what_leaves(reader: Session, name: str) -> None:
    way = WAYS[name]
    *before, last = way.statements
    for one in before:
        reader.execute(one)
    if way.fails is not None:
        with pytest.raises(SnowmeltError) as caught:
            reader.execute(last).rows()
        assert caught.value.code == way.fails
        _check(str(caught.value), None)
    else:
        _check(reader.execute(last).rows(), way.shows)


def _check(found: Any, shows: str | None) -> None:
    text = json.dumps(found, default=str)
    assert hidden_in(text) == set(), text
    assert shows is None or shows in text, text


def test_who_is_exempt_sees_all(admin: Session) -> None:
    shown = json.dumps([admin.execute(f"SELECT * FROM s.{name}").rows() for name in ("t", "kept", "grp")], default=str)
    assert hidden_in(shown) == ALL_HIDDEN


# -- what changes rows ------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(admin: Session, reader: Session) -> Iterator[Session]:
    """The reader, with a table of the administrator's that it may change."""
    admin.execute_script(
        """
        CREATE OR REPLACE TABLE s.w (id INT, region VARCHAR, ssn VARCHAR) CHANGE_TRACKING = TRUE;
        INSERT INTO s.w VALUES (1, 'EU', 'MASKED-1'), (2, 'US', 'ROWHIDDEN-2'), (3, 'EU', 'MASKED-3');
        ALTER TABLE s.w MODIFY COLUMN ssn SET MASKING POLICY s.words;
        ALTER TABLE s.w ADD ROW ACCESS POLICY s.by_region ON (region);
        GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE s.w TO ROLE pm_reader;
        """
    )
    yield reader


CHANGES = {
    "DELETE FROM s.w": [(2,)],
    "DELETE FROM s.w WHERE id > 0": [(2,)],
    "DELETE FROM s.w WHERE id = 2": [(0,)],
    "DELETE FROM s.w WHERE ssn LIKE 'MASKED%'": [(0,)],
    "DELETE FROM s.w WHERE ssn = 'MASKED-1'": [(0,)],
    "DELETE FROM s.w WHERE ssn = '***' AND id = 1": [(1,)],
    "DELETE FROM s.w WHERE TRY_TO_NUMBER(ssn) IS NULL AND 1 / IFF(region = 'US', 0, 1) = 1": [(2,)],
    "DELETE FROM s.w USING (SELECT 2 AS id UNION ALL SELECT 3) x WHERE x.id = w.id": [(1,)],
    "UPDATE s.w SET id = id + 10": [(2, 0)],
    "UPDATE s.w SET id = 9 WHERE ssn LIKE 'ROWHIDDEN%' OR ssn LIKE 'MASKED%'": [(0, 0)],
    "UPDATE s.w SET region = ssn": [(2, 0)],
    "UPDATE s.w SET id = 5 FROM (SELECT 1 AS n UNION ALL SELECT 2) x WHERE x.n = w.id": [(1, 0)],
    "MERGE INTO s.w USING (SELECT column1 AS id FROM VALUES (1), (2)) x ON w.id = x.id "
    "WHEN MATCHED AND 1 / IFF(w.region = 'US', 0, 1) = 1 THEN UPDATE SET region = 'EU2'": [(1,)],
    "MERGE INTO s.w USING (SELECT column1 AS id FROM VALUES (1), (2)) x ON w.id = x.id "
    "WHEN MATCHED THEN DELETE": [(1,)],
    "MERGE INTO s.w USING (SELECT column1 AS id FROM VALUES (1), (2)) x ON w.id = x.id "
    "WHEN NOT MATCHED THEN INSERT (id, region) VALUES (x.id, 'EU')": [(1,)],
}  # fmt: skip


@pytest.mark.parametrize("sql", CHANGES)
def test_only_rows_that_are_shown_are_changed(admin: Session, pair: Session, sql: str) -> None:
    assert pair.execute(sql).rows() == CHANGES[sql]
    assert ("US", "ROWHIDDEN-2") in admin.execute("SELECT region, ssn FROM s.w").rows()
    _check(pair.execute("SELECT * FROM s.w").rows(), None)


def test_what_is_written_is_stored_as_it_was_given(admin: Session, pair: Session) -> None:
    pair.execute("INSERT INTO s.w VALUES (7, 'EU', 'given')")
    pair.execute("UPDATE s.w SET ssn = 'given too' WHERE id = 1")
    assert pair.execute("SELECT DISTINCT ssn FROM s.w").rows() == [("***",)]
    assert admin.execute("SELECT ssn FROM s.w WHERE id IN (1, 7) ORDER BY id").rows() == [("given too",), ("given",)]


# -- errors of the query around it ------------------------------------------------------------------------------------

QUERIES = {
    "SELECT id FROM {} WHERE ssn::INT = 5": [(2,)],
    "SELECT id FROM {} WHERE 1 / IFF(ssn LIKE 'HID%', 0, 1) = 1": [(2,)],
    "SELECT a.id FROM {} a JOIN s.regions b ON a.ssn::INT = LENGTH(b.region) + 3": [(2,), (2,)],
    "SELECT SUM(ssn::INT) FROM {}": [(5,)],
    "SELECT id FROM (SELECT id, ssn::INT AS n FROM {}) WHERE n = 5": [(2,)],
    "SELECT DISTINCT region FROM s.regions WHERE EXISTS (SELECT 1 FROM {} a WHERE a.ssn::INT = 5) ORDER BY 1":
        [("EU",), ("US",)],
    "WITH c AS (SELECT ssn::INT AS n FROM {}) SELECT n FROM c WHERE n > 1": [(5,)],
    "SELECT id FROM {} QUALIFY ROW_NUMBER() OVER (PARTITION BY ssn::INT ORDER BY id) = 1": [(2,)],
}  # fmt: skip


@pytest.fixture(scope="module")
def pins(admin: Session) -> None:
    admin.execute_script(
        """
        CREATE TABLE s.pins (id INT, ssn VARCHAR); INSERT INTO s.pins VALUES (1, 'HIDDEN'), (2, '5'), (3, 'HIDDEN');
        CREATE ROW ACCESS POLICY s.second AS (i NUMBER) RETURNS BOOLEAN -> i = 2 OR CURRENT_ROLE() = 'ACCOUNTADMIN';
        ALTER TABLE s.pins ADD ROW ACCESS POLICY s.second ON (id); CREATE VIEW s.pins_view AS SELECT * FROM s.pins;
        GRANT SELECT ON TABLE s.pins TO ROLE pm_reader; GRANT SELECT ON VIEW s.pins_view TO ROLE pm_reader;
        GRANT SELECT ON TABLE s.regions TO ROLE pm_reader;
        """
    )


@pytest.mark.parametrize("table", ["s.pins", "s.pins_view"])
@pytest.mark.parametrize("query", QUERIES)
def test_no_error_tells_of_a_row(reader: Session, pins: None, query: str, table: str) -> None:
    assert reader.execute(query.format(table)).rows() == QUERIES[query]


def test_an_error_inside_of_a_policy_quotes_no_value(admin: Session, reader: Session) -> None:
    admin.execute_script(
        """
        CREATE TABLE s.odd (a VARCHAR); INSERT INTO s.odd VALUES ('MASKED-9');
        CREATE MASKING POLICY s.failing AS (v VARCHAR) RETURNS VARCHAR -> v::INT::VARCHAR;
        ALTER TABLE s.odd MODIFY COLUMN a SET MASKING POLICY s.failing; GRANT SELECT ON TABLE s.odd TO ROLE pm_reader;
        """
    )
    with pytest.raises(SnowmeltError, match=r"\*\*\*") as caught:
        reader.execute("SELECT * FROM s.odd")
    _check(str(caught.value), None)
