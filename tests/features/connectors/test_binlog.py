"""Changes of a MariaDB or MySQL as Debezium writes them: places in a binlog, types, what comes again, the history."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from snowmelt.ingest.cdc.envelope import CapturedChange, Operation, parse
from snowmelt.ingest.cdc.history import SchemaHistory
from snowmelt.ingest.cdc.redelivery import Deliveries
from snowmelt.ingest.cdc.shapes import CapturedShape, shape_of
from tests.features.connectors.envelopes import assert_stored, column, key_schema, value_schema


def change(file: int, position: int, row: int = 0, key: int = 1) -> CapturedChange:
    source = {
        "connector": "mariadb", "name": "snowmelt", "ts_ms": 1, "snapshot": "false", "db": "shop", "table": "items",
        "server_id": 1, "gtid": "0-1-7", "file": f"binlog.{file:06d}", "pos": position, "row": row, "sequence": None,
    }  # fmt: skip
    told = {"before": None, "after": {"id": key}, "source": source, "op": "c", "ts_ms": 2}
    found = parse(json.dumps({"id": key}), json.dumps(told))
    assert found is not None
    return found


def test_an_envelope_says_where_in_the_binlog() -> None:
    found = change(3, 456, row=2)
    assert (found.operation, found.table, found.key) == (Operation.INSERT, "shop.items", {"id": 1})
    assert json.loads(found.sequence or "") == ["binlog.000003", 456, 2, "0-1-7"]
    assert found.lsn is not None and change(2, 4_000_000_000).lsn < found.lsn < change(3, 457).lsn  # type: ignore[operator]
    assert found.identity not in {change(3, 456, row=1).identity, change(3, 457, row=2).identity}


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_again_is_known(seed: int) -> None:
    """Files end, one place has several rows, and a reader goes back by any distance."""
    chosen = random.Random(seed)
    log = [
        change(file, position, row, key=chosen.randint(1, 3))
        for file in (1, 2, 3)
        for position in range(4, 400, 20)
        for row in range(chosen.choice((1, 1, 4)))
    ]
    taken: list[CapturedChange] = []
    deliveries = Deliveries({}, ())
    at = furthest = 0
    while furthest < len(log):
        upto = min(at + chosen.randint(1, 40), len(log))
        taken += [each for each in log[at:upto] if deliveries.is_new(each)]
        deliveries = Deliveries(deliveries.progress, deliveries.recent[-3:])
        furthest = max(furthest, upto)
        at = chosen.randint(max(0, furthest - 60), furthest)
    assert taken == log


def shape(*columns: dict[str, Any]) -> CapturedShape:
    schema = value_schema(*columns)
    schema["fields"].append({"type": "struct", "field": "source", "name": "io.debezium.connector.mariadb.Source"})
    found = shape_of("shop.items", key_schema("id"), schema)
    assert found is not None
    return found


_MICROSECONDS = 1_709_201_472_123_456


@pytest.mark.parametrize(
    ("field", "sent", "type_", "stored"),
    [
        (column("c", "int16", "TINYINT"), 1, "NUMBER(38,0)", 1),
        (column("c", "boolean", "BOOL"), True, "NUMBER(38,0)", 1),
        (column("c", "bytes", "BIGINT UNSIGNED"), 2**64 - 1, "NUMBER(20,0)", Decimal(2**64 - 1)),
        (column("c", "string", "DECIMAL", length=6, scale=2), "1.50", "NUMBER(6,2)", Decimal("1.50")),
        (column("c", "string", "DECIMAL UNSIGNED"), "7", "NUMBER(10,0)", Decimal(7)),
        (column("c", "string", "DECIMAL", length=50, scale=2), "1.50", "VARCHAR(16777216)", "1.50"),
        (column("c", "float", "FLOAT"), Decimal("0.1"), "FLOAT", 0.1),
        (column("c", "boolean", "BIT", length=1), True, "BOOLEAN", True),
        (column("c", "int32", "DATE", name="io.debezium.time.Date"), 19782, "DATE", date(2024, 2, 29)),
        (column("c", "int64", "DATETIME", name="io.debezium.time.Timestamp"), _MICROSECONDS // 1000,
         "TIMESTAMP_NTZ(9)", datetime(2024, 2, 29, 10, 11, 12, 123000)),
        (column("c", "int64", "DATETIME", name="io.debezium.time.MicroTimestamp"), _MICROSECONDS,
         "TIMESTAMP_NTZ(9)", datetime(2024, 2, 29, 10, 11, 12, 123456)),
        (column("c", "string", "TIMESTAMP", name="io.debezium.time.ZonedTimestamp"), "2024-02-29T10:11:12Z",
         "TIMESTAMP_LTZ(9)", datetime(2024, 2, 29, 10, 11, 12, tzinfo=UTC)),
        (column("c", "int64", "TIME", name="io.debezium.time.MicroTime"), -3_020_399_000_001, "VARCHAR(16777216)",
         "-838:59:59.000001"),
        (column("c", "int32", "YEAR", name="io.debezium.time.Year"), 2024, "NUMBER(38,0)", 2024),
        (column("c", "string", "ENUM", name="io.debezium.data.Enum"), "happy", "VARCHAR(16777216)", "happy"),
        (column("c", "string", "JSON", name="io.debezium.data.Json"), '{"a": 1}', "VARCHAR(16777216)", '{"a": 1}'),
        (column("c", "string", "LONGTEXT"), "YWJj", "VARCHAR(16777216)", "YWJj"),
        (column("c", "string", "VARBINARY"), "AP8=", "BINARY(8388608)", b"\x00\xff"),
    ],
)  # fmt: skip
def test_values_of_every_type(field: dict[str, Any], sent: Any, type_: str, stored: Any) -> None:
    assert_stored(shape(field), sent, type_, stored)


def test_a_default_is_as_clean_as_a_value() -> None:
    field = column("c", "int32", "DATE", name="io.debezium.time.Date", default=19782)
    assert shape(field).columns[0].default == "2024-02-29"


def test_a_history_loses_the_line_that_was_cut_short(tmp_path: Path) -> None:
    history = SchemaHistory(tmp_path / "history")
    assert not history.exists
    history.keep()
    history.path.write_text('{"ddl": 1}\n{"ddl": 2}\n{"dd')
    history.prepare(anew=False)
    assert history.path.read_text() == '{"ddl": 1}\n{"ddl": 2}\n'
    history.keep()
    history.prepare(anew=True)
    assert not history.exists
