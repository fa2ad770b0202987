"""Files made of row groups of others: what every reader finds in them is what was put there."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snowmelt.storage.append import spliced_file, statistics, write_file
from snowmelt.storage.origins import ORIGINS, born_in, with_origins
from snowmelt.storage.parquet import ROW_GROUP_ROWS, write_parquet
from snowmelt.storage.row_groups import CopiedFile, CopiedFooter, FilePart, Widened, source_of, splice

_START = datetime(2024, 1, 1, tzinfo=UTC)


def table(count: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + count)
    texts = [None if n % 7 == 0 else f"text {n % 1000}" for n in numbers]
    return pa.table({
        "k": pa.array(numbers, pa.int64()),
        "amount": pa.array([Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(12, 2)),
        "large": pa.array([Decimal(n) * 10**20 for n in numbers], pa.decimal128(38, 0)),
        "text": pa.array(texts, pa.string()),
        "day": pa.array([date(2024, 1, 1) + timedelta(n % 4000) for n in numbers], pa.date32()),
        "at": pa.array([_START + timedelta(seconds=n) for n in numbers], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(2024, 1, 1) + timedelta(seconds=n) for n in numbers], pa.timestamp("us")),
        "ratio": pa.array([n / 3 for n in numbers], pa.float64()),
        "flag": pa.array([None if n % 5 == 0 else n % 2 == 0 for n in numbers], pa.bool_()),
        "raw": pa.array([str(n).encode() for n in numbers], pa.binary()),
        "nothing": pa.array([None] * count, pa.string()),
        "document": pa.array(
            [{"metadata": b"m", "value": str(n).encode()} for n in numbers],
            pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]),
        ),
    })  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return table(4 * ROW_GROUP_ROWS + 100)


@pytest.fixture
def source(tmp_path: Path, rows: pa.Table) -> Path:
    path = tmp_path / "source.parquet"
    write_parquet(rows, path)
    return path


def as_source(path: Path, rows: pa.Table) -> CopiedFile:
    source = source_of(path, CopiedFooter.as_written(rows))
    assert source is not None
    return source


def group(rows: pa.Table, number: int) -> pa.Table:
    return rows.slice(number * ROW_GROUP_ROWS, ROW_GROUP_ROWS)


@pytest.mark.parametrize("seed", range(6))
def test_any_mixture_reads_as_what_it_was_made_of(seed: int, tmp_path: Path, source: Path, rows: pa.Table) -> None:
    chance = random.Random(seed)
    made: list[FilePart] = []
    expected: list[pa.Table] = []
    for number in range(5):
        match chance.randrange(4):
            case 0:
                part = table(chance.randrange(1, 500), chance.randrange(10**6))
                made.append(part)
                expected.append(part)
            case 1:
                part = group(rows, number).slice(chance.randrange(50), 70)
                made += [number, part]
                expected += [group(rows, number), part]
            case _:
                made.append(number)
                expected.append(group(rows, number))
    target = tmp_path / "target.parquet"
    splice(as_source(source, rows), target, made)
    whole = pa.concat_tables(expected).combine_chunks()
    found = pq.read_table(target)
    assert found.column_names == whole.column_names
    assert found.cast(whole.schema).equals(whole)
    assert pq.read_metadata(target).num_rows == whole.num_rows
    query = "SELECT count(*), sum(k), min(text), max(day), sum(amount), count(nothing) FROM "
    found_by_duckdb = duckdb.execute(f"{query} '{target}'").fetchall()
    assert found_by_duckdb == duckdb.execute(f"{query} whole").fetchall()
    # What was made so can be taken apart again.
    again = tmp_path / "again.parquet"
    splice(as_source(target, rows), again, list(range(pq.read_metadata(target).num_row_groups)))
    assert pq.read_table(again).equals(found)


def test_statistics_are_those_of_the_rows(tmp_path: Path, source: Path, rows: pa.Table) -> None:
    new = table(50, 900_000)
    path = tmp_path / "made.parquet"
    added = spliced_file([1, new, 3], as_source(source, rows), path, rows.schema)
    assert added is not None
    stated = json.loads(added["add"]["stats"])
    whole = pa.concat_tables([group(rows, 1), new, group(rows, 3)])
    expected: dict[str, Any] = json.loads(json.dumps(statistics(whole)))
    # Arrow leaves NaN out of the bounds of a row group, and so they say nothing.
    del expected["minValues"]["ratio"], expected["maxValues"]["ratio"]
    assert stated == expected


def test_bounds_are_those_that_writing_the_rows_gives(tmp_path: Path, source: Path, rows: pa.Table) -> None:
    written = write_file(rows, tmp_path / "whole.parquet")["add"]
    made = spliced_file([0, 1, 2, 3, 4], as_source(source, rows), tmp_path / "made.parquet", rows.schema)
    assert made is not None
    whole, spliced = (json.loads(one["stats"]) for one in (written, made["add"]))
    for bound in ("minValues", "maxValues"):
        whole[bound].pop("ratio")
    assert spliced == whole


def test_only_files_with_the_same_columns_are_spliced(tmp_path: Path, source: Path, rows: pa.Table) -> None:
    def can_be_spliced(path: Path, wanted: pa.Table) -> bool:
        return source_of(path, CopiedFooter.as_written(wanted)) is not None

    assert can_be_spliced(source, rows)
    assert not can_be_spliced(source, rows.drop_columns(["flag"]))
    assert not can_be_spliced(source, rows.rename_columns([f"{name}_" for name in rows.column_names]))
    retyped = rows.set_column(1, "amount", rows.column("amount").cast(pa.decimal128(14, 2)))
    assert not can_be_spliced(source, retyped)
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(rows, foreign, store_decimal_as_integer=False)
    assert not can_be_spliced(foreign, rows)


@pytest.mark.parametrize("group_rows", [ROW_GROUP_ROWS, 2 * ROW_GROUP_ROWS])
def test_row_groups_get_the_columns_that_they_lack(group_rows: int, tmp_path: Path, rows: pa.Table) -> None:
    path, target, again = (tmp_path / f"{name}.parquet" for name in ("narrow", "wide", "again"))
    write_parquet(rows, path, group_rows)
    wide = CopiedFooter.as_written(with_origins(rows, "any"))
    source = source_of(path, wide, CopiedFooter.as_written(rows))
    assert source is not None
    assert source.lacks_columns
    new = with_origins(table(50, 900_000), "elsewhere")
    born = born_in("narrow", rows.num_rows)
    splice(source, target, [Widened(1, born.slice(group_rows, group_rows)), new, Widened(0, born.slice(0, group_rows))])
    first, second = (with_origins(rows.slice(at, group_rows), "", born.slice(at, group_rows)) for at in (0, group_rows))
    whole = pa.concat_tables([second, new, first]).combine_chunks()
    whole = whole.set_column(whole.num_columns - 2, ORIGINS[0], whole.column(ORIGINS[0]).cast(pa.string()))
    found = pq.read_table(target)
    assert found.column_names == [*rows.column_names, *ORIGINS]
    assert found.cast(whole.schema).equals(whole)
    query = f"SELECT count(*), sum(k), max(text), count(DISTINCT {ORIGINS[0]}), sum({ORIGINS[1]}) FROM "
    assert duckdb.execute(f"{query} '{target}'").fetchall() == duckdb.execute(f"{query} whole").fetchall()
    sizes = [pq.read_metadata(target).row_group(number) for number in range(3)]
    assert [one.total_byte_size for one in sizes] == [
        sum(one.column(leaf).total_uncompressed_size for leaf in range(one.num_columns)) for one in sizes
    ]
    # From now on nothing is missing.
    widened = source_of(target, wide, CopiedFooter.as_written(rows))
    assert widened is not None
    assert not widened.lacks_columns
    splice(widened, again, [0, 1, 2])
    assert pq.read_table(again).equals(found)


def test_page_indexes_and_bloom_filters_of_others_stay_behind(tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array(np.arange(1000), pa.int64())})
    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    pq.write_table(rows, source, row_group_size=250, write_page_index=True, store_schema=False)
    assert pq.read_metadata(source).row_group(0).column(0).has_offset_index
    splice(as_source(source, rows), target, [3, 1])
    found = pq.read_metadata(target)
    assert not found.row_group(0).column(0).has_offset_index
    assert pq.read_table(target).column("k").to_pylist() == [*range(750, 1000), *range(250, 500)]


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.parquet"
    path.write_bytes(b"PAR1 and then something else")
    with path.open("rb") as file, pytest.raises(ValueError, match="no Parquet file"):
        CopiedFooter.of(file)
