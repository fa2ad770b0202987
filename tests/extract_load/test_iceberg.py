"""What the Delta destination writes is a table of Iceberg too: its readers find the rows that delta-rs finds.

PyIceberg and DuckDB read in an environment of their own, Spark in a process of its own: nothing of Snowmelt is in them.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import structlog
from deltalake import DeltaTable, write_deltalake

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.jars import ensure_jars, parse_lock
from snowmelt.extract_load import Batch, DeltaLoader, Field, LoadStrategy, Record, Whole
from snowmelt.extract_load.destinations import iceberg
from snowmelt.extract_load.destinations.delta import delta_options
from snowmelt.state.ids import new_id
from tests.extract_load.test_destinations import CutOffError, cut_off
from tests.support.iceberg_readers import IcebergReaders
from tests.support.waiting import DEADLINE

HERE = Path(__file__).parent
Rows = list[dict[str, str | None]]
APPEND, OVERWRITE, UPSERT = LoadStrategy.APPEND, LoadStrategy.OVERWRITE, LoadStrategy.UPSERT
FIELDS = [
    Field("id", "NUMBER(38,0)", nullable=False), Field("name"), Field("small", "NUMBER(8,2)"),
    Field("amount", "NUMBER(16,4)"), Field("ok", "BOOLEAN"), Field("share", "FLOAT"), Field("day", "DATE"),
    Field("at", "TIMESTAMP_NTZ"), Field("moment", "TIMESTAMP_TZ"), Field("tags", "VARIANT"), Field("a b.c"),
]  # fmt: skip


def record(chance: random.Random, number: int) -> Record:
    made: Record = {
        "id": number, "name": f"n{chance.randrange(9)}", "small": f"{chance.randrange(-99999, 99999) / 100:.2f}",
        "amount": f"{chance.randrange(10**12)}.{chance.randrange(10**4):04}", "ok": chance.random() < 0.5,
        "share": chance.random(), "day": f"{chance.randrange(1500, 2500)}-02-03",
        "at": f"2024-01-{chance.randrange(1, 29):02}T01:02:03.{chance.randrange(10**6):06}",
        "moment": f"1961-05-{chance.randrange(1, 29):02}T23:59:59.{chance.randrange(10**6):06}+05:30",
        "tags": {"a": [chance.randrange(9)]}, "a b.c": "✓",
    }  # fmt: skip
    return {name: value if name == "id" or chance.random() < 0.8 else None for name, value in made.items()}


@dataclass
class Table:
    """One table, loaded in every way there is."""

    address: str
    settings: dict[str, str] = field(default_factory=dict)
    fields: list[Field] = field(default_factory=lambda: list(FIELDS))
    loads: int = 0

    def loader(self, strategy: LoadStrategy = APPEND) -> DeltaLoader:
        return DeltaLoader(
            self.address, "orders", "flow", "run", strategy=strategy, key=["id"], fields=self.fields,
            settings=self.settings,
        )  # fmt: skip

    def load(self, records: list[Record], strategy: LoadStrategy = APPEND, cut: str | None = None) -> None:
        """Cut off before the metadata are written, or before readers are told of them."""
        self.loads += 1
        with closing(self.loader(strategy)) as loader:
            if cut == "follow":
                cut_off(loader, "_follow", 1)
            elif cut == "hint":
                cut_off(loader._iceberg._store, "put_text", 2)  # type: ignore[arg-type]
            whole = Whole(1, last=True) if strategy is OVERWRITE else None
            loader.load(Batch(records, str(self.loads), "test", whole=whole), "now")

    def run_without_news(self) -> None:
        self.loader().close()

    @property
    def place(self) -> str:
        return f"{self.address}/orders"

    def delta(self) -> DeltaTable:
        return DeltaTable(self.place, storage_options=delta_options(self.settings))

    def rows(self) -> Rows:
        return ordered(
            {name: shown(value) for name, value in row.items()} for row in self.delta().to_pyarrow_table().to_pylist()
        )


def shown(value: Any) -> str | None:
    if value is None:
        return None
    return f"{value.timestamp():.6f}" if getattr(value, "tzinfo", None) is not None else str(value)


def ordered(rows: Any) -> Rows:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


class Readers(IcebergReaders):
    def read(self, table: Table, reader: str = "pyiceberg") -> Rows:
        return ordered(self.ask({"reader": reader, "address": table.place, "settings": table.settings}))


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    with closing(Readers()) as made:
        yield made


Ways = tuple[LoadStrategy, ...]
MIXED: Ways = (APPEND, APPEND, UPSERT, UPSERT, OVERWRITE)
READ_BY_PYICEBERG: tuple[Ways, ...] = ((APPEND, APPEND, OVERWRITE), (UPSERT,))
"""Not both: delta-rs notes another type of text in files that MERGE writes, and PyIceberg can't join the two."""


