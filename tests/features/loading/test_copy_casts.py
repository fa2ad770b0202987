"""A value loaded from a file is the value that the SQL cast gives, whichever way it is converted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core import types
from snowmelt.features.loading.batches import SegmentBatch
from snowmelt.features.loading.conversion import Converted, Converter
from snowmelt.features.loading.records import Segment, SourceField
from snowmelt.features.loading.row_queries import ColumnMapping
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.tokens import SqlText

TYPES = (
    "INTEGER", "NUMBER(5, 0)", "NUMBER(10, 2)", "NUMBER(38, 37)", "FLOAT", "BOOLEAN", "DATE", "TIME", "TIMESTAMP_NTZ",
    "TIMESTAMP_NTZ(3)", "TIMESTAMP_LTZ", "TIMESTAMP_TZ", "BINARY", "VARIANT", "OBJECT", "ARRAY", "VARCHAR",
    "VARCHAR(3)",
)  # fmt: skip
KNOWN = (
    "0", "-0", "+1", "1.5", "-1.5", ".5", "5.", "1e3", "1E-2", "0x10", " 7 ", "007", "12345", "99999", "100000",
    "123456789012345678", "1234567890123456789", "9223372036854775807", "9223372036854775808", "0.005", "1.995",
    "99999999.99", "99999999.995", "999999999.99", "NaN", "inf", "-Infinity", "1_000", "1,000", "", " ", "true", "TRUE",
    "False", "yes", "n", "on", "Off", "t", "tr", "2024-01-31", "2024-02-29", "2023-02-29", "2024-1-5", "2024-13-01",
    "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "31-JAN-2024", "01/31/2024", "20240131", "2024-01-31T10",
    "2024-01-31 10:00", "2024-01-31 10:00:00", "2024-01-31T10:00:00", "2024-01-31 10:00:00.1",
    "2024-01-31 10:00:00.123456",
    "2024-01-31 10:00:00.123456789", "2024-01-31 24:00:00", "2024-01-31 23:59:60", "2024-01-31 10:00:00Z",
    "2024-01-31 10:00:00 +0200", "2024-01-31T10:00:00+02:00", "2024-02-30 10:00:00", "1706695200", "10:00", "10:00:00",
    "10:00:00.5", "25:00:00", "23:59:59", "CAFE", "cafe", "CAF", "xyz", "{}", "[]", "[1,2]", '{"a":1}', '{"a":1,"a":2}',
    '{"a":', "null", '"text"', "1 2", "abc", "abcd", "ä", "😀😀😀", "😀😀😀😀", "\t1", "1\n", "\\N", "'", '"',
)  # fmt: skip


@pytest.fixture
def run(session: Session) -> Run:
    columns = ", ".join(f"c{index} {type_}" for index, type_ in enumerate(TYPES))
    session.execute(f"CREATE TABLE t ({columns})")
    return Run(session, SqlText("COPY INTO t"))


def converter(run: Run) -> Converter:
    table = run.find_table(NameRef(("T",)))
    fields = tuple(SourceField(f"${index + 1}", types.VARCHAR) for index in range(len(TYPES)))
    direct = {f"C{index}": index for index in range(len(TYPES))}
    return Converter(run, table, ColumnMapping(fields, direct=direct, reads_json=True))


def one_at_a_time(texts: list[str | None]) -> pa.Table:
    """A row for each text and type, the other columns of which are NULL."""
    columns = {}
    count = len(TYPES)
    for index in range(count):
        values: list[str | None] = []
        for text in texts:
            values += [text if place == index else None for place in range(count)]
        columns[f"c{index}"] = pa.array(values, pa.string())
    return pa.table(columns)


def by_row(converted: Converted) -> dict[int, Any]:
    """The values of each row. Moments are numbers: Python has no year 0."""
    table = converted.rows
    for index, field in enumerate(table.schema):
        if pa.types.is_struct(field.type) and pa.types.is_timestamp(field.type[0].type):
            parts = [pc.struct_field(table.column(index), place) for place in (0, 1)]
            text = pc.binary_join_element_wise(
                parts[0].cast(pa.int64()).cast(pa.string()), parts[1].cast(pa.string()), " "
            )
            table = table.set_column(index, field.name, text)
        elif pa.types.is_temporal(field.type):
            number = pa.int32() if pa.types.is_date(field.type) else pa.int64()
            table = table.set_column(index, field.name, table.column(index).cast(number))
    return {
        origin: tuple(row.values())
        for origin, row in zip(converted.origins.to_pylist(), table.to_pylist(), strict=True)
    }


def check(run: Run, texts: list[str | None]) -> None:
    made = converter(run)
    data = one_at_a_time(texts)
    batch = SegmentBatch()
    batch.add(0, Segment(data, range(1, data.num_rows + 1), data.num_rows))
    mixed = made.convert(batch, {})
    spark = made._by_spark(data, {}, None)
    # Rows with a value that is doubtful are the same rows in both; all others were converted in Arrow.
    fast, slow = by_row(mixed), by_row(spark)
    for row, expected in slow.items():
        type_, text = TYPES[row % len(TYPES)], texts[row // len(TYPES)]
        assert repr(fast[row]) == repr(expected), f"{text!r} as {type_}"
    assert [(f.row, f.column, f.code, f.message) for f in mixed.failures] == [
        (f.row, f.column, f.code, f.message) for f in spark.failures
    ]
    assert set(fast) == set(slow)
    assert len(fast) + len(mixed.failures) == data.num_rows


def test_known_texts(run: Run) -> None:
    check(run, [*KNOWN, None])


NUMBERS = st.from_regex(r"\A[+-]?[0-9]{0,20}(\.[0-9]{0,6})?([eE][+-]?[0-9]{1,3})?\Z")
MOMENTS = st.from_regex(
    r"\A[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z| ?[+-]0[0-9]:?00)?)?\Z"
)
TEXTS = NUMBERS | MOMENTS | st.sampled_from(KNOWN) | st.text(max_size=6)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=40, max_size=80))
def test_any_texts(run: Run, texts: list[str | None]) -> None:
    # A NUL character can't be compared: Spark and Arrow print it in different ways.
    check(run, [text for text in texts if text is None or "\0" not in text])


@pytest.mark.parametrize(
    ("text", "type_", "code", "message"),
    [
        ("abc", "INTEGER", "100038", "Numeric value 'abc' is not recognized"),
        ("1234567.5", "NUMBER(5, 0)", "100039", "Numeric value '1234567.5' is out of range"),
        ("maybe", "BOOLEAN", "100037", "Boolean value 'maybe' is not recognized"),
        ("2023-02-29", "DATE", "100040", "Date '2023-02-29' is not recognized"),
        ("noon", "TIME", "100108", "Time 'noon' is not recognized"),
        ("soon", "TIMESTAMP_NTZ", "100035", "Timestamp 'soon' is not recognized"),
        ("{", "VARIANT", "100069", "Error parsing JSON"),
        ("abcd", "VARCHAR(3)", "100074", "User character length limit (3) exceeded by string 'abcd'"),
    ],
)
def test_errors_are_those_of_sql(run: Run, text: str, type_: str, code: str, message: str) -> None:
    data = one_at_a_time([text])
    failures = converter(run)._by_spark(data, {}, None).failures
    found = next(failure for failure in failures if failure.row == TYPES.index(type_))
    assert found.column == TYPES.index(type_)
    assert (found.code, found.message[: len(message)]) == (code, message)
