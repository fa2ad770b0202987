"""Destinations: rows and place are one, whatever is cut off; a reader never sees half of anything."""

from __future__ import annotations

import csv
import datetime as dt
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from psycopg.rows import dict_row

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Batch,
    DeltaLoader,
    Extractor,
    Field,
    FilesLoader,
    Flow,
    FlowResult,
    Loader,
    LoadStrategy,
    PostgresLoader,
    Record,
    SchemaDriftError,
    endpoint_of,
    make_loader,
    run_flow,
)
from snowmelt.extract_load.sources.ordering import changed_batches, parts, whole_batches
from snowmelt.extract_load.stores.opening import open_store
from snowmelt.state.ids import new_id
from tests.support.postgres import empty_schema

FIELDS = [
    Field("id", "NUMBER(10,0)", nullable=False), Field("name"), Field("amount", "NUMBER(12,2)"), Field("ok", "BOOLEAN"),
    Field("at", "TIMESTAMP_NTZ"), Field("tags", "VARIANT"),
]  # fmt: skip
MODES = ("append", "upsert", "overwrite", "merge")


def order(number: int, **changes: object) -> Record:
    made = {"id": number, "name": f"n{number}", "amount": "1.50", "ok": True, "at": f"2024-01-{number:02}T00:00:00"}
    return {**made, "tags": ["a", "b"], **changes}


