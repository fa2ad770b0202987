"""Extractors, transformers and loaders: exactly once, whatever is interrupted; nothing here starts Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

import snowmelt
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Batch,
    Chain,
    Extractor,
    FilesExtractor,
    PostgresExtractor,
    ProtectColumns,
    Record,
    Rejected,
    RejectedRecordError,
    Transformer,
)
from snowmelt.govern.erasure.identifiers import with_pseudonyms
from snowmelt.govern.pii.strategies import Strategy, hidden
from tests.extract_load.loading import run
from tests.support.postgres import empty_schema


def rows(connection: snowmelt.Connection, table: str) -> int:
    found = connection.execute(f"SHOW TABLES LIKE '{table}'")
    names = [column[0] for column in found.description or ()]
    return int(found.fetchall()[0][names.index("rows")])


class Numbered(Extractor):
    """Batches of one number; stops with an error before one of them, and fails for a moment before another."""

    def __init__(self, stop: int | None = None, stumble: int | None = None) -> None:
        self.stop, self.stumble = stop, stumble

    def extract(self, after: str | None) -> Iterator[Batch]:
        for number in range(int(after or 0) + 1, 5):
            if number == self.stop:
                raise RuntimeError("killed")
            if number == self.stumble:
                self.stumble = None
                raise SnowmeltError("000629", "57014", "for a moment", transient=True)
            yield Batch([{"id": number}], str(number), "numbers")


class RejectOdd(Transformer):
    def transform(self, record: Record) -> Record | None:
        if record["id"] % 2:
            raise RejectedRecordError("odd")
        return record


def test_what_was_interrupted_goes_on_and_again_does_nothing(connection: snowmelt.Connection) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        run(connection, Numbered(stop=3))
    assert rows(connection, "raw") == 2
    assert run(connection, Numbered(stumble=4)).rows == 2, "an error that passes is tried again"
    assert run(connection, Numbered()).rows == 0
    assert rows(connection, "raw") == 4


def test_rejected_records_are_kept_once(connection: snowmelt.Connection) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        run(connection, Numbered(stop=3), RejectOdd())
    result = run(connection, Numbered(), RejectOdd())
    assert (result.rows, result.rejected) == (1, 1)
    assert (rows(connection, "raw"), rows(connection, "letters")) == (2, 2)


def test_files_come_once_each_and_again_when_they_change(connection: snowmelt.Connection, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("id,email\n1,x\n2,\n", encoding="utf-8")
    pyarrow.parquet.write_table(pa.table({"id": [3]}), folder / "b.parquet")
    extractor = FilesExtractor(folder, "*")
    assert run(connection, extractor).rows == 3
    assert run(connection, extractor).rows == 0
    (folder / "a.csv").write_text("id,email\n1,y\n", encoding="utf-8")
    assert run(connection, extractor).rows == 1
    (folder / "c.xml").write_text("<a/>", encoding="utf-8")
    with pytest.raises(SnowmeltError, match=r"c\.xml"):
        run(connection, extractor)


def test_a_table_comes_by_its_watermark(connection: snowmelt.Connection, postgres_url: str) -> None:
    address = empty_schema(postgres_url)
    with psycopg.connect(address, autocommit=True) as source:
        source.execute("CREATE TABLE orders (id int PRIMARY KEY, amount numeric(10, 2), changed_at timestamptz)")
        source.execute("INSERT INTO orders SELECT n, n, '2024-01-01' FROM generate_series(1, 5) AS n")
        extractor = PostgresExtractor(address, "orders", key=["id"], change_column="changed_at", batch_rows=2)
        first = run(connection, extractor)
        assert (first.rows, first.batches) == (5, 3)
        assert run(connection, extractor).rows == 0
        source.execute("INSERT INTO orders VALUES (6, 6, '2024-01-01'), (7, 7, '2024-01-02')")
        source.execute("UPDATE orders SET amount = 0, changed_at = '2024-01-03' WHERE id = 1")
        assert run(connection, extractor).rows == 3
        source.execute("CREATE TABLE log (text text, at date)")
        source.execute("INSERT INTO log SELECT n, '2024-01-01'::date + n / 3 FROM generate_series(0, 6) AS n")
        unkeyed = PostgresExtractor(address, "log", change_column="at", batch_rows=2)
        assert [len(batch.records) for batch in unkeyed.extract(None)] == [3, 3, 1], "no value is divided"
        source.execute("INSERT INTO log VALUES ('x', NULL)")
        with pytest.raises(SnowmeltError, match="1 rows of log have no at"):
            list(unkeyed.extract(None))
        whole = PostgresExtractor(address, "orders", key=["id"], batch_rows=3)
        assert run(connection, whole).rows == 7
        assert run(connection, whole).rows == 0, "nothing in it is another"
        source.execute("DELETE FROM orders WHERE id = 7")
        assert run(connection, whole).rows == 6


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("drop", {"id": 1}), ("mask", {"id": 1, "email": "***"}),
     ("hash", {"id": 1, "email": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"})],
)  # fmt: skip
def test_personal_data_is_made_unreadable(strategy: str, expected: Record) -> None:
    protect = ProtectColumns(["email"], strategy)  # type: ignore[arg-type]
    assert Chain(protect).transform({"id": 1, "email": "x"}) == expected
    assert ProtectColumns(["email"], "hash").transform({"email": None}) == {"email": None}


@pytest.mark.parametrize("strategy", ["hash", "tokenise"])
def test_a_key_hides_values_as_the_account_does(strategy: str) -> None:
    """Records, letters with their reasons, and what is sent once more; another key gives other values."""
    engine = {"hash": Strategy.KEYED_HASH, "tokenise": Strategy.TOKENISE}[strategy]
    expected = hidden("a@b.org", engine, "key")
    protect = ProtectColumns(["email"], strategy, "key")  # type: ignore[arg-type]
    assert protect.transform({"id": 1, "email": "a@b.org"}) == {"id": 1, "email": expected}
    letter = protect.protected(Rejected("column email: 'a@b.org' is not a NUMBER", {"email": " a@b.org"}, "1"))
    assert "a@b" not in letter.reason + str(letter.record)
    again = ProtectColumns(["email"], strategy, "key", again=True)  # type: ignore[arg-type]
    assert again.transform({"email": expected}) == {"email": expected}
    assert again.transform({"email": "a@b.org"}) == {"email": expected}
    assert ProtectColumns(["email"], strategy, "other").transform({"email": "a@b.org"}) != {"email": expected}  # type: ignore[arg-type]
    assert expected in with_pseudonyms(["a@b.org"], "key"), "who is forgotten is found"
