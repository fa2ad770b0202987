"""What a secure view leaves out is not learned by errors of the query around it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture(scope="module")
def reader(account: Account) -> Iterator[Session]:
    admin = account.session()
    admin.execute_script(
        """
        CREATE DATABASE sealed; CREATE SCHEMA s; CREATE SCHEMA theirs; CREATE ROLE sealed_reader;
        CREATE USER sealed_reader;
        GRANT ROLE sealed_reader TO USER sealed_reader; GRANT USAGE ON DATABASE sealed TO ROLE sealed_reader;
        GRANT USAGE ON SCHEMA s TO ROLE sealed_reader; GRANT OWNERSHIP ON SCHEMA theirs TO ROLE sealed_reader;
        GRANT USAGE ON WAREHOUSE compute_wh TO ROLE sealed_reader; USE SCHEMA s;
        CREATE TABLE pins (id INT, pin VARCHAR, v VARIANT) CHANGE_TRACKING = TRUE;
        INSERT INTO pins SELECT column1, column2, PARSE_JSON(column3) FROM VALUES
            (1, 'HIDDEN', '{"a": "HIDDEN"}'), (2, '5', '{"a": 5}'), (3, 'HIDDEN', '{"a": "HIDDEN"}');
        CREATE TABLE shown (id INT, role_name VARCHAR) CHANGE_TRACKING = TRUE;
        INSERT INTO shown VALUES (1, 'OTHER'), (2, 'SEALED_READER');
        CREATE SECURE VIEW filtered AS SELECT id, pin, v FROM pins WHERE id = 2;
        CREATE SECURE VIEW joined AS SELECT p.id, p.pin, p.v FROM pins p JOIN shown s ON p.id = s.id
            WHERE s.role_name = CURRENT_ROLE();
        CREATE SECURE VIEW existing AS SELECT id, pin, v FROM pins p
            WHERE EXISTS (SELECT 1 FROM shown s WHERE p.id = s.id AND s.role_name = CURRENT_ROLE());
        CREATE SECURE VIEW ranked AS SELECT id, pin, v FROM pins
            QUALIFY ROW_NUMBER() OVER (PARTITION BY 1 ORDER BY ABS(id - 2)) = 1;
        CREATE SECURE VIEW fixed AS SELECT p.id, p.pin FROM pins p JOIN shown s ON p.id = s.id
            WHERE s.role_name = 'SEALED_READER';
        CREATE VIEW around AS SELECT * FROM joined;
        CREATE SECURE FUNCTION looked_up() RETURNS TABLE (id INT, pin VARCHAR) AS
            $$ SELECT p.id, p.pin FROM pins p JOIN shown s ON p.id = s.id WHERE s.role_name = 'SEALED_READER' $$;
        GRANT USAGE ON FUNCTION looked_up() TO ROLE sealed_reader;
        GRANT SELECT ON ALL VIEWS IN SCHEMA s TO ROLE sealed_reader; GRANT SELECT ON TABLE shown TO ROLE sealed_reader;
        """
    )
    session = account.session(
        user="SEALED_READER", role="SEALED_READER", database="SEALED", schema="THEIRS", warehouse="COMPUTE_WH"
    )
    yield session
    session.close()
    admin.execute_script(
        "USE DATABASE snowmelt; DROP DATABASE sealed; DROP USER sealed_reader; DROP ROLE sealed_reader"
    )
    admin.close()


VIEWS = ("filtered", "joined", "existing", "ranked", "around")
QUERIES = {
    "SELECT pin FROM {} WHERE pin::INT = 5": [("5",)],
    "SELECT pin FROM {} WHERE 1 / IFF(pin LIKE 'HID%', 0, 1) = 1": [("5",)],
    "SELECT pin::INT AS n FROM {}": [(5,)],
    "SELECT a.pin FROM {} a JOIN s.shown b ON a.pin::INT = b.id + 3": [("5",)],
    "SELECT SUM(pin::INT) FROM {}": [(5,)],
    "SELECT v:a::INT AS n FROM {} WHERE v:a::INT > 1": [(5,)],
    "SELECT id FROM s.shown WHERE id IN (SELECT id FROM {} WHERE pin::INT = 5)": [(2,)],
    "SELECT b.id FROM s.shown b WHERE EXISTS (SELECT 1 FROM {} a WHERE a.id = b.id AND a.pin::INT = 5)": [(2,)],
    "SELECT (SELECT MAX(a.pin::INT) FROM {} a WHERE a.id = b.id) AS n FROM s.shown b ORDER BY b.id": [(None,), (5,)],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("query", QUERIES)
def test_no_error_tells_of_a_row(reader: Session, query: str, view: str) -> None:
    assert reader.execute(query.format(f"s.{view}")).rows() == QUERIES[query]


def test_rows_of_a_secure_table_function(reader: Session) -> None:
    query = "SELECT pin FROM TABLE(s.looked_up()) WHERE pin::INT = 5"
    assert reader.execute(query).rows() == [("5",)]


@pytest.mark.parametrize("mode", ["INCREMENTAL", "FULL"])
def test_a_dynamic_table_over_one(reader: Session, mode: str) -> None:
    reader.execute(
        f"CREATE OR REPLACE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = {mode} AS "
        "SELECT id, pin::INT AS n FROM s.fixed WHERE pin::INT = 5"
    )
    assert reader.execute("SELECT id, n FROM d").rows() == [(2, 5)]


def test_what_is_shown_may_still_fail(reader: Session) -> None:
    with pytest.raises(SnowmeltError, match="Division by zero"):
        reader.execute("SELECT 1 / (id - 2) FROM s.joined")
