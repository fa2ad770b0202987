"""Databases as Arrow: every type with its value, one state of the source, and no record made on the way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from sqlalchemy import make_url

import snowmelt
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Chain,
    DeltaLoader,
    Field,
    FilesLoader,
    Flow,
    FollowSchema,
    Loader,
    LoadStrategy,
    MysqlExtractor,
    PostgresExtractor,
    PostgresLoader,
    ProtectColumns,
    RawLoader,
    Rows,
    SchemaPolicy,
    SourceRefusedError,
    SourceUnavailableError,
    TableLoader,
    run_flow,
)
from snowmelt.extract_load import records as record_views
from tests.extract_load.loading import rows
from tests.extract_load.rigs import MariadbRig
from tests.features.connectors.kafka_stack import free_port
from tests.support.postgres import empty_schema

# The column's type, a value, the type of Arrow, and the value as a document has it.
POSTGRES: dict[str, tuple[str, str, str, Any]] = {
    "a_smallint": ("smallint", "-1", "int16", -1),
    "an_int": ("int", "1", "int32", 1),
    "a_bigint": ("bigint", "9223372036854775807", "int64", 9223372036854775807),
    "a_real": ("real", "1.1", "double", 1.1),
    "a_double": ("double precision", "0.1", "double", 0.1),
    "a_numeric": ("numeric(10, 2)", "1.5", "decimal128(10, 2)", "1.50"),
    "free_numeric": ("numeric", "1.50", "string", "1.50"),
    "no_number": ("numeric(10, 2)", "'NaN'", "string", "NaN"),
    "a_text": ("text", "'é%:x \" \\ %s'", "string", 'é%:x " \\ %s'),
    "empty": ("text", "''", "string", ""),
    "a_varchar": ("varchar(5)", "'abc'", "string", "abc"),
    "a_char": ("char(3)", "'a'", "string", "a  "),
    "a_boolean": ("boolean", "true", "bool", True),
    "a_bytea": ("bytea", "'\\x00ff'", "binary", "00ff"),
    "a_date": ("date", "'2024-02-29'", "date32[day]", "2024-02-29"),
    "a_time": ("time", "'10:00:00.5'", "time64[us]", "10:00:00.500000"),
    "a_timestamp": ("timestamp", "'2024-01-01 10:00'", "timestamp[us]", "2024-01-01T10:00:00"),
    "an_instant": ("timestamptz", "'2024-01-01 10:00+02'", "timestamp[us, tz=UTC]", "2024-01-01T08:00:00+00:00"),
    "an_interval": ("interval", "'1 day'", "string", "1 day"),
    "a_uuid": ("uuid", "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "string", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    "a_json": ("json", '\'{"b": 1, "b": [1, null]}\'', "string", {"b": [1, None]}),
    "a_jsonb": ("jsonb", '\'{"b": {"c": 1.5}}\'', "string", {"b": {"c": 1.5}}),
    "numbers": ("int[]", "'{1,NULL,3}'", "string", [1, None, 3]),
    "nested": ("text[][]", "'{{a,b},{c,d}}'", "string", [["a", "b"], ["c", "d"]]),
    "exact": ("numeric(5,2)[]", "'{1.50}'", "string", ["1.50"]),
    "an_enum": ("mood", "'good'", "string", "good"),
    "a_domain": ("positive", "5", "int32", 5),
    "an_inet": ("inet", "'10.0.0.1'", "string", "10.0.0.1"),
    "a_range": ("int4range", "'[1,5)'", "string", "[1,5)"),
}


def test_every_type_of_postgres_comes_as_arrow(postgres_url: str) -> None:
    address = empty_schema(postgres_url)
    with psycopg.connect(address, autocommit=True) as source:
        source.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
        source.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
        listed = ", ".join(f"{name} {kind}" for name, (kind, *_) in POSTGRES.items())
        source.execute(f'CREATE TABLE types (id int PRIMARY KEY, {listed}, "100%:x" int)'.encode())
        values = ", ".join(value for _, value, *_ in POSTGRES.values())
        source.execute(f"INSERT INTO types VALUES (1, {values}, 7)".encode())
        source.execute("INSERT INTO types (id) VALUES (2)")
        source.execute("ALTER DATABASE postgres SET timezone TO 'Europe/Berlin'")
        try:
            (batch,) = PostgresExtractor(address, "types", key=["id"]).extract(None)
        finally:
            source.execute("ALTER DATABASE postgres RESET timezone")
    assert batch.rows.columnar
    kinds = {field.name: str(field.type) for field in batch.table.schema}
    found, nothing = batch.records
    for name, (_, _, kind, value) in POSTGRES.items():
        assert (name, kinds[name], found[name]) == (name, kind, value)
        assert nothing[name] is None
    assert found["100%:x"] == 7
    assert (batch.position(0), batch.position(1)) == ("id=1", "id=2")


@pytest.mark.slow
def test_places_of_every_order_go_on(postgres_url: str) -> None:
    """The values of a place are in the text of the next query."""
    address = empty_schema(postgres_url)
    orders = {"int": "n", "numeric(10,2)": "n", "text": "chr(39) || n || '%s:x'", "timestamptz": "to_timestamp(n)",
              "timestamp": "'2024-01-01'::timestamp + n * interval '1 us'", "date": "'2024-01-01'::date + n",
              "double precision": "n / 3.0"}  # fmt: skip
    with psycopg.connect(address, autocommit=True) as source:
        for number, (kind, value) in enumerate(orders.items()):
            source.execute(f"CREATE TABLE t{number} (id int, at {kind})".encode())
            source.execute(f"INSERT INTO t{number} SELECT n, {value} FROM generate_series(1, 5) AS n".encode())
            for key in (["id"], []):
                extractor = PostgresExtractor(address, f"t{number}", key=key, change_column="at", batch_rows=2)
                first = next(iter(extractor.extract(None)))
                rest = list(extractor.extract(first.place))
                ids = [i for batch in (first, *rest) for i in batch.rows.values("id")]
                assert ids == [1, 2, 3, 4, 5], kind
                assert list(extractor.extract(rest[-1].place)) == []


def test_a_whole_is_one_state_of_the_source(postgres_url: str) -> None:
    address = empty_schema(postgres_url)
    with psycopg.connect(address, autocommit=True) as source:
        source.execute("CREATE TABLE t (id int PRIMARY KEY)")
        source.execute("INSERT INTO t SELECT generate_series(1, 100000)")
        batches = PostgresExtractor(address, "t", key=["id"], batch_rows=20_000).extract(None)
        first = next(batches)
        source.execute("INSERT INTO t VALUES (0), (200000)")
        source.execute("DELETE FROM t WHERE id > 90000 AND id < 200000")
        ids = first.rows.values("id") + [i for batch in batches for i in batch.rows.values("id")]
    assert ids == list(range(1, 100_001))


def test_what_a_server_refuses_is_told_without_secrets(postgres_url: str) -> None:
    url = make_url(postgres_url).set(password="s3cr3t")
    away = url.set(port=free_port()).render_as_string(hide_password=False)
    with pytest.raises(SourceUnavailableError) as told:
        list(PostgresExtractor(away, "t").extract(None))
    assert "s3cr3t" not in str(told.value)
    with pytest.raises(SnowmeltError, match="has no table nowhere"):
        list(PostgresExtractor(postgres_url, "nowhere").extract(None))
    address = empty_schema(postgres_url)
    with psycopg.connect(address, autocommit=True) as source:
        source.execute("CREATE VIEW broken AS SELECT 1 / (n - 3) AS id FROM generate_series(1, 5) AS n")
        with pytest.raises(SourceRefusedError, match="division by zero"):
            list(PostgresExtractor(address, "broken").extract(None))
        for kind in ("timestamp", "timestamptz", "date"):
            for value in ("infinity", "-infinity", "0044-03-15 BC", "20000-01-01"):
                source.execute(f"CREATE OR REPLACE VIEW far_{kind} AS SELECT '{value}'::{kind} AS at".encode())
                with pytest.raises(SnowmeltError, match="Column at holds a time"):
                    list(PostgresExtractor(address, f"far_{kind}").extract(None))


def test_a_connection_that_is_cut_is_worth_another_try(postgres_url: str) -> None:
    address = empty_schema(postgres_url)
    with psycopg.connect(address, autocommit=True) as source:
        source.execute("CREATE TABLE t AS SELECT n AS id, repeat('x', 200) AS a FROM generate_series(1, 400000) AS n")
        extractor = PostgresExtractor(address, "t", key=["id"], change_column="id", batch_rows=1_000)
        batches = extractor.extract(None)
        first = next(batches)
        source.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'snowmelt pipeline'"
        )
        with pytest.raises(SourceUnavailableError):
            list(batches)
    assert sum(len(batch.rows) for batch in extractor.extract(first.place)) == 399_000


LOADERS: dict[str, Callable[[snowmelt.Connection, Path, str], Loader]] = {
    "raw": lambda connection, _, __: RawLoader(connection, "raw", "flow", "run"),
    "table": lambda connection, _, __: TableLoader(connection, "orders", "flow", "run"),
    "delta": lambda _, folder, __: DeltaLoader(folder, "orders", "flow", "run"),
    "parquet": lambda _, folder, __: FilesLoader(folder, "orders", "flow", "run"),
    "csv": lambda _, folder, __: FilesLoader(folder, "orders", "flow", "run", file_format="csv"),
    "postgres": lambda _, __, address: PostgresLoader(address, "copies", "flow", "run", key=["id"]),
}


@pytest.mark.parametrize("kind", LOADERS)
def test_no_record_is_made_on_the_way(
    kind: str, connection: snowmelt.Connection, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a table of PostgreSQL to any destination, through a schema and what hides personal data."""
    address = empty_schema(postgres_url)
    connection.execute("CREATE TABLE orders (id NUMBER(38,0), amount NUMBER(12,2), email VARCHAR, at TIMESTAMP_LTZ)")
    with psycopg.connect(address, autocommit=True) as source:
        source.execute("CREATE TABLE orders (id int PRIMARY KEY, amount numeric(12,2), email text, at timestamptz)")
        source.execute("INSERT INTO orders SELECT n, n / 4.0, 'a@b', to_timestamp(n) FROM generate_series(1, 1000) n")
    made = record_views.records_of

    def few(table: pa.Table) -> list[dict[str, Any]]:
        assert table.num_rows == 1, "only the last row, for the place"
        return made(table)

    monkeypatch.setattr(record_views, "records_of", few)
    follow = FollowSchema([
        Field("id", "NUMBER(38,0)", nullable=False), Field("amount", "NUMBER(12,2)"), Field("email"),
        Field("at", "TIMESTAMP_TZ"),
    ], SchemaPolicy.FREEZE)  # fmt: skip
    extractor = PostgresExtractor(address, "orders", key=["id"], change_column="at", batch_rows=400, parallel=2)
    with closing(LOADERS[kind](connection, tmp_path / "out", address)) as loader:
        result = run_flow(Flow("flow", extractor, loader, Chain(follow, ProtectColumns(["email"], "mask"))))
        assert result.rows == 1000
        assert run_flow(Flow("flow", extractor, loader, follow)).rows == 0
    if kind == "table":
        found = sorted(rows(tmp_path / "data", "orders"), key=lambda row: row["ID"])
        assert (str(found[1]["AMOUNT"]), found[1]["EMAIL"], found[-1]["ID"]) == ("0.50", "***", 1000)
    if kind == "delta":
        table = DeltaTable(tmp_path / "out" / "orders").to_pyarrow_table()
        assert table.num_rows == 1000 and str(table.schema.field("amount").type) == "decimal128(12, 2)"


