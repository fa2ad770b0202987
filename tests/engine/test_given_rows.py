"""Rows that are given with a query are the same whether they travel as text or as a view."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from snowmelt.engine.model import Lane
from snowmelt.runtime.account import Account

_UTC = dt.UTC
_TYPES = [
    (pa.int64(), [0, -(2**63), 2**63 - 1, None]),
    (pa.int32(), [1, -1, None]),
    (pa.decimal128(38, 9), [Decimal("0.000000001"), Decimal("-99999999999999999999999999999.123456789"), None]),
    (pa.decimal128(5, 0), [Decimal("1E+2"), None]),
    (pa.string(), ["", "it's", 'a "b" \\ c\n\t', "%s ${x} `", "\N{SNOWFLAKE}\N{GRINNING FACE}", "NULL", None]),
    (pa.bool_(), [True, False, None]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    (pa.float64(), [0.1, -0.0, 1e-300, math.inf, -math.inf, 123456789.123456789, None]),
    (pa.timestamp("us"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2026, 1, 1), None]),
    (pa.timestamp("us", "UTC"), [dt.datetime(2026, 3, 29, 1, 30, 0, 1, _UTC), None]),
]


@pytest.mark.parametrize(("type_", "values"), _TYPES, ids=[str(type_) for type_, _ in _TYPES])
@pytest.mark.parametrize("rows", ["all", "none"])
def test_as_text_and_as_a_view(account: Account, type_: pa.DataType, values: list[object], rows: str) -> None:
    data = pa.table({"n": pa.array(range(len(values)), pa.int64()), "odd `name": pa.array(values, type_)})
    data = data if rows == "all" else data.slice(0, 0)
    query = "SELECT * FROM `given` ORDER BY n"
    text = account.engine.to_arrow(query, lane=Lane.TINY, inputs={"given": data})
    view = account.engine.to_arrow(query, lane=Lane.LIGHT, inputs={"given": data})
    assert text.schema.types == view.schema.types
    assert text.to_pylist() == view.to_pylist()
    assert [str(value) for value in text.column(1).to_pylist()] == [str(v) for v in view.column(1).to_pylist()]
