"""Whole columns and single records are two ways to one end: what is done by columns gives what records give."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Chain,
    Field,
    FollowSchema,
    ProtectColumns,
    Record,
    RejectedRecordError,
    Rows,
    SchemaPolicy,
    Transformed,
    Transformer,
)
from snowmelt.extract_load.destinations.typing import typed_table
from snowmelt.extract_load.sources.ordering import undivided, whole_batches

TYPES = (
    "NUMBER(38,0)", "NUMBER(6,2)", "INT", "FLOAT", "BOOLEAN", "DATE", "TIME", "DATETIME", "TIMESTAMP_NTZ",
    "TIMESTAMP_TZ", "VARCHAR", "VARCHAR(3)", "VARIANT", "ARRAY", "OBJECT",
)  # fmt: skip
TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
TEXTS = st.one_of(
    st.text(max_size=5), st.integers(-(10**7), 10**7).map(str), st.sampled_from(["1.5", "1.555", "1e3", " 7 ", ".5"]),
    st.sampled_from(["true", "F", "on", "10:00:00", "2024-02-30", "0000-01-01", "2024-01-01T00:00:00+02:00", "nan"]),
    st.dates().map(str), TIMES.map(str), TIMES.map(dt.datetime.isoformat),
)  # fmt: skip
COLUMNS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1), pa.int16(): st.integers(-999, 999),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False), pa.bool_(): st.booleans(), pa.string(): TEXTS,
    pa.decimal128(20, 10): st.decimals(-(10**9), 10**9, places=10), pa.binary(): st.binary(max_size=3),
    pa.decimal128(5, 2): st.decimals(-999, 999, places=2), pa.date32(): st.dates(),
    pa.timestamp("us"): TIMES, pa.timestamp("us", "UTC"): TIMES, pa.timestamp("s"): TIMES, pa.time64("us"): st.times(),
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=2), pa.null(): st.none(),
    pa.struct([("a", pa.date32())]): st.fixed_dictionaries({"a": st.dates()}),
}  # fmt: skip


@st.composite
def columns(draw: st.DrawFn, size: int) -> pa.Array:
    kind = draw(st.sampled_from(list(COLUMNS)))
    values = draw(st.lists(st.none() | COLUMNS[kind], min_size=size, max_size=size))
    return pa.array(values, kind)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    size = draw(st.integers(1, 4))
    names = draw(st.lists(st.sampled_from(["id", "Amount", "at", "new"]), min_size=1, max_size=4, unique=True))
    return pa.table({name: draw(columns(size)) for name in names})


FIELDS = st.lists(
    st.builds(Field, st.sampled_from(["id", "amount", "at"]), st.sampled_from(TYPES), st.booleans()),
    max_size=3, unique_by=lambda field: field.name,
)  # fmt: skip


class RecordByRecord(Transformer):
    """A transformer, without what it knows about columns."""

    def __init__(self, inner: Transformer) -> None:
        self.inner = inner

    def transform(self, record: Record) -> Record | None:
        return self.inner.transform(record)


def outcome(transformer: Transformer, rows: Rows) -> object:
    try:
        made = transformer.transform_rows(rows)
    except SnowmeltError as error:
        return str(error)
    kept = made.kept if made.kept is not None else range(len(made.rows))
    return list(made.rows.records), list(kept), list(made.rejected)


@settings(max_examples=100, deadline=None)
@given(tables(), FIELDS, st.sampled_from(SchemaPolicy), st.sampled_from(["drop", "hash", "mask"]))
def test_transformers_do_the_same_by_columns(
    table: pa.Table, fields: Sequence[Field], policy: SchemaPolicy, strategy: Any
) -> None:
    by_columns, one_by_one = (
        (follow := FollowSchema(fields, policy), Chain(follow, ProtectColumns(["at"], strategy))) for _ in range(2)
    )
    found = outcome(by_columns[1], Rows(table))
    assert found == outcome(RecordByRecord(one_by_one[1]), Rows(table))
    if not isinstance(found, str):
        assert by_columns[0].discarded == one_by_one[0].discarded


@settings(max_examples=100, deadline=None)
@given(tables(), st.sampled_from(TYPES))
def test_columns_become_the_types_that_values_become(table: pa.Table, sql_type: str) -> None:
    fields = [Field(name, sql_type) for name in table.column_names]

    def made(rows: Rows) -> object:
        try:
            return typed_table(fields, rows)
        except (SnowmeltError, pa.ArrowException, OverflowError) as error:
            return type(error)

    assert made(Rows(table)) == made(Rows(Rows(table).records))


@settings(max_examples=100, deadline=None)
@given(tables())
def test_documents_are_the_records(table: pa.Table) -> None:
    rows = Rows(table)
    assert [json.loads(text) for text in rows.documents().to_pylist()] == list(rows.records)
    assert Rows(Rows(rows.records).table).records == rows.records, "a column of documents loses nothing"
    assert [rows.record(index) for index in range(len(rows))] == list(rows.records)


def test_a_subclass_that_treats_records_is_asked_for_each() -> None:
    class Upper(FollowSchema):
        def transform(self, record: Record) -> Record | None:
            made = super().transform(record)
            return None if made is None else {**made, "name": made["name"].upper()}

    class Odd(Transformer):
        def transform(self, record: Record) -> Record | None:
            if record["id"] == 1:
                raise RejectedRecordError("one")
            return record if record["id"] % 2 else None

    table = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    made = Chain(Upper([Field("id", "INT"), Field("name")]), Odd(), ProtectColumns(["id"], "drop")).transform_rows(
        Rows(table)
    )
    assert (made.rows.records, made.kept, list(made.rejected)) == ([{"name": "C"}], [2], [(0, "one")])


def test_a_transformer_may_work_on_columns() -> None:
    class Renamed(Transformer):
        def transform(self, record: Record) -> Record:
            raise AssertionError("a table needs none")

        def transform_rows(self, rows: Rows) -> Transformed:
            return Transformed(Rows(rows.table.rename_columns(["number"])))

    made = Chain(Renamed(), FollowSchema([Field("number", "INT", nullable=False)])).transform_rows(
        Rows(pa.table({"id": pa.array([1, None, 3])}))
    )
    assert (made.rows.records, made.kept) == ([{"number": 1}, {"number": 3}], [0, 2])
    assert made.rejected == [(1, "column number has no value")]


def test_a_whole_is_the_same_however_arrow_holds_it() -> None:
    values = [None, "x", "x", ""]

    def place(*parts: pa.Table) -> str:
        (batch,) = whole_batches(lambda: iter([Rows(pa.concat_tables(parts))]), None, "t")
        return batch.place

    whole = pa.table({"a": values, "n": [1, 2, None, 4]})
    assert place(whole) == place(whole.slice(0, 1), whole.slice(1))
    assert place(whole) == place(whole.set_column(0, "a", whole.column(0).dictionary_encode()))
    for other in (["x", "x", ""], [None, "x", "x", None], [None, "xx", "", ""]):
        assert place(whole.slice(0, len(other)).set_column(0, "a", pa.array(other))) != place(whole)
    assert list(whole_batches(lambda: iter([Rows(whole)]), place(whole), "t")) == []


def test_rows_of_one_value_stay_together() -> None:
    parts = [pa.table({"at": [1, 1]}), pa.table({"at": [1, 2]}), pa.table({"at": [2, 3]})]
    assert [part.values("at") for part in undivided(map(Rows, parts), "at")] == [[1, 1, 1], [2, 2], [3]]
    mixed = [Rows([{"at": 1}]), Rows(pa.table({"at": [1, 2]}))]
    assert [part.values("at") for part in undivided(iter(mixed), "at")] == [[1, 1], [2]]


def test_exact_numbers_keep_their_scale() -> None:
    rows = Rows(pa.table({"a": pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(9, 2))}))
    assert rows.values("a") == ["1.50", "2.00"]


@pytest.mark.parametrize("given_rows", [[{"id": 1}, {"id": "x", "b": None}], []])
def test_records_as_a_table_are_documents(given_rows: list[Record]) -> None:
    table = Rows(given_rows).table
    assert [json.loads(text) for text in table.column("record").to_pylist()] == given_rows