def change(table: Table, chance: random.Random, ways: Ways) -> tuple[list[Record], LoadStrategy]:
    """The next load: rows to add, to put in place of others, or all of them, now and then with other columns."""
    strategy = chance.choice(ways)
    if strategy is OVERWRITE and chance.random() < 0.5:
        # Another table by the same name: fewer columns, another order, wider and other types.
        kept = [known for known in FIELDS if known.name == "id" or chance.random() < 0.8]
        chance.shuffle(kept)
        wider = {"small": "NUMBER(12,2)", "amount": "NUMBER(20,4)", "share": "VARCHAR", "ok": "NUMBER(3,0)"}
        table.fields = [
            Field(known.name, wider.get(known.name, known.type)) if chance.random() < 0.5 else known for known in kept
        ]
    elif chance.random() < 0.3:
        table.fields = [*table.fields, Field(f"extra_{table.loads}", "FLOAT")]
    types = {known.name: known.type for known in table.fields}
    records = []
    for number in [chance.randrange(30) for _ in range(chance.choice([0, 1, 5]))]:
        made = {name: value for name, value in record(chance, number).items() if name in types}
        if types.get("ok", "").startswith("NUMBER"):
            made["ok"] = 1
        records.append(made | {name: 0.5 for name in types if name.startswith("extra_") and chance.random() < 0.5})
    return records, strategy


def run_randomly(table: Table, readers: Readers, seed: int, loads: int, ways: Ways) -> None:
    chance = random.Random(seed)
    reader = "pyiceberg" if ways in READ_BY_PYICEBERG else "duckdb"
    table.load([record(chance, 1)], ways[0])
    before = table.rows()
    for _ in range(loads):
        records, strategy = change(table, chance, ways)
        try:
            table.load(records, strategy, chance.choice([None, None, "follow", "hint"]))
        except CutOffError:
            # Behind, never half: what a reader finds is one version.
            assert readers.read(table, reader) in (before, table.rows())
            table.run_without_news()
        before = table.rows()
        assert readers.read(table, reader) == before


@pytest.mark.parametrize("ways", [MIXED, *READ_BY_PYICEBERG], ids="-".join)
def test_readers_of_both_formats_find_the_same_rows(ways: Ways, tmp_path: Path, readers: Readers) -> None:
    run_randomly(Table(str(tmp_path / "a folder")), readers, 1, 8, ways)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
@pytest.mark.parametrize("ways", [MIXED, *READ_BY_PYICEBERG], ids="-".join)
def test_for_long(seed: int, ways: Ways, tmp_path: Path, readers: Readers) -> None:
    run_randomly(Table(str(tmp_path)), readers, seed, 60, ways)


@pytest.mark.slow
@pytest.mark.parametrize("ways", READ_BY_PYICEBERG, ids="-".join)
def test_in_s3(ways: Ways, readers: Readers, s3_settings: dict[str, str]) -> None:
    run_randomly(Table(f"s3://bucket/{new_id()}", s3_settings), readers, 13, 20, ways)


def examples(tmp_path: Path) -> list[Table]:
    """Appended, upserted with a column more, made anew with other columns, and empty."""
    chance = random.Random(14)
    tables = [Table(str(tmp_path / str(number))) for number in range(4)]
    for table in tables:
        table.load([record(chance, number) for number in range(20)])
        table.load([record(chance, number) for number in range(5)])
    tables[1].fields = [*FIELDS, Field("extra", "FLOAT")]
    tables[1].load([{**record(chance, number), "extra": 1.5} for number in range(15, 25)], UPSERT)
    tables[2].fields = [Field("share", "VARCHAR"), Field("id", "NUMBER(38,0)")]
    tables[2].load([{"share": "all", "id": number} for number in range(3)], OVERWRITE)
    tables[3].load([], OVERWRITE)
    return tables


def test_duckdb_finds_them_too(tmp_path: Path, readers: Readers) -> None:
    for table in examples(tmp_path):
        assert readers.read(table, "duckdb") == table.rows()


