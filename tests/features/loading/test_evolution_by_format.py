"""ENABLE_SCHEMA_EVOLUTION with files of every format: the same columns, and the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snowmelt.runtime.session import Session
from tests.features.loading.test_copy_into_table import content

RECORDS: list[dict[str, Any]] = [{"id": 1, "n": 7, "s": "x", "ok": True}, {"id": 2, "n": None, "s": None, "ok": False}]
EVOLVED = ["ID", "LEFT_OUT", "N", "OK", "S"]


def _csv(path: Path) -> None:
    path.write_text("id,n,s,ok\n1,7,x,true\n2,,,false\n")


def _json(path: Path) -> None:
    path.write_text("\n".join(map(json.dumps, RECORDS)))


def _parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(RECORDS), path)


def _avro(path: Path) -> None:
    fields = [
        {"name": "id", "type": "long"}, {"name": "n", "type": ["null", "long"]},
        {"name": "s", "type": ["null", "string"]},
        {"name": "ok", "type": "boolean"},
    ]  # fmt: skip
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, RECORDS)


FORMATS: dict[str, tuple[Callable[[Path], None], str]] = {
    "CSV": (_csv, " PARSE_HEADER = TRUE ERROR_ON_COLUMN_COUNT_MISMATCH = FALSE"),
    "JSON": (_json, ""),
    "PARQUET": (_parquet, ""),
    "AVRO": (_avro, ""),
}


def names(session: Session) -> list[str]:
    return sorted(str(row[0]) for row in session.execute("DESCRIBE TABLE t").rows())


@pytest.mark.parametrize("format_", FORMATS)
def test_files_of_every_format_bring_their_columns(session: Session, tmp_path: Path, format_: str) -> None:
    write, options = FORMATS[format_]
    write(tmp_path / "in")
    copy = (
        f"COPY INTO t FROM 'file://{tmp_path}/' FILE_FORMAT = (TYPE = {format_}{options}) "
        "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
    )
    session.execute("CREATE TABLE t (id INT, left_out VARCHAR NOT NULL) ENABLE_SCHEMA_EVOLUTION = TRUE")
    session.execute(copy)
    assert names(session) == EVOLVED
    assert content(session) == [(1, None, 7, "x", True), (2, None, None, None, False)]
    session.execute(copy)
    assert len(content(session)) == 2, "files that were loaded are not loaded again"
    session.execute("CREATE OR REPLACE TABLE t (id INT)")
    session.execute(copy)
    assert (names(session), content(session)) == (["ID"], [(1,), (2,)]), "the table does not say that it evolves"