def test_postgres_takes_what_postgres_gave(postgres_url: str) -> None:
    """Through COPY: bytes, NULL beside empty text, documents, quotes; of one key twice in a batch the last counts."""
    address = empty_schema(postgres_url)
    columns = "id int PRIMARY KEY, t text, b bytea, d jsonb, n numeric, f double precision, l text"
    with psycopg.connect(address, autocommit=True) as source:
        source.execute(f"CREATE TABLE source ({columns})".encode())
        source.execute(f"CREATE TABLE target ({columns})".encode())
        source.execute(
            "INSERT INTO source VALUES (1, '', '\\x00ff', '{\"a\": \"\\\"\"}', 1.50, 'NaN', E'x\\n\"y\",\\\\.'), "
            "(2, NULL, NULL, NULL, NULL, NULL, '\\.')"
        )
        with closing(PostgresLoader(address, "target", "flow", "run", key=["id"])) as loader:
            assert run_flow(Flow("flow", PostgresExtractor(address, "source", key=["id"]), loader)).rows == 2
            found = source.execute("SELECT * FROM target ORDER BY id").fetchall()
            assert str(found) == str(source.execute("SELECT * FROM source ORDER BY id").fetchall())
            twice = Rows([{"id": 1, "t": "first"}, {"id": 3, "t": "new"}, {"id": 1, "t": "last"}])
            loader.load(record_views.Batch(twice, "next", "given"), "2024-01-01T00:00:00+00:00")
        assert source.execute("SELECT id, t, n FROM target ORDER BY id").fetchall()[0][1:] == ("last", found[0][4])
        with (
            closing(PostgresLoader(address, "target", "other", "run", strategy=LoadStrategy.APPEND)) as loader,
            pytest.raises(SourceRefusedError, match="duplicate key") as told,
        ):
            loader.load(record_views.Batch([{"id": 1, "t": "s3cr3t"}], "1", "given"), "2024-01-01T00:00:00+00:00")
        assert "s3cr3t" not in str(told.value)


