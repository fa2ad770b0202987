"""What is unloaded and loaded again is what was there."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition
from snowmelt.storage.variant import decode

COLUMNS = (
    "i INTEGER, n NUMBER(20, 5), f FLOAT, s VARCHAR, b BOOLEAN, d DATE, t TIME, ts TIMESTAMP_NTZ, x BINARY, v VARIANT"
)
NAMES = ("I", "N", "F", "S", "B", "D", "T", "TS", "X", "V")
ARROW = (
    pa.int64(), pa.decimal128(20, 5), pa.float64(), pa.string(), pa.bool_(), pa.date32(), pa.time64("us"),
    pa.timestamp("us"), pa.binary(), pa.string(),
)  # fmt: skip

TEXT = st.text(
    st.sampled_from("aZ09 ,;|\"'\\\n\t{}[]/@\u00e4\u4e2d\U0001f600N") | st.characters(exclude_categories=["Cs", "Cc"]),
    max_size=12,
)
DOCUMENTS = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
ROW = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.decimals(-(10**14), 10**14, places=5),
    # Text has no negative zero.
    st.none() | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
    st.none() | TEXT,
    st.none() | st.booleans(),
    st.none() | st.dates(date(1, 1, 1), date(9999, 12, 31)),
    st.none() | st.times().map(lambda moment: moment.replace(fold=0)),
    st.none() | st.datetimes(datetime(1600, 1, 1), datetime(9999, 12, 31)).map(lambda moment: moment.replace(fold=0)),
    st.none() | st.binary(max_size=8),
    st.none() | DOCUMENTS,
)
TABLES = st.lists(ROW, min_size=1, max_size=40)
EXACT = "TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6' TIME_FORMAT = 'HH24:MI:SS.FF6'"
CSV = {
    "quoted": f"FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ('~null~') {EXACT}",
    "quoted and escaped": f"FIELD_OPTIONALLY_ENCLOSED_BY = '''' ESCAPE = '\\\\' NULL_IF = ('~null~') {EXACT}",
    "escaped": f"FIELD_DELIMITER = '|' EMPTY_FIELD_AS_NULL = FALSE NULL_IF = ('~null~') COMPRESSION = ZSTD {EXACT}",
    "long delimiters": "FIELD_DELIMITER = '||' RECORD_DELIMITER = '@@\\n' FIELD_OPTIONALLY_ENCLOSED_BY = '\"' "
    f"NULL_IF = ('~null~') COMPRESSION = BZ2 {EXACT}",
    "other formats": "FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ('~null~') BINARY_FORMAT = BASE64 "
    f"DATE_FORMAT = 'DD.MM.YYYY' {EXACT}",
}


def load(session: Session, folder: Path, rows: list[tuple[Any, ...]]) -> None:
    """A table with these rows, by way of a Parquet file."""
    documents = [None if row[-1] is None else json.dumps(row[-1]) for row in rows]
    columns = [pa.array([row[index] for row in rows], type_) for index, type_ in enumerate(ARROW[:-1])]
    pq.write_table(pa.table([*columns, pa.array(documents, pa.string())], names=NAMES), folder / "source.parquet")
    session.execute(f"CREATE OR REPLACE TABLE source ({COLUMNS})")
    session.execute(f"CREATE OR REPLACE TABLE plain ({COLUMNS.replace('v VARIANT', 'v VARCHAR')})")
    options = "FILE_FORMAT = (TYPE = PARQUET BINARY_AS_TEXT = FALSE) MATCH_BY_COLUMN_NAME = CASE_SENSITIVE"
    session.execute(f"COPY INTO plain FROM 'file://{folder}/source.parquet' {options} FORCE = TRUE")
    session.execute("INSERT INTO source SELECT i, n, f, s, b, d, t, ts, x, PARSE_JSON(v) FROM plain")
    session.execute(f"CREATE OR REPLACE TABLE target ({COLUMNS})")
    session.execute("CREATE OR REPLACE STAGE st")


def content(session: Session, name: str) -> list[str]:
    """The rows of a table, read without Spark, in an order of their own."""
    account = session.account
    with account.state.read() as state:
        found = next(
            item for item in state.catalog.objects([ObjectKind.TABLE], session.database) if item.name.name == name
        )
        version = state.versions.visible(found.id)
    assert version is not None and isinstance(found.definition, TableDefinition)
    data = account.store.read(found.definition.location, version.version)
    return sorted(repr([_value(value) for value in row.values()]) for row in data.to_pylist())


def _value(value: Any) -> Any:
    return _sorted(decode(value["metadata"], value["value"])) if isinstance(value, dict) else value


def _sorted(document: Any) -> Any:
    """A document with the keys of its objects in order."""
    if isinstance(document, dict):
        return {key: _sorted(document[key]) for key in sorted(document)}
    return [_sorted(item) for item in document] if isinstance(document, list) else document


def expected(rows: list[tuple[Any, ...]]) -> list[str]:
    def shown(value: Any) -> Any:
        match value:
            case time():
                text = value.isoformat(timespec="microseconds" if value.microsecond else "seconds")
                return text.rstrip("0") if value.microsecond else text
            case Decimal():
                return value.quantize(Decimal("0.00001"))
            case _:
                return value

    return sorted(repr([*(shown(value) for value in row[:-1]), _sorted(row[-1])]) for row in rows)


def differences(found: list[str], wanted: list[str]) -> list[tuple[str | None, str | None]]:
    """The rows that differ, a few of them: the whole tables would hide them."""
    return [pair for pair in zip_longest(found, wanted) if pair[0] != pair[1]][:3]


# Every example is a handful of Spark jobs: a failing one is small enough as it is.
QUICK = settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


@pytest.mark.parametrize("options", CSV.values(), ids=CSV)
@QUICK
@given(rows=TABLES)
def test_csv(session: Session, tmp_path: Path, options: str, rows: list[tuple[Any, ...]]) -> None:
    load(session, tmp_path, rows)
    assert differences(content(session, "SOURCE"), expected(rows)) == []
    assert session.execute(f"COPY INTO @st/x/ FROM source FILE_FORMAT = (TYPE = CSV {options})").rows()[0][0] == len(
        rows
    )
    found = session.execute(f"COPY INTO target FROM @st/x/ FILE_FORMAT = (TYPE = CSV {options})").rows()
    assert [row[1] for row in found] == ["LOADED"]
    assert differences(content(session, "TARGET"), content(session, "SOURCE")) == []


@QUICK
@given(rows=TABLES)
def test_csv_by_header(session: Session, tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    load(session, tmp_path, rows)
    options = f"FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ('~null~') {EXACT}"
    session.execute(
        "COPY INTO @st/x/ FROM (SELECT v, x, ts, t, d, b, s, f, n, i FROM source) "
        f"FILE_FORMAT = (TYPE = CSV {options}) HEADER = TRUE"
    )
    session.execute(
        f"COPY INTO target FROM @st/x/ FILE_FORMAT = (TYPE = CSV PARSE_HEADER = TRUE {options}) "
        "MATCH_BY_COLUMN_NAME = CASE_SENSITIVE"
    )
    assert differences(content(session, "TARGET"), content(session, "SOURCE")) == []


@QUICK
@given(rows=TABLES)
def test_json(session: Session, tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    load(session, tmp_path, rows)
    pairs = ", ".join(f"'{name}', {name}" for name in ("I", "N", "F", "S", "B", "D", "V"))
    stamps = (
        "'T', TO_VARCHAR(t, 'HH24:MI:SS.FF6'), 'TS', TO_VARCHAR(ts, 'YYYY-MM-DD HH24:MI:SS.FF6'), 'X', TO_VARCHAR(x)"
    )
    session.execute(
        f"COPY INTO @st/x/ FROM (SELECT OBJECT_CONSTRUCT({pairs}, {stamps}) FROM source) FILE_FORMAT = (TYPE = JSON)"
    )
    session.execute("COPY INTO target FROM @st/x/ FILE_FORMAT = (TYPE = JSON) MATCH_BY_COLUMN_NAME = CASE_SENSITIVE")
    assert differences(content(session, "TARGET"), content(session, "SOURCE")) == []


@QUICK
@given(rows=TABLES)
def test_parquet(session: Session, tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    load(session, tmp_path, rows)
    session.execute("COPY INTO @st/x/ FROM source FILE_FORMAT = (TYPE = PARQUET) HEADER = TRUE")
    options = "FILE_FORMAT = (TYPE = PARQUET BINARY_AS_TEXT = FALSE)"
    session.execute(f"CREATE OR REPLACE TABLE text ({COLUMNS.replace('v VARIANT', 'v VARCHAR')})")
    session.execute(f"COPY INTO text FROM @st/x/ {options} MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE")
    session.execute("INSERT INTO target SELECT i, n, f, s, b, d, t, ts, x, PARSE_JSON(v) FROM text")
    assert differences(content(session, "TARGET"), content(session, "SOURCE")) == []


# -- files ----------------------------------------------------------------------------------------------------------


def test_large_results_go_through_files_that_spark_writes(tmp_path: Path) -> None:
    """Nothing is held in memory: the rows come from Spark's files in their order, and are split by size."""
    account = open_account(
        tmp_path / "account", settings=Settings(spark={"spark.master": "local[2]"}, small_query_bytes=0)
    )
    with account:
        session = account.session()
        session.execute(
            "CREATE TABLE t AS SELECT SEQ4() AS a, 'row ' || a AS b FROM TABLE(GENERATOR(ROWCOUNT => 50000))"
        )
        session.execute("CREATE STAGE st")
        result = session.execute(
            "COPY INTO @st/x/ FROM (SELECT * FROM t ORDER BY a) FILE_FORMAT = (TYPE = CSV COMPRESSION = NONE) "
            "MAX_FILE_SIZE = 200000 DETAILED_OUTPUT = TRUE"
        ).rows()
        assert len(result) > 2
        assert sum(row[2] for row in result) == 50_000
        target = tmp_path / "out"
        target.mkdir()
        session.execute(f"GET @st/x/ file://{target}")
        names = sorted(target.iterdir(), key=lambda path: int(path.stem.rsplit("_", 1)[1]))
        lines = [line for path in names for line in path.read_text().splitlines()]
        assert lines == [f"{number},row {number}" for number in range(50_000)]
        assert not list((tmp_path / "account" / "unload").glob("*"))


