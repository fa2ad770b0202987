"""What Debezium 3.6 sends for each type of PostgreSQL, as recorded, and what a column here makes of it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from snowmelt.core import types
from snowmelt.ingest.cdc.envelope import UNAVAILABLE
from snowmelt.ingest.cdc.shapes import CapturedShape, shape_of
from snowmelt.ingest.cdc.values import UnfitError, array_of
from snowmelt.storage import variant
from tests.features.connectors.envelopes import TABLE, assert_stored, column, key_schema, value_schema

_LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
_BITS = {"name": "io.debezium.data.Bits", "parameters": {"length": "3"}}


def shape(*columns: dict[str, Any]) -> CapturedShape:
    found = shape_of(TABLE, key_schema("id"), value_schema(*columns))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("field", "sent", "type_", "stored"),
    [
        (column("c", "int32", "INT4"), 7, "NUMBER(38,0)", 7),
        (column("c", "int64", "INT8"), 9223372036854775807, "NUMBER(38,0)", 9223372036854775807),
        (column("c", "string", "NUMERIC", length=10, scale=2), "1.50", "NUMBER(10,2)", Decimal("1.50")),
        (column("c", "string", "NUMERIC", length=10, scale=2), "NAN", "NUMBER(10,2)", None),
        (column("c", "string", "NUMERIC", length=0), "1234567890123456789012345678901234567890.5", "VARCHAR(16777216)",
         "1234567890123456789012345678901234567890.5"),
        (column("c", "string", "NUMERIC", length=131089, scale=0), "1.50", "VARCHAR(16777216)", "1.50"),
        (column("c", "string", "NUMERIC", length=0), "POSITIVE_INFINITY", "VARCHAR(16777216)", "Infinity"),
        (column("c", "string", "MONEY"), "12.50", "NUMBER(19,2)", Decimal("12.50")),
        (column("c", "double", "FLOAT8"), "-Infinity", "FLOAT", float("-inf")),
        (column("c", "boolean", "BOOL"), True, "BOOLEAN", True),
        (column("c", "string", "BPCHAR", length=5), "ch   ", "VARCHAR(16777216)", "ch   "),
        (column("c", "string", "DATE", name="io.debezium.time.IsoDate"), "2024-02-29Z", "DATE", dt.date(2024, 2, 29)),
        (column("c", "string", "DATE", name="io.debezium.time.IsoDate"), "+292278994-08-16Z", "DATE", _LAST.date()),
        (column("c", "string", "DATE", name="io.debezium.time.IsoDate"), "+292269055-12-02Z", "DATE", dt.date(1, 1, 1)),
        (column("c", "string", "TIME", name="io.debezium.time.IsoTime"), "10:11:12.500000Z", "TIME(9)", "10:11:12.5"),
        (column("c", "string", "TIMESTAMP", name="io.debezium.time.IsoTimestamp"), "2024-02-29T10:11:12.123456Z",
         "TIMESTAMP_NTZ(9)", dt.datetime(2024, 2, 29, 10, 11, 12, 123456)),
        (column("c", "string", "TIMESTAMP", name="io.debezium.time.IsoTimestamp"), "+294247-01-10T04:00:25.2Z",
         "TIMESTAMP_NTZ(9)", _LAST),
        (column("c", "string", "TIMESTAMPTZ", name="io.debezium.time.ZonedTimestamp"), "2024-02-29T08:11:12.123456Z",
         "TIMESTAMP_LTZ(9)", dt.datetime(2024, 2, 29, 8, 11, 12, 123456, tzinfo=dt.UTC)),
        (column("c", "string", "TIMESTAMPTZ", name="io.debezium.time.ZonedTimestamp"), "infinity", "TIMESTAMP_LTZ(9)",
         _LAST.replace(tzinfo=dt.UTC)),
        (column("c", "string", "UUID", name="io.debezium.data.Uuid"), "00000000-0000-0000-0000-000000000001",
         "VARCHAR(36)", "00000000-0000-0000-0000-000000000001"),
        (column("c", "string", "BYTEA"), "3q2+7w==", "BINARY(8388608)", b"\xde\xad\xbe\xef"),
        (column("c", "string", "INT4RANGE"), "[1,5)", "VARCHAR(16777216)", "[1,5)"),
        (column("c", "string", "INT4MULTIRANGE"), "e1sxLDMpLFs1LDcpfQ==", "VARCHAR(16777216)", "{[1,3),[5,7)}"),
        (column("c", "string", "INTERVAL", name="io.debezium.time.Interval"), "P1Y2M3DT4H5M6.7S", "VARCHAR(16777216)",
         "P1Y2M3DT4H5M6.7S"),
        (column("c", "string", "MOOD", name="io.debezium.data.Enum"), "ok", "VARCHAR(16777216)", "ok"),
        (column("c", "bytes", "BIT", **_BITS), "BQ==", "VARCHAR(16777216)", "101"),
        (column("c", "boolean", "BIT"), True, "BOOLEAN", True),
    ],
)  # fmt: skip
def test_values_of_every_type(field: dict[str, Any], sent: Any, type_: str, stored: Any) -> None:
    assert_stored(shape(field), sent, type_, stored)


@pytest.mark.parametrize(
    ("field", "sent", "expected"),
    [
        (column("c", "string", "JSONB", name="io.debezium.data.Json"), '{"b": [1, 2.50]}', {"b": [1, Decimal("2.50")]}),
        (column("c", "array", "_INT4", items={"type": "int32"}), [1, None, 3], [1, None, 3]),
        (column("c", "array", "_NUMERIC", items={"type": "string"}), ["1.5"], [Decimal("1.5")]),
        (column("c", "array", "_DATE", items={"type": "string"}), ["2024-02-29Z"], ["2024-02-29"]),
        (column("c", "array", "_JSONB", items={"type": "string", "name": "io.debezium.data.Json"}), ['{"z": 1}'],
         [{"z": 1}]),
        (column("c", "struct", "POINT"), {"x": 1, "y": 2}, {"x": 1, "y": 2}),
    ],
)  # fmt: skip
def test_documents_and_arrays(field: dict[str, Any], sent: Any, expected: Any) -> None:
    found = shape(field)
    cleaned = found.cleaned({"c": sent})
    assert cleaned == {"c": expected}
    stored = array_of([expected], found.columns[0].type).to_pylist()[0]
    assert variant.decode(stored["metadata"], stored["value"]) == expected


def test_what_was_not_sent_stays_marked() -> None:
    found = shape(column("c", "string", "BYTEA"))
    assert found.cleaned({"c": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}) == {"c": UNAVAILABLE}


def test_names_fold_as_snowflake_folds_them() -> None:
    found = shape(column("order_id", "int32", "INT4"), column("OrderNo", "int32", "INT4"))
    assert [item.target_name for item in found.columns] == ["ORDER_ID", "OrderNo"]


def test_a_value_that_does_not_fit_says_so() -> None:
    only = shape(column("c", "string", "NUMERIC", length=4, scale=2)).columns[0]
    with pytest.raises(UnfitError):
        array_of([Decimal("1.234")], only.type)


def test_a_number_keeps_all_its_digits() -> None:
    """Python's own arithmetic would stop at 28."""
    digits = "1234567890123456789012345678.0123456789"
    assert array_of([digits], types.number(38, 10)).to_pylist() == [Decimal(digits)]


@pytest.mark.parametrize(
    ("source_type", "sent", "clean"),
    [
        ("FLOAT4", Decimal("-32500000800.0"), Decimal("-3.25e10")),
        ("FLOAT4", Decimal("0.1"), Decimal("0.1")),
        ("FLOAT4", Decimal("1.17549435E-38"), Decimal("1.1754944e-38")),
        ("DATE", "-5877611-06-21Z", "infinity"),
        ("DATE", "-5877611-06-22Z", "-infinity"),
        ("DATE", "-0043-03-15Z", "-0043-03-15"),
    ],
)
def test_what_java_writes_otherwise(source_type: str, sent: Any, clean: Any) -> None:
    """As Debezium sends it from the log."""
    cleaned = shape(column("c", "float" if source_type == "FLOAT4" else "string", source_type)).cleaned({"c": sent})
    assert cleaned == {"c": clean}


def test_bits_that_vary_have_their_own_length() -> None:
    varying = column("c", "bytes", "VARBIT", name="io.debezium.data.Bits", parameters={"length": "10"})
    assert shape(varying).cleaned({"c": "BQ=="}) == {"c": "101"}
