"""COPY INTO a location: the rows of a table or a query as CSV, JSON or Parquet files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import Kind
from snowmelt.engine.model import Lane
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.compression import EXTENSIONS
from snowmelt.features.loading.copy_statements import CopyIntoLocation
from snowmelt.features.loading.file_formats import CsvFormat, FileFormat, effective
from snowmelt.features.loading.stage_folders import StageFolder
from snowmelt.features.loading.unload_files import (
    Encoder,
    ParquetEncoder,
    TextEncoder,
    Unloaded,
    Unloading,
    by_partition,
)
from snowmelt.features.loading.unload_text import CsvText, json_lines
from snowmelt.sql import variants
from snowmelt.sql.bound import Bound, BoundQuery, OutputColumn, Scope
from snowmelt.sql.dialect import identifier, parse_snowflake, spark, to_spark_sql
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

DEFAULT_MAX_SIZE = 16_777_216
_PARTITION = "__partition"
_OUT = "__out"


@dataclass(frozen=True, slots=True)
class Unload:
    """A COPY INTO a location, understood."""

    run: Run
    statement: CopyIntoLocation
    stage: StageFolder
    format: FileFormat

    # -- checking -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        options = self.statement.options
        partitioned = self.statement.partition_by is not None
        if options.validation_mode is not None:
            raise errors.invalid_value(options.validation_mode, "VALIDATION_MODE")
        if self.format.type == "AVRO":
            raise errors.unsupported("unloading to AVRO")
        if options.single and (partitioned or options.include_query_id):
            raise errors.compilation(
                "001492", "42601", "conflicting options SINGLE and PARTITION BY or INCLUDE_QUERY_ID"
            )
        if options.overwrite and (partitioned or options.include_query_id):
            raise errors.compilation(
                "001492", "42601", "conflicting options OVERWRITE and PARTITION BY or INCLUDE_QUERY_ID"
            )
        if options.max_file_size is not None and options.max_file_size <= 0:
            raise errors.invalid_value(str(options.max_file_size), "MAX_FILE_SIZE")
        if not options.overwrite and not self._unique and self.stage.all_files():
            raise errors.SnowmeltError(
                "100140", "22000",
                f"Files already existing at the unload destination: {self.stage.written}. Use overwrite option to "
                "force unloading.",
            )  # fmt: skip

    @property
    def _unique(self) -> bool:
        """Whether file names hold the query's id, so that they meet no others."""
        return bool(self.statement.options.include_query_id) or self.statement.partition_by is not None

    # -- the query ------------------------------------------------------------------------------------------------

    def bound(self) -> BoundQuery:
        """The rows in the form in which they are written; the partition, if any, is the last column."""
        tree = self._source()
        if self.statement.partition_by is not None:
            text = self.statement.partition_by
            value = exp.Cast(
                this=parse_snowflake(text.text, line=text.line, column=text.column), to=exp.DataType.build("VARCHAR")
            )
            alias = exp.Identifier(this=_PARTITION, quoted=True)
            tree = exp.select(exp.Star(), exp.alias_(value, alias)).from_(exp.Subquery(this=tree))
        with self.run.environment() as environment:
            context = environment.context
            parameters = {**context.parameters, **self.format.parameters}
            formatted = replace(environment, context=replace(context, parameters=parameters))
            query = QueryBinder(environment).bind(tree)
            binder = ExpressionBinder(formatted, Scope(), QueryBinder(formatted))
            return self._printed(query, binder)

    def _source(self) -> exp.Expr:
        if self.statement.query is not None:
            text = self.statement.query
            return parse_snowflake(text.text, line=text.line, column=text.column)
        assert self.statement.table is not None
        parts = [exp.Identifier(this=part, quoted=True) for part in self.run.parts(self.statement.table)]
        keys = ("this", "db", "catalog")
        table = exp.Table(**dict(zip(keys, reversed(parts), strict=False)))
        return exp.select(exp.Star()).from_(table)

    def _printed(self, query: BoundQuery, binder: ExpressionBinder) -> BoundQuery:
        projections: list[exp.Expr] = []
        columns: list[OutputColumn] = []
        for index, column in enumerate(query.columns):
            value = Bound(exp.column(identifier(column.key), identifier(_OUT)), column.type)
            is_partition = column.name == _PARTITION and self.statement.partition_by is not None
            tree = value.tree if is_partition else self._value(value, binder, column.name)
            key = _PARTITION if is_partition else f"c{index}"
            projections.append(exp.alias_(tree, identifier(key)))
            columns.append(OutputColumn(column.name, key, column.type))
        source = exp.Subquery(this=query.tree, alias=exp.TableAlias(this=identifier(_OUT)))
        return BoundQuery(exp.select(*projections).from_(source), tuple(columns))

    def _value(self, value: Bound, binder: ExpressionBinder, name: str) -> exp.Expr:
        if value.type.is_semi_structured:
            # Files are read by others too, and JSON has no `undefined`.
            return variants.to_json_text(value.tree, undefined="null")
        if self.format.type != "PARQUET":
            return binder.cast(value, types.VARCHAR).tree
        if value.type.kind in (Kind.TIMESTAMP_TZ, Kind.TIMESTAMP_LTZ):
            raise errors.unsupported(
                f"unloading column '{name}' of type {value.type.kind} to Parquet", hint="Cast it to TIMESTAMP_NTZ."
            )
        if value.type.kind is Kind.NULL:
            return spark("cast(null as string)")
        return value.tree

    # -- rows -----------------------------------------------------------------------------------------------------

    def tables(self, bound: BoundQuery) -> Iterator[pa.Table]:
        """The rows, in pieces: at once when they are few, else by way of files that Spark writes."""
        run = self.run
        sql = to_spark_sql(bound.tree)
        tables = list(run.tables.values())
        if run.lane is Lane.LIGHT:
            yield run.account.engine.to_arrow(
                sql, tables, lane=Lane.LIGHT, tag=run.tag, pool=run.pool, inputs=run.inputs
            )
            return
        root = f"{stage_folders.stage_root(run.account)}/unload/{run.query_id}"
        try:
            run.account.engine.spill(sql, tables, root, tag=run.tag, pool=run.pool, inputs=run.inputs)
            yield from _spilled(run, root)
        finally:
            _remove(run, root)

    # -- files ----------------------------------------------------------------------------------------------------

    def encoder(self, bound: BoundQuery, schema: pa.Schema) -> Any:
        columns = [column for column in bound.columns if column.key != _PARTITION]
        header = bool(self.statement.options.header)
        names = [column.name for column in columns]
        if isinstance(self.format, CsvFormat):
            text = CsvText(self.format, names, [column.type for column in columns])
            first = text.header() if header else b""
            return lambda sink: TextEncoder(sink, self.compression, first, text.rows)
        if self.format.type == "JSON":
            return lambda sink: TextEncoder(sink, self.compression, b"", json_lines)
        named = names if header else [f"_COL_{index}" for index in range(len(names))]
        fields = [field.with_name(name) for field, name in zip(schema, named, strict=True)]
        target = pa.schema(fields).remove_metadata()

        def parquet(sink: Any) -> Encoder:
            return _Renaming(ParquetEncoder(sink, self.format.compression, target), target)

        return parquet

    @property
    def compression(self) -> str:
        return "GZIP" if self.format.compression == "AUTO" else self.format.compression

    def path(self, partition: str | None, number: int) -> str:
        """The path of the n-th file."""
        options, path = self.statement.options, self.stage.path
        if options.single:
            return f"{path}data" if not path or path.endswith("/") else path
        if self.statement.partition_by is not None:
            folder = f"{path.rstrip('/')}/" if path else ""
            start = f"{folder}{'_NULL_' if partition is None else partition.strip('/')}/data"
        else:
            start = f"{path}data" if not path or path.endswith("/") else path.removesuffix("_")
        unique = f"_{self.run.query_id}" if self._unique else ""
        return f"{start}{unique}_0_0_{number}{self._extension}"

    @property
    def _extension(self) -> str:
        if self.format.extension is not None:
            return f".{self.format.extension.lstrip('.')}" if self.format.extension else ""
        if self.format.type == "PARQUET":
            codec = {"AUTO": ".snappy", "SNAPPY": ".snappy", "NONE": ""}.get(self.format.compression)
            return f"{EXTENSIONS.get(self.format.compression, '') if codec is None else codec}.parquet"
        return f".{self.format.type.lower()}{EXTENSIONS[self.compression]}"