def test_a_failed_unload_leaves_no_files(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE STAGE st")
    with pytest.raises(Exception, match="Division by zero"):
        session.execute("COPY INTO @st/x/ FROM (SELECT 1 / (column1 - 2) FROM VALUES (1), (2))")
    with pytest.raises(Exception, match="exceeded for unload single file mode"):
        session.execute("COPY INTO @st/x FROM (SELECT column1 FROM VALUES (1), (2)) SINGLE = TRUE MAX_FILE_SIZE = 1")
    assert session.execute("LIST @st").rows() == []
    root = session.account.data_dir / "stages"
    assert not list(root.rglob(".snowmelt-*"))


def test_unload_to_a_folder_of_yours(session: Session, tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder"
    session.execute(
        f"COPY INTO 'file://{target}/' FROM (SELECT column1, column2 FROM VALUES (1, 'x'), (2, 'y')) "
        "FILE_FORMAT = (TYPE = CSV COMPRESSION = NONE) HEADER = TRUE"
    )
    assert (target / "data_0_0_0.csv").read_text() == "COLUMN1,COLUMN2\n1,x\n2,y\n"
    session.execute(f"COPY INTO 'file://{target}/p' FROM (SELECT 1 AS a) FILE_FORMAT = (TYPE = PARQUET)")
    assert pq.read_table(target / "p_0_0_0.snappy.parquet").column_names == ["_COL_0"]