class Orders(Extractor):
    """What is new by `at`, or everything, in batches of two."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.orders: dict[int, Record] = {}

    def put(self, *records: Record) -> None:
        self.orders |= {record["id"]: record for record in records}

    def extract(self, after: str | None) -> Iterator[Batch]:
        found = list(self.orders.values())
        if self.whole:
            return whole_batches(lambda: parts(found, 2), after, "orders", ["id"])
        return changed_batches(found, after, "orders", key=["id"], change="at", size=2)


class Target(ABC):
    strategies: tuple[str, ...] = ("append", "overwrite")

    @abstractmethod
    def loader(self, strategy: str) -> Loader: ...

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]: ...

    commit: str
    """The method that makes the rows count: what is cut off before it must count for nothing."""


class PostgresTarget(Target):
    strategies = MODES
    commit = "_write"

    def __init__(self, url: str) -> None:
        self.address = empty_schema(url)

    def loader(self, strategy: str) -> Loader:
        how = LoadStrategy(strategy)
        return PostgresLoader(self.address, "orders", "flow", "run", strategy=how, key=["id"], fields=FIELDS)

    def rows(self) -> list[dict[str, Any]]:
        with psycopg.connect(self.address, row_factory=dict_row) as connection:
            return connection.execute("SELECT * FROM orders").fetchall()


class FilesTarget(Target):
    commit = "_commit"

    def __init__(self, address: str, settings: dict[str, str], file_format: str) -> None:
        self.address, self.settings, self.file_format = address, settings, file_format

    def loader(self, strategy: str) -> Loader:
        entry = {"kind": self.file_format, "address": self.address}
        endpoint = endpoint_of("x", entry).model_copy(
            update={"options": endpoint_of("x", {**entry, **_named(self.settings)}, self.settings).options}
        )
        return make_loader(
            endpoint, "orders", "flow", "run", strategy=LoadStrategy(strategy), key=["id"], fields=FIELDS
        )

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        with closing(open_store(self.address, self.settings)) as store:
            for file in store.files(f"orders/*.{self.file_format}"):
                with store.local(file.name) as path:
                    found += self._read(path)
        return found

    def _read(self, path: Path) -> list[dict[str, Any]]:
        if self.file_format == "parquet":
            table: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
            return table
        with path.open(newline="", encoding="utf-8") as opened:
            return list(csv.DictReader(opened))


class DeltaTarget(FilesTarget):
    strategies = ("append", "overwrite", "upsert")
    commit = "_commit"

    def rows(self) -> list[dict[str, Any]]:
        options = {
            "AWS_ENDPOINT_URL": self.settings["endpoint"], "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "s", "AWS_ALLOW_HTTP": "true",
        } if self.settings else None  # fmt: skip
        found: list[dict[str, Any]] = (
            DeltaTable(f"{self.address}/orders", storage_options=options).to_pyarrow_table().to_pylist()
        )
        return found


def _named(settings: dict[str, str]) -> dict[str, str]:
    return {name: f"${{{name}}}" for name in settings}


QUICK = ("parquet", "delta")
SLOW = ("csv", "postgres", "parquet-s3", "csv-sftp", "delta-s3", "parquet-gcs")


def make_target(name: str, request: pytest.FixtureRequest, folder: Path) -> Target:
    kind, _, where = name.partition("-")
    if kind == "postgres":
        return PostgresTarget(request.getfixturevalue("postgres_url"))
    address, settings = str(folder / "target"), {}
    match where:
        case "s3" | "gcs":
            scheme = {"s3": "s3", "gcs": "gs"}[where]
            address, settings = f"{scheme}://bucket/{new_id()}", request.getfixturevalue(f"{where}_settings")
        case "sftp":
            server = request.getfixturevalue("sftp_server")
            address, settings = f"{server.address}/{new_id()}", server.settings
    if kind == "delta":
        return DeltaTarget(address, settings, kind)
    return FilesTarget(address, settings, kind)


@pytest.fixture(params=[*QUICK, *[pytest.param(name, marks=pytest.mark.slow) for name in SLOW]])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return make_target(request.param, request, tmp_path)


def move(extractor: Extractor, loader: Loader) -> FlowResult:
    with closing(loader):
        return run_flow(Flow("flow", extractor, loader, attempts=1))


def ids(target: Target) -> list[int]:
    return sorted(int(row["id"]) for row in target.rows())


class CutOffError(Exception):
    """As if the process had been killed here."""


def cut_off(loader: Loader, method: str, call: int) -> None:
    """Ends the loader right before its nth call of the method."""
    real, calls = getattr(loader, method), [0]

    def cut(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise CutOffError
        return real(*arguments)

    setattr(loader, method, cut)


@pytest.mark.parametrize("strategy", ["append", "upsert"])
def test_what_is_new_is_added_once(strategy: str, target: Target) -> None:
    if strategy not in target.strategies:
        with pytest.raises(SnowmeltError, match=f"can't be loaded by {strategy}"):
            target.loader(strategy)
        return
    source = Orders(whole=False)
    source.put(*[order(number) for number in range(1, 6)])
    assert move(source, target.loader(strategy)).rows == 5
    assert move(source, target.loader(strategy)).batches == 0
    source.put(order(6), order(2, name="changed", at="2024-02-01T00:00:00"))
    loader = target.loader(strategy)
    cut_off(loader, target.commit, 1)
    with pytest.raises(CutOffError):
        move(source, loader)
    source.put(order(7))
    move(source, target.loader(strategy))
    assert ids(target) == ([1, 2, 3, 4, 5, 6, 7] if strategy == "upsert" else [1, 2, 2, 3, 4, 5, 6, 7])
    changed = [row for row in target.rows() if int(row["id"]) == 2 and row["name"] == "changed"]
    assert len(changed) == 1 and str(changed[0]["amount"]) == "1.50"


@pytest.mark.parametrize("strategy", ["overwrite", "merge"])
def test_a_whole_replaces_what_there_was(strategy: str, target: Target) -> None:
    if strategy not in target.strategies:
        return
    source = Orders(whole=True)
    source.put(*[order(number) for number in range(1, 6)])
    assert move(source, target.loader(strategy)).batches == 3
    assert ids(target) == [1, 2, 3, 4, 5]
    assert move(source, target.loader(strategy)).batches == 0
    del source.orders[1]
    source.put(order(2, name="changed"), order(6))
    loader = target.loader(strategy)
    cut_off(loader, "load", 3)
    with pytest.raises(CutOffError):
        move(source, loader)
    assert ids(target) == [1, 2, 3, 4, 5], "parts of a whole are not seen"
    move(source, target.loader(strategy))
    assert ids(target) == [2, 3, 4, 5, 6]
    assert [row["name"] for row in target.rows() if int(row["id"]) == 2] == ["changed"]
    source.orders.clear()
    move(source, target.loader(strategy))
    assert ids(target) == []
    changes = Orders(whole=False)
    changes.put(order(1))
    with pytest.raises(SnowmeltError, match="in another way before"):
        move(changes, target.loader(strategy))


def test_what_is_new_alone_does_not_replace_a_whole(tmp_path: Path) -> None:
    changes = Orders(whole=False)
    changes.put(order(1))
    with pytest.raises(SnowmeltError, match="gives only new rows"):
        move(changes, FilesLoader(tmp_path, "orders", "flow", "run", strategy=LoadStrategy.OVERWRITE))


def test_types_are_those_of_the_fields(target: Target) -> None:
    source = Orders(whole=False)
    source.put(order(1, amount="12345678.91", ok="false", tags={"a": 1}), order(2, name=None))
    move(source, target.loader("append"))
    first, second = sorted(target.rows(), key=lambda row: int(row["id"]))
    assert str(first["amount"]) == "12345678.91" and str(first["ok"]).lower() == "false"
    tags = first["tags"] if isinstance(first["tags"], dict) else json.loads(first["tags"])
    assert tags == {"a": 1} and not second["name"]
    assert str(first["at"]).startswith("2024-01-01 00:00:00")
    source.put(order(3, colour="red"))
    with pytest.raises(SchemaDriftError, match="colour"):
        move(source, target.loader("append"))


def test_columns_may_be_inferred(tmp_path: Path) -> None:
    source = Orders(whole=False)
    source.put(order(1))
    move(source, FilesLoader(tmp_path, "orders", "flow", "run"))
    move(source, DeltaLoader(tmp_path / "delta", "orders", "flow", "run"))
    types = {"id": "decimal128(38, 0)", "name": "string", "amount": "string", "ok": "bool", "at": "timestamp[us]"}
    (file,) = (tmp_path / "orders").glob("*.parquet")
    found = {field.name: str(field.type) for field in pyarrow.parquet.read_schema(file)}
    assert found == {**types, "tags": "string"}
    assert DeltaTable(tmp_path / "delta" / "orders").to_pyarrow_table().to_pylist()[0]["name"] == "n1"


@pytest.mark.slow
def test_two_runs_of_a_flow_do_not_count_twice(postgres_url: str) -> None:
    target = PostgresTarget(postgres_url)
    source = Orders(whole=False)
    source.put(order(1), order(2))
    late = target.loader("append")
    move(source, target.loader("append"))
    with closing(late), pytest.raises(SnowmeltError, match="Another run of flow") as told:
        run_flow(Flow("flow", source, late, attempts=1))
    assert told.value.transient
    assert run_flow(Flow("flow", source, late)).rows == 0, "it goes on from where the other got"
    assert ids(target) == [1, 2]


@pytest.mark.parametrize("strategy", [LoadStrategy.APPEND, LoadStrategy.UPSERT])
@pytest.mark.parametrize(
    ("before", "then", "kept"),
    [
        (pa.array([True]), pa.array([3]), None),
        (pa.array([dt.date(2024, 1, 1)]), pa.array([dt.datetime(2024, 1, 1, 12)], pa.timestamp("us")), None),
        (pa.array([1]), pa.array([2.5]), None),
        (pa.array(["x"]), pa.array([7]), None),
        (pa.array([1.5]), pa.array([2]), 2.0),
        (pa.array([1]), pa.array([2.0]), 2),
        (pa.array(["x"]), pa.array([None], pa.null()), None),
    ],
)
def test_a_column_of_another_type_is_kept_exactly_or_refused(
    strategy: LoadStrategy, before: pa.Array, then: pa.Array, kept: object, tmp_path: Path
) -> None:
    def loader() -> DeltaLoader:
        return DeltaLoader(tmp_path, "t", "flow", "run", strategy=strategy, key=["id"])

    with closing(loader()) as first:
        first.load(Batch(pa.table({"id": [1], "v": before}), "1", "here"), "2024-01-01T00:00:00+00:00")
    with closing(loader()) as second:
        batch = Batch(pa.table({"id": [2], "v": then}), "2", "here")
        if kept is None and then.null_count == 0:
            with pytest.raises(SchemaDriftError, match="column v is"):
                second.load(batch, "2024-01-01T00:00:00+00:00")
            assert second.place() == "1"
            return
        second.load(batch, "2024-01-01T00:00:00+00:00")
    found = {row["id"]: row["v"] for row in DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist()}
    assert found == {1: before[0].as_py(), 2: kept}
