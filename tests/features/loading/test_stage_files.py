"""PUT, GET, LIST and REMOVE."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session


@pytest.fixture
def stage(session: Session) -> str:
    session.execute("CREATE STAGE st")
    return "@st"


def rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    return session.execute(sql).rows()


def test_put_compresses_unless_told_otherwise(session: Session, stage: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,x\n")
    result = session.execute(f"PUT file://{tmp_path}/a.csv @st/in/")
    assert [column.name for column in result.columns] == [
        "source", "target", "source_size", "target_size", "source_compression", "target_compression", "status",
        "message",
    ]  # fmt: skip
    assert result.rows() == [("a.csv", "a.csv.gz", 4, 24, "NONE", "GZIP", "UPLOADED", "")]
    assert rows(session, f"PUT file://{tmp_path}/a.csv @st/in AUTO_COMPRESS = FALSE")[0][1:6] == (
        "a.csv", 4, 4, "NONE", "NONE",
    )  # fmt: skip
    assert [row[:2] for row in rows(session, "LIST @st")] == [("st/in/a.csv", 4), ("st/in/a.csv.gz", 24)]


def test_put_leaves_what_is_there_unless_told_to_overwrite(session: Session, stage: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    session.execute(f"PUT file://{tmp_path}/a.txt @st AUTO_COMPRESS = FALSE")
    (tmp_path / "a.txt").write_text("two!")
    assert rows(session, f"PUT file://{tmp_path}/a.txt @st AUTO_COMPRESS = FALSE")[0][3:7] == (
        0, "NONE", "NONE", "SKIPPED",
    )  # fmt: skip
    assert rows(session, "LIST @st")[0][1] == 3
    session.execute(f"PUT file://{tmp_path}/a.txt @st AUTO_COMPRESS = FALSE OVERWRITE = TRUE")
    assert rows(session, "LIST @st")[0][1] == 4


def test_put_takes_patterns_and_knows_compressed_files(session: Session, stage: str, tmp_path: Path) -> None:
    (tmp_path / "a1.csv").write_text("1")
    (tmp_path / "a2.csv.gz").write_bytes(gzip.compress(b"2"))
    (tmp_path / "a3 with [brackets].csv").write_text("3")
    (tmp_path / "other").mkdir()
    targets = [row[1] for row in rows(session, f"PUT 'file://{tmp_path}/a?*' @st")]
    assert targets == ["a1.csv.gz", "a2.csv.gz", "a3 with [brackets].csv.gz"]
    assert rows(session, f"PUT 'file://{tmp_path}/a3 with [brackets].csv' @st/again")[0][6] == "UPLOADED"


def test_put_of_nothing(session: Session, stage: str, tmp_path: Path) -> None:
    with pytest.raises(SnowmeltError, match="File doesn't exist") as raised:
        session.execute(f"PUT file://{tmp_path}/nosuch* @st")
    assert raised.value.code == "253006"


def test_list_says_size_digest_and_time(session: Session, stage: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x1f\x8b not really gzip")
    session.execute(f"PUT file://{tmp_path}/a.bin @st SOURCE_COMPRESSION = NONE AUTO_COMPRESS = FALSE")
    ((name, size, digest, modified),) = rows(session, "LIST @st")
    assert (name, size) == ("st/a.bin", 18)
    assert digest == hashlib.md5(b"\x1f\x8b not really gzip", usedforsecurity=False).hexdigest()
    assert modified.endswith(" GMT")


def test_a_digest_is_of_the_bytes_as_they_are(session: Session, stage: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,x\n")
    session.execute(f"PUT file://{tmp_path}/a.csv @st")
    digest = rows(session, "LIST @st")[0][2]
    session.execute(f"GET @st/a.csv.gz file://{tmp_path}")
    assert digest == hashlib.md5((tmp_path / "a.csv.gz").read_bytes(), usedforsecurity=False).hexdigest()


def test_get_brings_files_into_one_folder(session: Session, stage: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,x\n")
    session.execute(f"PUT file://{tmp_path}/a.csv @st/x/y AUTO_COMPRESS = FALSE")
    target = tmp_path / "out"
    target.mkdir()
    assert rows(session, f"GET @st/x file://{target}/") == [("x/y/a.csv", 4, "DOWNLOADED", "")]
    assert (target / "a.csv").read_text() == "1,x\n"
    session.execute(f"PUT file://{tmp_path}/a.csv @st/z AUTO_COMPRESS = FALSE")
    with pytest.raises(SnowmeltError, match="would become"):
        session.execute(f"GET @st file://{target}/")
    with pytest.raises(SnowmeltError, match="does not exist"):
        session.execute(f"GET @st file://{tmp_path}/nosuch/")


def test_remove(session: Session, stage: str, tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / name).write_text(name)
    session.execute(f"PUT file://{tmp_path}/* @st AUTO_COMPRESS = FALSE")
    assert rows(session, "REMOVE @st PATTERN = '.*/.2'") == [("st/a2", "removed")]
    # A path is the beginning of names.
    assert rows(session, "RM @st/a") == [("st/a1", "removed")]
    assert [row[0] for row in rows(session, "LS @st")] == ["st/b1"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "./x", "a\\b"])
def test_paths_stay_in_their_stage(session: Session, stage: str, tmp_path: Path, path: str) -> None:
    (tmp_path / "a").write_text("x")
    # A backslash in a SQL text is an escape of its own.
    written = path.replace("\\", "\\\\")
    for statement in (f"LIST '@st/{written}'", f"REMOVE '@st/{written}'", f"PUT file://{tmp_path}/a '@st/{written}'"):
        with pytest.raises(SnowmeltError, match="Invalid path"):
            session.execute(statement)


def test_stages_of_users_and_tables(session: Session, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    session.execute("CREATE TABLE t (a VARCHAR)")
    session.execute(f"PUT file://{tmp_path}/a @%t AUTO_COMPRESS = FALSE")
    session.execute(f"PUT file://{tmp_path}/a @~/unit_test AUTO_COMPRESS = FALSE OVERWRITE = TRUE")
    assert [row[0] for row in rows(session, "LIST @%t")] == ["a"]
    assert [row[0] for row in rows(session, "LIST @~/unit_test")] == ["unit_test/a"]
    with pytest.raises(SnowmeltError, match="does not exist"):
        session.execute("LIST @%nosuch")
    session.execute("REMOVE @~/unit_test")


def test_an_external_stage_is_a_folder_of_yours(session: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,x\n")
    session.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    session.execute(f"CREATE STAGE ext URL = 'file://{tmp_path}/in/'")
    assert [row[0] for row in rows(session, "LIST @ext")] == [f"file://{tmp_path}/in/a.csv"]
    assert rows(session, "COPY INTO t FROM @ext")[0][:4] == (f"file://{tmp_path}/in/a.csv", "LOADED", 1, 1)
    assert rows(session, f"COPY INTO t FROM 'file://{tmp_path}/in' FORCE = TRUE")[0][1] == "LOADED"
    assert rows(session, f"COPY INTO t FROM 'file://{tmp_path}/in/a.c' FORCE = TRUE")[0][1] == "LOADED"
    with pytest.raises(SnowmeltError, match="PUT to an external stage"):
        session.execute(f"PUT file://{tmp_path}/in/a.csv @ext")
    with pytest.raises(SnowmeltError, match="URL scheme 'ftp'"):
        session.execute("COPY INTO t FROM 'ftp://host/x'")
