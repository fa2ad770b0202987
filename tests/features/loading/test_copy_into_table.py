"""COPY INTO a table: damaged files, many files, large files, and that nothing is half done."""

from __future__ import annotations

import bz2
import gzip
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import batches, sink
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition


def rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    return session.execute(sql).rows()


def content(session: Session, table: str = "T") -> list[tuple[Any, ...]]:
    """What others see, read without Spark."""
    account = session.account
    with account.state.read() as state:
        name = f"{session.database}.{session.schema}.{table}"
        found = next(item for item in state.catalog.objects([ObjectKind.TABLE]) if str(item.name) == name)
        version = state.versions.visible(found.id)
    assert version is not None and isinstance(found.definition, TableDefinition)
    data = account.store.read(found.definition.location, version.version)
    assert data.num_rows == version.rows
    return sorted(tuple(row.values()) for row in data.to_pylist())


def data_files(session: Session, table: str = "T") -> tuple[set[str], set[str]]:
    """The Parquet files in the table's folder, and those that its visible version names."""
    account = session.account
    with account.state.read() as state:
        found = next(
            item for item in state.catalog.objects([ObjectKind.TABLE], session.database) if item.name.name == table
        )
        version = state.versions.visible(found.id)
    assert version is not None and isinstance(found.definition, TableDefinition)
    folder = account.store.root.path(found.definition.location)
    named = {Path(file.uri).name for file in account.store.files(found.definition.location, version.version).files}
    return {path.name for path in folder.glob("*.parquet")}, named


@pytest.fixture
def folder(session: Session, tmp_path: Path) -> Path:
    session.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    return tmp_path


def copy(folder: Path, options: str = "") -> str:
    return f"COPY INTO t FROM 'file://{folder}/' {options}"


# -- files that are not what they should be ---------------------------------------------------------------------------