@pytest.mark.slow
def test_spark_finds_them_too(tmp_path: Path) -> None:
    tables = examples(tmp_path)
    (jar,) = ensure_jars(jars=parse_lock((HERE / "iceberg_spark.lock").read_text()))
    command = [sys.executable, HERE / "iceberg_spark.py", jar, *[table.place for table in tables]]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=DEADLINE, check=False)
    found = [line.removeprefix("ROWS ") for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    assert len(found) == len(tables), done.stderr[-3000:]
    for table, rows in zip(tables, found, strict=True):
        assert ordered(json.loads(rows)) == table.rows()


def metadata(table: Table) -> dict[str, Any]:
    folder = Path(table.place) / "metadata"
    number = (folder / "version-hint.text").read_text()
    found: dict[str, Any] = json.loads((folder / f"v{number}.metadata.json").read_text())
    return found


def ids(table: Table) -> dict[str, int]:
    return {column["name"]: column["id"] for column in metadata(table)["schemas"][0]["fields"]}


def test_a_column_keeps_its_id(tmp_path: Path) -> None:
    """For as long as it is the same column; an id that was given is never another column's."""
    table = Table(str(tmp_path), fields=[Field("id", "NUMBER(8,0)"), Field("name"), Field("ok", "BOOLEAN")])
    table.load([{"id": 1, "name": "a", "ok": True}])
    assert ids(table) == {"id": 1, "name": 2, "ok": 3}
    table.fields = [*table.fields, Field("more", "FLOAT")]
    table.load([{"id": 2, "more": 1.5}])
    assert ids(table) == {"id": 1, "name": 2, "ok": 3, "more": 4}
    kept = metadata(table)["table-uuid"]
    table.fields = [*table.fields, Field("text")]
    table.load([{"id": 2, "text": "x"}], UPSERT)
    assert ids(table) == {"id": 1, "name": 2, "ok": 3, "more": 4, "text": 5} and metadata(table)["table-uuid"] == kept
    table.fields = [Field("ok", "NUMBER(3,0)"), Field("id", "NUMBER(12,0)")]
    table.load([{"id": 3, "ok": 2}], OVERWRITE)
    assert ids(table) == {"ok": 6, "id": 1}, "wider is the same column, another type is not"
    table.fields = [Field("id", "NUMBER(12,0)"), Field("name")]
    table.load([{"id": 3, "name": "b"}], OVERWRITE)
    assert ids(table) == {"id": 1, "name": 7}
    assert metadata(table)["last-column-id"] == 7


def test_metadata_of_another_table_are_not_read(tmp_path: Path, readers: Readers) -> None:
    """A folder that was moved, or made anew where metadata of a longer history had been left."""
    table = Table(str(tmp_path / "here"))
    for number in range(3):
        table.load([record(random.Random(number), number)])
    moved = Table(str(tmp_path / "there"))
    (tmp_path / "here").rename(moved.address)
    moved.run_without_news()
    assert readers.read(moved) == moved.rows()
    for versions in (1, 1, 3):
        for path in Path(moved.place).iterdir():
            if path.name != "metadata":
                path.rename(tmp_path / new_id())
        for number in range(versions):
            moved.load([record(random.Random(number), number)])
        assert readers.read(moved) == moved.rows()
        assert len(list((Path(moved.place) / "metadata").glob("v*.json"))) == versions


def test_what_iceberg_could_not_say_is_not_said(tmp_path: Path) -> None:
    """A table that somebody else made has no metadata, and the log tells why."""
    table = Table(str(tmp_path), fields=[Field("id", "NUMBER(38,0)"), Field("name")])
    rows = pa.table({"id": pa.array([1], pa.decimal128(38, 0)), "name": ["a"]})
    write_deltalake(table.place, rows, partition_by=["name"])
    with structlog.testing.capture_logs() as told:
        table.load([{"id": 2, "name": "b"}])
    assert "it is partitioned by name" in [line.get("reason") for line in told]
    assert len(table.rows()) == 2
    assert not (Path(table.place) / "metadata" / "version-hint.text").exists()


def test_old_metadata_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: Readers) -> None:
    monkeypatch.setattr(iceberg, "_TIDY_EVERY", 5)
    monkeypatch.setattr(iceberg, "_KEPT_SECONDS", -60)
    table = Table(str(tmp_path), fields=[Field("id", "NUMBER(38,0)")])
    for number in range(11):
        table.load([{"id": number}])
    kept = sorted(path.name for path in (Path(table.place) / "metadata").glob("v*.json"))
    assert kept == ["v10.metadata.json", "v11.metadata.json"]
    assert readers.read(table) == table.rows()


def test_rows_count_though_their_metadata_could_not_be_written(tmp_path: Path, readers: Readers) -> None:
    table = Table(str(tmp_path), fields=[Field("id", "NUMBER(38,0)")])
    table.load([{"id": 1}])
    folder = Path(table.place) / "metadata"
    with closing(table.loader()) as loader:
        folder.rename(tmp_path / "aside")
        folder.write_text("in the way")
        with pytest.raises(SnowmeltError, match="Iceberg metadata") as told:
            loader.load(Batch([{"id": 2}], "2", "test"), "now")
        assert "next run" in str(told.value.hint)
        assert loader.place() == "2" and len(table.rows()) == 2
    folder.unlink()
    table.run_without_news()
    assert readers.read(table) == table.rows()
