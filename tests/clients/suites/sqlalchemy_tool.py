"""What tools do through snowflake-sqlalchemy: define, write, read, reflect."""

import datetime as dt
import decimal

from connection import CREDENTIALS, DATABASE
from snowflake.sqlalchemy import TIMESTAMP_NTZ, URL
from sqlalchemy import Column, Integer, MetaData, Numeric, String, Table, create_engine, inspect, select, text

address = {key: CREDENTIALS[key] for key in ("user", "password", "account", "host", "port")}
engine = create_engine(URL(**address, database=DATABASE, schema="PUBLIC"), connect_args={"protocol": "http"})
metadata = MetaData()
people = Table(
    "people",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String(50), nullable=False),
    Column("balance", Numeric(10, 2)),
    Column("since", TIMESTAMP_NTZ),
)
metadata.create_all(engine)
since = dt.datetime(2024, 1, 2, 3, 4, 5)
with engine.begin() as connection:
    first = {"id": 1, "name": "ada", "balance": decimal.Decimal("1.50"), "since": since}
    connection.execute(people.insert(), [first, {"id": 2, "name": "grace", "balance": None, "since": None}])
    connection.execute(text("CREATE VIEW rich AS SELECT * FROM people WHERE balance > 1"))
with engine.connect() as connection:
    rows = connection.execute(select(people).order_by(people.c.id)).all()
    assert [tuple(row) for row in rows] == [(1, "ada", decimal.Decimal("1.50"), since), (2, "grace", None, None)], rows
    assert connection.execute(text("SELECT COUNT(*) FROM people WHERE id > :least"), {"least": 1}).scalar() == 1
seen = inspect(engine)
assert "people" in seen.get_table_names(), seen.get_table_names()
assert "rich" in seen.get_view_names(), seen.get_view_names()
assert "public" in seen.get_schema_names()
columns = {column["name"]: column for column in seen.get_columns("people")}
assert list(columns) == ["id", "name", "balance", "since"], columns
assert columns["name"]["nullable"] is False and columns["balance"]["type"].scale == 2, columns
assert seen.get_pk_constraint("people")["constrained_columns"] == ["id"], seen.get_pk_constraint("people")
reflected = Table("people", MetaData(), autoload_with=engine)
assert [column.name for column in reflected.columns] == ["id", "name", "balance", "since"]
engine.dispose()
print("reflected")