@pytest.mark.slow
def test_every_type_of_mariadb_comes_as_arrow(mariadb_url: str) -> None:
    types: dict[str, tuple[str, str, str, Any]] = {
        "big": ("bigint unsigned", "18446744073709551615", "string", 18446744073709551615),
        "small": ("tinyint", "1", "int64", 1),
        "exact": ("decimal(10,2)", "1.5", "decimal128(10, 2)", "1.50"),
        "single": ("float", "1.5", "double", 1.5),
        "name": ("varchar(9)", "'é'", "string", "é"),
        "at": ("datetime(6)", "'2024-01-01 10:00:00.5'", "timestamp[us]", "2024-01-01T10:00:00.500000"),
        "day": ("date", "'2024-01-01'", "date32[day]", "2024-01-01"),
        "bytes": ("varbinary(9)", "x'00ff'", "binary", "00ff"),
        "some": ("set('b','a')", "'a,b'", "string", ["a", "b"]),
    }
    rig = MariadbRig(mariadb_url)
    rig.execute("DROP TABLE IF EXISTS types")
    rig.execute(f"CREATE TABLE types (id int PRIMARY KEY, {', '.join(f'{n} {t[0]}' for n, t in types.items())})")
    rig.execute(f"INSERT INTO types VALUES (1, {', '.join(t[1] for t in types.values())})")
    rig.execute("INSERT INTO types (id) VALUES (2)")
    (batch,) = MysqlExtractor(mariadb_url, "types", key=["id"]).extract(None)
    kinds = {field.name: str(field.type) for field in batch.table.schema}
    found, nothing = batch.records
    for name, (_, _, kind, value) in types.items():
        assert (name, kinds[name], found[name], nothing[name]) == (name, kind, value, None)