class _Renaming:
    """Gives columns the names they have in the file."""

    def __init__(self, encoder: Encoder, schema: pa.Schema) -> None:
        self._encoder = encoder
        self._schema = schema

    def write(self, rows: pa.Table) -> int:
        return self._encoder.write(rows.rename_columns(self._schema.names).cast(self._schema))

    def close(self) -> None:
        self._encoder.close()


def _spilled(run: Run, root: str) -> Iterator[pa.Table]:
    files = stage_folders.folder(run.account, root)
    listed = files.get_file_info(pafs.FileSelector("", recursive=True))
    for path in sorted(info.path for info in listed if info.path.endswith(".parquet")):
        with files.open_input_file(path) as source:
            for batch in pq.ParquetFile(source).iter_batches(batch_size=65_536):
                run.check_cancelled()
                yield pa.Table.from_batches([batch])


def _remove(run: Run, root: str) -> None:
    if "://" not in root:
        shutil.rmtree(Path(root), ignore_errors=True)
        return
    files = stage_folders.folder(run.account, root)
    for info in files.get_file_info(pafs.FileSelector("", recursive=True, allow_not_found=True)):
        if info.type == pafs.FileType.File:
            files.delete_file(info.path)


def unloaded(run: Run, statement: CopyIntoLocation) -> Unloaded:
    """Writes the files. When it fails there are none."""
    stage = stage_folders.resolve(run, statement.target, writes=True)
    unload = Unload(run, statement, stage, effective(run, statement.options.file_format, stage.format))
    unload.check()
    bound = unload.bound()
    if unload.format.type == "JSON":
        written = [column for column in bound.columns if column.key != _PARTITION]
        if len(written) != 1 or not written[0].type.is_semi_structured:
            raise errors.unsupported("unloading of more than one column or non-json values")
    limit = statement.options.max_file_size or DEFAULT_MAX_SIZE
    files: Unloading | None = None
    try:
        for rows in unload.tables(bound):
            data = rows.drop_columns([_PARTITION]) if _PARTITION in rows.column_names else rows
            if files is None:
                encoder = unload.encoder(bound, data.schema)
                files = Unloading(stage, unload.path, encoder, limit, single=bool(statement.options.single))
            if data is rows:
                files.add(data)
                continue
            for value, part in by_partition(rows, _PARTITION):
                files.add(part, value)
        return files.finish() if files is not None else Unloaded()
    except BaseException:
        if files is not None:
            files.abandon()
        raise
