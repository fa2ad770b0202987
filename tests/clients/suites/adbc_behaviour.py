"""What programs do through ADBC beside reading: binds, ingest in all its modes, objects, transactions."""

import datetime as dt
import os

import pyarrow as pa
from adbc_connection import connect

DATABASE = os.environ["SNOWMELT_DATABASE"]
DAYS = pa.table({"id": [1, 2], "day": [dt.date(2024, 2, 29), None], "at": [dt.datetime(2024, 1, 2, 3, 4, 5, 6000)] * 2})

with connect() as connection, connection.cursor() as cursor:
    cursor.execute("SELECT ? + 1, ?::DATE", [41, "2024-02-29"])
    assert cursor.fetchall() == [(42, dt.date(2024, 2, 29))]

    assert cursor.adbc_ingest("days", DAYS, mode="create") == 2
    assert cursor.adbc_ingest("days", DAYS, mode="append") == 2
    assert cursor.adbc_ingest("days", DAYS, mode="create_append") == 2
    cursor.execute('SELECT "id", "day", "at" FROM "days" ORDER BY "id"')
    assert [row[:2] for row in cursor.fetchall()] == [(1, dt.date(2024, 2, 29))] * 3 + [(2, None)] * 3
    assert cursor.adbc_ingest("days", DAYS, mode="replace") == 2
    cursor.execute('SELECT COUNT(*) FROM "days"')
    assert cursor.fetchall() == [(2,)]
    many = pa.table({"n": pa.array(range(300_000))})
    assert cursor.adbc_ingest("many", many, mode="create") == 300_000
    cursor.execute('SELECT COUNT(*), SUM("n") FROM "many"')
    assert cursor.fetchall() == [(300_000, 299_999 * 150_000)]
    cursor.execute("ALTER SESSION SET GO_QUERY_RESULT_FORMAT = 'JSON'")
    cursor.execute("SELECT 7 AS n, 'x' AS s")
    assert cursor.fetchall() == [(7, "x")]
    cursor.execute("ALTER SESSION UNSET GO_QUERY_RESULT_FORMAT")

    # The values of these statements have names, and not each statement uses each of them.
    everything = connection.adbc_get_objects(depth="all", catalog_filter=DATABASE).read_all().to_pylist()
    schemas = {schema["db_schema_name"]: schema for schema in everything[0]["catalog_db_schemas"]}
    tables = {table["table_name"]: table for table in schemas["PUBLIC"]["db_schema_tables"]}
    assert [column["column_name"] for column in tables["days"]["table_columns"]] == ["id", "day", "at"]
    catalogs = connection.adbc_get_objects(depth="catalogs").read_all().to_pylist()
    assert DATABASE in [catalog["catalog_name"] for catalog in catalogs]
    assert connection.adbc_get_table_schema("days").names == ["id", "day", "at"]

    connection.adbc_connection.set_autocommit(False)
    cursor.execute('DELETE FROM "days"')
    connection.rollback()
    cursor.execute('SELECT COUNT(*) FROM "days"')
    assert cursor.fetchall() == [(2,)]
print("adbc")
