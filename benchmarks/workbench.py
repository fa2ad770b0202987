"""What benchmarks stand on: one Spark application, a Snowmelt account and plain Delta tables side by side in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import snowmelt
from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.storage.columns import local_path

DATA_VARIABLE = "SNOWMELT_BENCH_DATA"
SPARK_DEFAULTS = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "32",
}
"""What the engine sets for translated SQL, put back to what a SparkSession has by itself."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table that both sides get: its columns with Snowflake's types, and the rows."""

    name: str
    columns: Mapping[str, str]
    rows: Callable[[SparkSession], DataFrame]
    change_feed: bool = False


class Workbench:
    """One run of benchmarks. Everything but generated source data lives in a folder that goes away at the end."""

    def __init__(
        self, data: Path, *, scale: float, rounds: int | None = None, step: Callable[[str], None] = lambda _: None,
        kept: Path | None = None,
    ) -> None:  # fmt: skip
        """`kept` is a folder that stays: what an earlier run loaded there is not loaded again."""
        self.data = data
        self.scale = scale
        self.step = step
        self._rounds = rounds
        data.mkdir(parents=True, exist_ok=True)
        self._cleanup = contextlib.ExitStack()
        if kept is None:
            self._folder = Path(tempfile.mkdtemp(prefix="run-", dir=data))
            self._cleanup.callback(shutil.rmtree, self._folder, ignore_errors=True)
        else:
            self._folder = kept.resolve()
            self._folder.mkdir(parents=True, exist_ok=True)
        self._loaded: set[str] = set()

    def close(self) -> None:
        """Stops Spark and removes the run's folder."""
        self._cleanup.close()

    def smaller(self, factor: int) -> Workbench:
        """A bench of its own, for tables that are so many times smaller. Close it."""
        return Workbench(self.data, scale=self.scale / factor, rounds=self._rounds, step=self.step)

    def at_close(self, work: Callable[[], object]) -> None:
        """Does that at the end of the run; what was asked for last comes first."""
        self._cleanup.callback(work)

    def folder(self, name: str) -> Path:
        """A folder that goes away with the run."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def rounds(self, default: int) -> int:
        """How often to measure: what was asked for, or what suits the benchmark."""
        return self._rounds if self._rounds is not None else default

    def rows(self, at_full_scale: int) -> int:
        """So many rows at scale 1; less on a quick check, never more."""
        return max(int(at_full_scale * min(self.scale, 1.0)), 1_000)

    # -- the two sides --------------------------------------------------------------------------------------------

    @cached_property
    def connection(self) -> snowmelt.Connection:
        """Snowmelt, in this process. Its Spark starts when first needed."""
        return self._cleanup.enter_context(snowmelt.connect(self._folder / "account", settings=Settings()))

    @property
    def account(self) -> Account:
        return self.connection.session.account

    @cached_property
    def plain(self) -> SparkSession:
        """An ordinary session of the same Spark application, with Spark's own defaults where they matter."""
        self.step("starting Spark")
        session = self.account.engine.session().newSession()
        for key, value in SPARK_DEFAULTS.items():
            session.conf.set(key, value)
        database = f"plain_{uuid.uuid4().hex}"
        session.sql(f"CREATE DATABASE {database}")
        session.catalog.setCurrentDatabase(database)
        self.at_close(lambda: session.sql(f"DROP DATABASE {database} CASCADE"))
        return session

    def account_without_spark(self, name: str) -> Account:
        """A second account, for what must never start Spark."""
        return self._cleanup.enter_context(open_account(self._folder / name, settings=Settings()))

    def snowmelt_rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()

    def plain_rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.plain.sql(sql).collect()]

    # -- tables ---------------------------------------------------------------------------------------------------

    def load(self, spec: TableSpec) -> None:
        """Makes the table on both sides, from the same files' worth of rows. Once a run."""
        if spec.name in self._loaded:
            return
        self.load_ours(spec)
        self._load_plain(spec, self._rows_of(spec))
        self._loaded.add(spec.name)

    def load_ours(self, spec: TableSpec) -> None:
        """Makes the table in Snowmelt alone, where plain Spark reads Snowmelt's files."""
        if self._find(spec.name) is None:
            self.step(f"loading {spec.name}")
            self._load_snowmelt(spec, self._rows_of(spec))

    def _rows_of(self, spec: TableSpec) -> DataFrame:
        return spec.rows(self.plain).select(*[_column(name, kind) for name, kind in spec.columns.items()])

    def _load_plain(self, spec: TableSpec, frame: DataFrame) -> None:
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields)
        feed, path = str(spec.change_feed).lower(), self._folder / "plain" / spec.name
        loaded = (path / "_delta_log").is_dir()
        self.plain.sql(
            f"CREATE TABLE {spec.name} ({columns}) USING delta LOCATION '{path}' "
            f"TBLPROPERTIES (delta.enableChangeDataFeed = {feed})"
        )
        if not loaded:
            frame.write.format("delta").mode("append").saveAsTable(spec.name)

    def _load_snowmelt(self, spec: TableSpec, frame: DataFrame) -> None:
        """Through Delta, as any other tool would write to the table: Snowmelt takes foreign commits in.

        So both sides have data files of the same layout, and a query is measured rather than a loader.
        """
        columns = ", ".join(f"{name} {kind}" for name, kind in spec.columns.items())
        tracking = str(spec.change_feed).upper()
        self.connection.execute(f"CREATE TABLE {spec.name} ({columns}) CHANGE_TRACKING = {tracking}")
        upper = frame.toDF(*[name.upper() for name in frame.columns])
        upper.write.format("delta").mode("append").save(self.snowmelt_path(spec.name))

    def snowmelt_path(self, name: str) -> str:
        """Where Snowmelt keeps the table."""
        definition = self._object(name).definition
        assert isinstance(definition, TableDefinition)
        return self.account.store.root.uri_of(definition.location)

    def snowmelt_files(self, name: str) -> tuple[str, ...]:
        """The local data files of the table's visible version."""
        found = self._object(name)
        assert isinstance(found.definition, TableDefinition)
        with self.account.state.read() as state:
            visible = state.versions.visible(found.id)
        assert visible is not None, name
        files = self.account.store.files(found.definition.location, visible.version)
        assert files.plain, name
        return tuple(local_path(uri) for uri in files.uris)

    def snowmelt_version(self, name: str) -> int:
        """The number of the table's visible version, which grows with each commit."""
        with self.account.state.read() as state:
            visible = state.versions.visible(self._object(name).id)
        assert visible is not None, name
        return visible.version

    def _object(self, name: str) -> CatalogObject:
        found = self._find(name)
        assert found is not None, name
        return found

    def _find(self, name: str) -> CatalogObject | None:
        session = self.connection.session
        assert session.database is not None and session.schema is not None
        with self.account.state.read() as state:
            return state.catalog.find(
                ObjectName(session.database, session.schema, name.upper()), [ObjectKind.TABLE], session.id
            )

    def contents(self, name: str) -> tuple[pa.Table, pa.Table]:
        """All rows of a table, as each side sees them."""
        result = self.connection.session.execute(f"SELECT * FROM {name}")
        ours = result.data.rename_columns([column.name for column in result.columns])
        return ours, self.plain.table(name).toArrow()

    def feed_counts(self, name: str) -> tuple[dict[str, int], dict[str, int]]:
        """How many changes of each kind each side's change feed holds."""
        plain = str(self._folder / "plain" / name)
        ours, theirs = (self._feed_counts(path) for path in (self.snowmelt_path(name), plain))
        return ours, theirs

    def _feed_counts(self, path: str) -> dict[str, int]:
        reader = self.plain.read.format("delta").option("readChangeFeed", "true").option("startingVersion", "0")
        counted = reader.load(path).groupBy("_change_type").count().collect()
        return {str(kind): int(count) for kind, count in counted}

    # -- source data ----------------------------------------------------------------------------------------------

    def tpch_files(self) -> Path:
        """A folder with one Parquet file for each TPC-H table; generated once, kept for later runs."""
        folder = self.data / f"tpch-sf{self.scale:g}"
        if not folder.is_dir():
            self.step(f"generating TPC-H data at scale {self.scale:g}")
            unfinished = Path(tempfile.mkdtemp(prefix="tpch-", dir=self.data))
            command = [
                str(Path(sys.executable).with_name("tpchgen-cli")), "parquet",
                f"--scale-factor={self.scale:g}", f"--output-dir={unfinished}", "--quiet",
            ]  # fmt: skip
            subprocess.run(command, check=True)
            unfinished.rename(folder)
        return folder


def data_folder() -> Path:
    """Where source data is kept between runs."""
    return Path(os.environ.get(DATA_VARIABLE, ".bench-data")).resolve()


def _column(name: str, kind: str) -> Any:
    spark = {"INTEGER": "bigint", "VARCHAR": "string", "DATE": "date"}.get(kind) or kind.replace("NUMBER", "decimal")
    return f.col(name).cast(spark).alias(name)
