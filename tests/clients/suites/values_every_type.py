"""Every type at every scale, by every way in which the connector gives rows. Prints what is not as it should be."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
from connection import connect
from every_type import COLUMNS, COPIES, MANY, MANY_WIDE_FIRST, NEAR, QUERY, ZONE, differences, expected


def tabular(value: Any) -> Any:
    """What becomes of a Python value in a data frame or an Arrow table: numbers with decimals are floats there."""
    return float(value) if isinstance(value, Decimal) else value


def table_values(rows: int, *, wide: bool) -> list[tuple[Any, ...]]:
    """`wide`: the result has numbers that 64 bits do not hold; they stay exact."""
    return [
        tuple(
            value if value is None else Decimal(value) if wide and "_WIDE" in column.name else tabular(value)
            for column, value in zip(COLUMNS, row, strict=True)
        )
        for row in expected(rows)
    ]


def plain(value: Any) -> Any:
    """A value of an Arrow table or a data frame as Python's own."""
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    if hasattr(value, "item"):
        value = value.item()
    return value


def arrow_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(plain(value) for value in row.values()) for row in table.to_pylist()]


def exact(column: Any) -> list[Any]:
    """Of a pandas column: its NULLs as None, whatever they are there."""
    if column.dtype.kind == "M":
        return moments(column)
    nulls = column.isna().tolist()
    return [None if null else plain(value) for value, null in zip(column.tolist(), nulls, strict=True)]


def moments(column: Any) -> list[Any]:
    """Through numpy: pandas 2 crashes when it makes objects of zoned moments in far years."""
    zoned = column.dt.tz is not None
    plain_moments = (column.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else column).to_numpy()
    found = plain_moments.astype("datetime64[us]").tolist()
    return [value if value is None or not zoned else value.replace(tzinfo=dt.UTC) for value in found]


def frame_rows(frame: Any) -> list[tuple[Any, ...]]:
    return list(zip(*[exact(frame[column.name]) for column in COLUMNS], strict=True))


def kinds(table: pa.Table, wanted: list[str], where: str) -> list[str]:
    pairs = zip(table.schema, wanted, strict=True)
    return [f"{where}: {field.name} is {field.type}, not {kind}" for field, kind in pairs if str(field.type) != kind]


def dtypes(frame: Any, where: str) -> list[str]:
    text = ("object", "str")
    return [
        f"{where}: {column.name} is {found}, not {column.dtype}"
        for column, found in zip(COLUMNS, map(str, frame.dtypes), strict=True)
        if found not in (text if column.dtype == "text" else (column.dtype,))
    ]


def looked_at(cursor: Any) -> Iterator[str]:
    """Fetches by every way there is."""
    wanted = expected()
    yield from differences(cursor.execute(QUERY).fetchall(), wanted, "fetchall")
    cursor.execute(QUERY)
    yield from differences([cursor.fetchone(), *cursor.fetchmany(10)], wanted, "fetchone, fetchmany")
    near = cursor.execute(NEAR).fetch_arrow_all()
    yield from kinds(near, [column.near for column in COLUMNS], "near Arrow")
    yield from differences(arrow_rows(near), table_values(2, wide=False), "near Arrow")
    near_frame = cursor.execute(NEAR).fetch_pandas_all()
    yield from dtypes(near_frame, "near pandas")
    yield from differences(frame_rows(near_frame), table_values(2, wide=False), "near pandas")
    table = cursor.execute(QUERY).fetch_arrow_all()
    yield from kinds(table, [column.arrow for column in COLUMNS], "Arrow")
    yield from differences(arrow_rows(table), table_values(5, wide=True), "Arrow")
    frame = cursor.execute(QUERY).fetch_pandas_all()
    whole = {column.name for column in COLUMNS if column.dtype == "int64"}
    widened = [
        tuple(
            float(value) if column.name in whole and isinstance(value, int) else value
            for column, value in zip(COLUMNS, row, strict=True)
        )
        for row in table_values(5, wide=True)
    ]
    yield from differences(frame_rows(frame), widened, "pandas")


def in_parts(cursor: Any) -> Iterator[str]:
    """A result of several parts: all have the same types, and nothing is lost between them."""
    wanted = [row for row in expected() for _ in range(COPIES)]
    yield from differences(cursor.execute(MANY).fetchall(), wanted, "fetchall of parts")
    batches = cursor.execute(MANY).get_result_batches()
    if len([batch for batch in batches if batch.rowcount]) < 2:
        yield f"{len(batches)} parts"
    yield from differences([row for batch in batches for row in batch], wanted, "parts")
    in_tables = [row for row in table_values(5, wide=True) for _ in range(COPIES)]
    tables = list(cursor.execute(MANY).fetch_arrow_batches())
    if len({str(table.schema.remove_metadata()) for table in tables}) != 1 and not far_moments(tables):
        yield "Arrow parts have different types"
    yield from differences([row for table in tables for row in arrow_rows(table)], in_tables, "Arrow parts")
    frames = list(cursor.execute(MANY).fetch_pandas_batches())
    if sum(map(len, frames)) != len(wanted):
        yield "rows were lost in pandas batches"


def far_moments(tables: list[pa.Table]) -> bool:
    """The connector itself chooses nanoseconds for parts that allow it: those columns alone may differ."""
    first = tables[0].schema
    pairs = [pair for table in tables for pair in zip(first, table.schema, strict=True)]
    differing = {field.name for field, own in pairs if field.type != own.type}
    return all(name[:-1] in ("NTZ", "LTZ", "TZ") and name[-1] in "789" for name in differing)


def in_json() -> Iterator[str]:
    parameters = {"PYTHON_CONNECTOR_QUERY_RESULT_FORMAT": "JSON", "TIMEZONE": ZONE}
    with connect(session_parameters=parameters) as connection:
        cursor = connection.cursor()
        yield from differences(cursor.execute(QUERY).fetchall(), expected(), "JSON")
        wanted = [expected()[row] for row in (3, 2, 1, 0, 4) for _ in range(COPIES)]
        yield from differences(cursor.execute(MANY_WIDE_FIRST).fetchall(), wanted, "JSON in parts")


with connect(session_parameters={"TIMEZONE": ZONE}) as opened:
    found = [*looked_at(opened.cursor()), *in_parts(opened.cursor()), *in_json()]
    local = opened.cursor().execute("SELECT LTZ0 FROM every_type WHERE ROW_NUMBER = 0").fetchone()[0]
    if local.utcoffset() != dt.timedelta(hours=-4):
        found.append(f"TIMESTAMP_LTZ has the offset {local.utcoffset()}")
print(json.dumps(found))
