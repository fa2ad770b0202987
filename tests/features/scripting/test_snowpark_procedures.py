"""Procedures with the Snowpark of PyPI, which is in an environment of the clients. This test needs Spark."""

from __future__ import annotations

import pytest

from snowmelt.runtime.session import Session
from tests.clients.environments import client_python


@pytest.mark.slow
def test_snowpark_itself_is_the_session_where_it_is_installed(session: Session) -> None:
    """The package of PyPI, over the session of the CALL: in its transaction, with its temporary tables."""
    account, before = session.account, session.account.settings
    account.settings = before.model_copy(
        update={"trust_python": True, "procedure_python": str(client_python("python4")), "python_memory_bytes": 2**32}
    )
    try:
        _by_region(session)
    finally:
        account.settings = before


def _by_region(session: Session) -> None:
    session.execute("CREATE TABLE orders (id INT, region VARCHAR, amount NUMBER(10,2))")
    session.execute(
        """CREATE OR REPLACE PROCEDURE by_region(least NUMBER(10,2)) RETURNS TABLE ()
        LANGUAGE PYTHON HANDLER = 'main' PACKAGES = ('snowflake-snowpark-python', 'pandas') EXECUTE AS CALLER AS $$
import snowflake.snowpark as snowpark
from snowflake.snowpark.context import get_active_session
from snowflake.snowpark.functions import col, sum as total
def main(session: snowpark.Session, least):
    assert get_active_session() is session
    made = session.create_dataframe([(4, 'w', 9)], schema=['id', 'region', 'amount'])
    made.write.mode('append').save_as_table('orders')
    assert session.table('orders').count() == 4
    assert session.table('orders').filter(col('region') == 'n').to_pandas().shape == (2, 3)
    assert session.sql('SELECT ?::INT + 1 AS X', params=[41]).first().X == 42
    assert session.get_current_schema()
    try:
        session.sql('SELECT * FROM nosuch').collect()
    except snowpark.exceptions.SnowparkSQLException as error:
        assert error.sql_error_code == 2003, error.sql_error_code
    grouped = session.table('orders').filter(col('amount') >= least).group_by('region').agg(total('amount').alias('t'))
    return grouped.sort('region')
$$"""
    )
    session.execute("BEGIN")
    session.execute("INSERT INTO orders VALUES (1, 'n', 1.5), (2, 's', 2.5), (3, 'n', 4)")
    result = session.execute("CALL by_region(2)")
    assert [column.name for column in result.columns] == ["REGION", "T"]
    assert [(region, float(total)) for region, total in result.rows()] == [("n", 4.0), ("s", 2.5), ("w", 9.0)]
    session.execute("ROLLBACK")
    assert session.execute("SELECT COUNT(*) FROM orders").rows() == [(0,)]
