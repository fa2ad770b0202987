"""How values of PostgreSQL become those of an envelope, without a PostgreSQL."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.ingest.cdc.quick.asking import PostgresType, asked


def _numeric(precision: int, scale: int) -> int:
    """As pg_attribute keeps both."""
    return ((precision << 16) | (scale & 0x7FF)) + 4


@pytest.mark.parametrize(
    ("name", "modifier", "type_"),
    [
        ("int4", -1, types.INTEGER),
        ("numeric", _numeric(12, 2), types.number(12, 2)),
        ("numeric", _numeric(38, 0), types.number(38, 0)),
        ("numeric", _numeric(39, 2), types.VARCHAR),
        ("numeric", -1, types.VARCHAR),
        ("bit", 1, types.BOOLEAN),
        ("bit", 8, types.VARCHAR),
        ("uuid", -1, types.varchar(36)),
    ],
)
def test_types(name: str, modifier: int, type_: DataType) -> None:
    found = asked(PostgresType(name, "b", modifier, None))
    assert found is not None and found.type == type_


@pytest.mark.parametrize(
    ("name", "kind", "modifier", "element"),
    [
        ("posint", "d", -1, None),
        ("pair", "c", -1, None),
        ("hstore", "b", -1, None),
        ("geometry", "b", -1, None),
        ("_geometry", "b", -1, "geometry"),
        ("numeric", "b", _numeric(3, -2), None),
        ("numeric", "b", _numeric(3, 5), None),
        ("int4multirange", "m", -1, None),
    ],
)
def test_types_that_only_debezium_reads(name: str, kind: str, modifier: int, element: str | None) -> None:
    assert asked(PostgresType(name, kind, modifier, element)) is None


@pytest.mark.parametrize(
    ("name", "modifier", "sent", "value"),
    [
        ("date", -1, "2024-02-29", "2024-02-29"),
        ("date", -1, "20000-01-01", "+20000-01-01"),
        ("date", -1, "0044-03-15 BC", "-0043-03-15"),
        ("date", -1, "0001-12-31 BC", "0000-12-31"),
        ("date", -1, "infinity", "infinity"),
        ("timestamp", -1, "0044-03-15T10:00:00TBC", "-0043-03-15T10:00:00"),
        ("timestamptz", -1, "2024-02-29T10:11:12.500000Z", "2024-02-29T10:11:12.500000Z"),
        ("timestamp", -1, "2024-02-29 10:11:12.5", "2024-02-29T10:11:12.5"),
        ("timestamptz", -1, "2024-02-29 10:11:12.5+00", "2024-02-29T10:11:12.500000Z"),
        ("timestamptz", 3, "2024-02-29 10:11:12+00", "2024-02-29T10:11:12.000Z"),
        ("timestamptz", 0, "2024-02-29 10:11:12+00", "2024-02-29T10:11:12Z"),
        ("timestamptz", -1, "0044-03-15 10:00:00+00 BC", "-0043-03-15T10:00:00.000000Z"),
        ("timestamptz", -1, "-infinity", "-infinity"),
        ("float8", -1, 0.1, Decimal("0.1")),
        ("float8", -1, float("-inf"), "-Infinity"),
        ("float4", -1, "NaN", "NaN"),
        ("numeric", -1, "1.50", Decimal("1.50")),
        ("bytea", -1, b"\x00\xff", "AP8="),
        ("jsonb", -1, '{"a": [1.50]}', {"a": [Decimal("1.50")]}),
    ],
)
def test_documents(name: str, modifier: int, sent: Any, value: Any) -> None:
    found = asked(PostgresType(name, "b", modifier, None))
    assert found is not None and found.clean is not None
    assert found.clean(sent) == value


def test_arrays_keep_their_dimensions() -> None:
    found = asked(PostgresType("_numeric", "b", -1, "numeric"))
    assert found is not None and found.clean is not None
    assert found.clean('[["1.50", null], ["NaN", "2"]]') == [[Decimal("1.50"), None], ["NaN", Decimal(2)]]