GZIPPED = gzip.compress(b"1,x\n" * 10_000)
DAMAGED = {
    "truncated.csv.gz": (GZIPPED[:-20], "100076"),
    "flipped.csv.gz": (GZIPPED[:40] + bytes(byte ^ 0xFF for byte in GZIPPED[40:60]) + GZIPPED[60:], "100076"),
    "garbage_behind.csv.gz": (GZIPPED + b"\x00garbage", "100076"),
    "truncated.csv.bz2": (bz2.compress(b"1,x\n" * 10_000)[:-10], "100076"),
    "truncated.csv.deflate": (zlib.compress(b"1,x\n" * 10_000)[:-10], "100076"),
    "noise.csv": (bytes(range(256)) * 20, "100080"),
    "text.csv.deflate": (b"1,x\n", "100076"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_and_leaves_nothing(session: Session, folder: Path, name: str) -> None:
    data, code = DAMAGED[name]
    (folder / "a_good.csv").write_text("1,x\n")
    (folder / name).write_bytes(data)
    with pytest.raises(SnowmeltError) as raised:
        session.execute(copy(folder))
    assert raised.value.code == code
    assert name in str(raised.value)
    assert content(session) == []
    found = {row[0].rsplit("/", 1)[1]: row for row in rows(session, copy(folder, "ON_ERROR = SKIP_FILE"))}
    assert found["a_good.csv"][1] == "LOADED"
    assert found[name][1] == "LOAD_FAILED" and found[name][3] == 0
    assert content(session) == [(1, "x")]


def test_a_damaged_compressed_file_is_not_half_loaded_by_continue(session: Session, folder: Path) -> None:
    (folder / "truncated.csv.gz").write_bytes(DAMAGED["truncated.csv.gz"][0])
    found = rows(session, copy(folder, "ON_ERROR = CONTINUE"))[0]
    assert (found[1], found[3], found[5]) == ("LOAD_FAILED", 0, 1)
    assert content(session) == []


@pytest.mark.parametrize(
    ("format_", "data"),
    [("PARQUET", b"PAR1 but no more"), ("PARQUET", b""), ("AVRO", b"Obj\x01 but no more"), ("AVRO", b"")],
)
def test_files_of_another_type(session: Session, folder: Path, format_: str, data: bytes) -> None:
    (folder / "x").write_bytes(data)
    session.execute("CREATE TABLE v (v VARIANT)")
    with pytest.raises(SnowmeltError, match="Data is corrupted") as raised:
        session.execute(f"COPY INTO v FROM 'file://{folder}/' FILE_FORMAT = (TYPE = {format_})")
    assert raised.value.code == "100076"


def test_a_truncated_parquet_file(session: Session, folder: Path) -> None:
    pq.write_table(pa.table({"A": list(range(1000)), "B": ["x"] * 1000}), folder / "p.parquet")
    whole = (folder / "p.parquet").read_bytes()
    (folder / "p.parquet").write_bytes(whole[:100] + whole[150:])
    with pytest.raises(SnowmeltError) as raised:
        session.execute(
            copy(
                folder,
                "FILE_FORMAT = (TYPE = PARQUET) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE ON_ERROR = ABORT_STATEMENT",
            )
        )
    assert raised.value.code == "100076"
    assert content(session) == []


@pytest.mark.parametrize(
    ("encoding", "option"),
    [
        ("utf-16", "UTF16"),
        ("utf-16-le", "UTF16LE"),
        ("latin-1", "ISO88591"),
        ("cp1252", "WINDOWS1252"),
        ("utf-8-sig", "UTF8"),
    ],
)
def test_encodings(session: Session, folder: Path, encoding: str, option: str) -> None:
    (folder / "a.csv").write_bytes("1,äöü\n2,ß\n".encode(encoding))
    session.execute(copy(folder, f"FILE_FORMAT = (TYPE = CSV ENCODING = '{option}')"))
    assert content(session) == [(1, "äöü"), (2, "ß")]


def test_the_wrong_encoding(session: Session, folder: Path) -> None:
    (folder / "a.csv").write_bytes("1,x\n2,ä\n".encode("latin-1"))
    with pytest.raises(SnowmeltError, match="Invalid UTF8 detected in string '0xe4'") as raised:
        session.execute(copy(folder))
    assert raised.value.code == "100144"
    assert "line 2, character 3" in str(raised.value)
    found = rows(session, copy(folder, "ON_ERROR = CONTINUE"))[0]
    assert found[1:6] == ("PARTIALLY_LOADED", 2, 1, 2, 1)
    session.execute("TRUNCATE TABLE t")
    session.execute(copy(folder, "FILE_FORMAT = (TYPE = CSV REPLACE_INVALID_CHARACTERS = TRUE)"))
    assert content(session) == [(1, "x"), (2, "\ufffd")]
    (folder / "b.csv").write_bytes(b"\xff\xfe1\x00,\x00x")
    with pytest.raises(SnowmeltError) as raised:
        session.execute(copy(folder, "FILE_FORMAT = (TYPE = CSV ENCODING = 'UTF16') PATTERN = '.*b.csv'"))
    assert raised.value.code == "100144"


def test_an_unknown_encoding_is_named(session: Session, folder: Path) -> None:
    with pytest.raises(SnowmeltError, match=r"invalid value \[KLINGON\] for parameter 'ENCODING'"):
        session.execute(copy(folder, "FILE_FORMAT = (TYPE = CSV ENCODING = 'klingon')"))


def test_a_file_that_vanishes(session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.csv").write_text("1,x\n")
    (folder / "b.csv").symlink_to(folder / "nowhere")
    session.execute(copy(folder))
    assert content(session) == [(1, "x")]


# -- many files, large files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flush", [1, 128 << 20])
@pytest.mark.parametrize("target", [1, 16 << 20])
@pytest.mark.parametrize(
    ("on_error", "expected"),
    [
        ("CONTINUE", {"1", "2", "3a", "3c", "4"}),
        ("SKIP_FILE", {"1", "2", "4"}),
        ("SKIP_FILE_2", {"1", "2", "3a", "3c", "4"}),
        ("'SKIP_FILE_50%'", {"1", "2", "4"}),
        ("ABORT_STATEMENT", set[str]()),
    ],
)
def test_an_error_in_the_third_file(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch, on_error: str, expected: set[str], target: int,
    flush: int,
) -> None:  # fmt: skip
    """Whether rows are kept in memory or written to disk before it is known what becomes of their file."""
    monkeypatch.setattr(batches, "TARGET_BYTES", target)
    monkeypatch.setattr(sink, "FLUSH_BYTES", flush)
    for name, text in (("1", "1,1\n"), ("2", "2,2\n"), ("3", "3,3a\nbad,3b\n3,3c\n"), ("4", "4,4\n")):
        (folder / f"{name}.csv").write_text(text)
    if on_error == "ABORT_STATEMENT":
        with pytest.raises(SnowmeltError, match="Numeric value 'bad' is not recognized"):
            session.execute(copy(folder))
        with session.account.state.read() as state:
            assert not [
                load
                for item in state.catalog.objects([ObjectKind.TABLE], session.database)
                for load in state.loads.history(item.id)
            ]
    else:
        found = rows(session, copy(folder, f"ON_ERROR = {on_error}"))
        assert [row[1] for row in found] == [
            "LOADED", "LOADED", "PARTIALLY_LOADED" if "3a" in expected else "LOAD_FAILED", "LOADED",
        ]  # fmt: skip
        assert found[2][6:9] == ("Numeric value 'bad' is not recognized", 2, 1)
    assert {row[1] for row in content(session)} == expected
    present, named = data_files(session)
    assert present == named, "files that no version needs were left behind"


def test_a_thousand_small_files(session: Session, folder: Path) -> None:
    for number in range(1000):
        (folder / f"{number}.csv").write_text(f"{number},x\n")
    assert len(rows(session, copy(folder))) == 1000
    assert len(content(session)) == 1000
    assert len(data_files(session)[1]) == 1
    assert rows(session, copy(folder)) == [("Copy executed with 0 files processed.",)]


def test_a_file_larger_than_a_batch(session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "TARGET_BYTES", 1 << 20)
    monkeypatch.setattr(sink, "FLUSH_BYTES", 1 << 20)
    with (folder / "big.csv").open("w") as file:
        file.writelines(f'{number},"text, {number}"\n' for number in range(300_000))
    session.execute(copy(folder, "FILE_FORMAT = (TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"')"))
    found = content(session)
    assert len(found) == 300_000
    assert found[123_456] == (123_456, "text, 123456")
    assert len(data_files(session)[1]) > 3


def test_line_numbers_far_into_a_file(session: Session, folder: Path) -> None:
    lines = [f'{number},"two\nlines"' for number in range(100_000)]
    lines[90_000] = 'oops,"two\nlines"'
    (folder / "big.csv").write_text("\n".join(lines) + "\n")
    options = "FILE_FORMAT = (TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"')"
    with pytest.raises(SnowmeltError, match=r"line 180001, character 1\n  Row 90001, column \"T\"\[\"A\":1\]"):
        session.execute(copy(folder, options))
    found = rows(session, copy(folder, f"{options} ON_ERROR = CONTINUE"))[0]
    assert found[1:6] == ("PARTIALLY_LOADED", 100_000, 99_999, 100_000, 1)
    assert found[7] == 180_001


# -- the load history -------------------------------------------------------------------------------------------------


def test_a_touched_file_is_not_loaded_again(session: Session, folder: Path) -> None:
    path = folder / "a.csv"
    path.write_text("1,x\n")
    session.execute(copy(folder))
    path.touch()
    assert rows(session, copy(folder)) == [("Copy executed with 0 files processed.",)]
    path.write_text("2,y\n")
    session.execute(copy(folder))
    assert content(session) == [(1, "x"), (2, "y")]


def test_a_stage_that_was_renamed_or_replaced(session: Session, folder: Path) -> None:
    (folder / "a.csv").write_text("1,x\n")
    session.execute("CREATE STAGE st")
    session.execute(f"PUT file://{folder}/a.csv @st")
    session.execute("COPY INTO t FROM @st")
    session.execute("ALTER STAGE st RENAME TO st2")
    assert rows(session, "COPY INTO t FROM @st2") == [("Copy executed with 0 files processed.",)]
    session.execute("CREATE OR REPLACE STAGE st2")
    session.execute(f"PUT file://{folder}/a.csv @st2")
    assert rows(session, "COPY INTO t FROM @st2")[0][1] == "LOADED"


def test_two_sessions_do_not_load_a_file_twice(session: Session, folder: Path) -> None:
    (folder / "a.csv").write_text("1,x\n")
    other = session.account.session(database=session.database)
    try:
        session.execute("BEGIN")
        session.execute(copy(folder))
        other.execute("ALTER SESSION SET LOCK_TIMEOUT = 0")
        with pytest.raises(SnowmeltError, match="lock"):
            other.execute(copy(folder))
        session.execute("COMMIT")
        assert rows(other, copy(folder)) == [("Copy executed with 0 files processed.",)]
    finally:
        other.close()
    assert content(session) == [(1, "x")]


def test_rows_with_defaults_and_numbers(session: Session, folder: Path) -> None:
    (folder / "a.csv").write_text("1,x\n2,y\n")
    session.execute("CREATE SEQUENCE seq START = 100")
    session.execute(
        "CREATE TABLE d (id INTEGER IDENTITY(1, 2), s INTEGER DEFAULT seq.NEXTVAL, at TIMESTAMP_LTZ DEFAULT "
        "CURRENT_TIMESTAMP(), u VARCHAR DEFAULT UUID_STRING(), k NUMBER(10, 2) DEFAULT 7, a INTEGER, b VARCHAR)"
    )
    session.execute(f"COPY INTO d (a, b) FROM 'file://{folder}/'")
    found = content(session, "D")
    assert [(row[0], row[1], str(row[4]), row[5], row[6]) for row in found] == [
        (1, 100, "7.00", 1, "x"), (3, 101, "7.00", 2, "y"),
    ]  # fmt: skip
    assert found[0][2] == found[1][2] and found[0][2] is not None
    assert found[0][3] != found[1][3]


def test_check_constraints(session: Session, folder: Path) -> None:
    (folder / "a.csv").write_text("1,x\n-2,y\n3,z\n")
    session.execute("CREATE TABLE c (a INTEGER, b VARCHAR, CONSTRAINT positive CHECK (a > 0))")
    with pytest.raises(SnowmeltError, match="CHECK constraint POSITIVE"):
        session.execute(f"COPY INTO c FROM 'file://{folder}/'")
    found = rows(session, f"COPY INTO c FROM 'file://{folder}/' ON_ERROR = CONTINUE")[0]
    assert found[1:6] == ("PARTIALLY_LOADED", 3, 2, 3, 1)
    assert [row[0] for row in content(session, "C")] == [1, 3]
