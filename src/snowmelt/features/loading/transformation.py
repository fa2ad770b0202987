"""COPY INTO t FROM (SELECT … FROM @stage): the query that changes records on their way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.features.loading.batches import SegmentBatch
from snowmelt.features.loading.records import SourceField, nth
from snowmelt.features.loading.stage_folders import StagedFile, StageFolder
from snowmelt.features.loading.stage_statements import Location, written_location
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.sql import variants
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import call, identifier, parse_snowflake, spark, string
from snowmelt.sql.functions.semi_structured import parse_json
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn
from snowmelt.sql.tokens import SqlText

METADATA = {
    "METADATA$FILENAME": ("m_name", types.VARCHAR),
    "METADATA$FILE_ROW_NUMBER": ("m_row", types.INTEGER),
    "METADATA$FILE_LAST_MODIFIED": ("m_modified", types.TIMESTAMP_NTZ),
    "METADATA$START_SCAN_TIME": ("m_scan", types.TIMESTAMP_LTZ),
    "METADATA$FILE_CONTENT_KEY": ("m_key", types.VARCHAR),
}
"""The columns every staged file has: how they are called, their Arrow names and types."""
_REFUSED = {
    "joins": "JOIN", "laterals": "LATERAL", "where": "WHERE", "group": "GROUP BY", "having": "HAVING",
    "qualify": "QUALIFY", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "with_": "WITH",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CopyTransformation:
    """The statement's query, understood."""

    text: str
    location: Location
    format_name: str | None
    pattern: str | None
    width: int
    """The highest `$n` it mentions."""


def understood(text: SqlText) -> CopyTransformation:
    """What the query selects from. Raises for what Snowflake does not let a COPY do either."""
    tree = parse_snowflake(text.text, line=text.line, column=text.column)
    if not isinstance(tree, exp.Select):
        raise errors.unsupported("COPY INTO … FROM anything but a SELECT")
    for key, name in _REFUSED.items():
        if tree.args.get(key):
            raise errors.unsupported(f"{name} in COPY INTO … FROM (SELECT …)", hint="Load first, then query the table.")
    if tree.args.get("distinct") or tree.find(exp.Subquery) is not None or len(list(tree.find_all(exp.Select))) > 1:
        raise errors.unsupported("DISTINCT or a subquery in COPY INTO … FROM (SELECT …)")
    from_ = tree.args.get("from_")
    table = from_.this if from_ is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Var | exp.Literal):
        raise errors.unsupported("COPY INTO … FROM a query that does not select from a stage")
    given = table.args.get("format")
    location = written_location(table.this.name, text.line, text.column)
    if location is None:
        raise errors.unsupported("COPY INTO … FROM a query that does not select from a stage")
    numbers = [int(item.name) for item in tree.find_all(exp.Parameter) if item.name.isdigit()]
    pattern = table.args.get("pattern")
    return CopyTransformation(
        text.text,
        location,
        given.sql() if isinstance(given, exp.Table) else (given.name if given is not None else None),
        pattern.name if pattern is not None else None,
        max(numbers, default=1),
    )


def staged_relation(reference: str, fields: Sequence[SourceField], whole: bool, more: Sequence[str] = ()) -> Relation:
    """Records as something that can stand in FROM. With `whole` all fields together are `$1`, one object.

    `more` are columns of the batch that the query carries along.
    """
    carried = [exp.column(identifier(name)) for name in (*(key for key, _ in METADATA.values()), *more)]
    columns = [RelationColumn(name, type_, key=key) for name, (key, type_) in METADATA.items()]
    if whole:
        columns.insert(0, RelationColumn("$1", types.VARIANT, key="whole"))
        projections: list[exp.Expr] = [exp.alias_(_whole(fields), identifier("whole"))]
    else:
        columns = [RelationColumn(f"${n + 1}", entry.type, key=nth(n)) for n, entry in enumerate(fields)] + columns
        projections = [_value(index, entry) for index, entry in enumerate(fields)]
    query = exp.select(*projections, *carried).from_(exp.Table(this=identifier(reference)))
    return Relation(name="staged files", columns=tuple(columns), query=query)


def _value(index: int, entry: SourceField) -> exp.Expr:
    """A field as Spark reads it: VARIANT travels as JSON text."""
    column = exp.column(identifier(nth(index)))
    return exp.alias_(parse_json(column), identifier(nth(index))) if entry.type.is_semi_structured else column


def _whole(fields: Sequence[SourceField]) -> exp.Expr:
    """An object with a key for each field that is not NULL."""
    pairs: list[exp.Expr] = []
    for index, entry in enumerate(fields):
        column: exp.Expr = exp.column(identifier(nth(index)))
        column = parse_json(column) if entry.type.is_semi_structured else column
        pairs += [string(entry.name), variants.to_variant(column, entry.type)]
    entries = spark("map_filter(_0, (sm_key, sm_value) -> sm_value is not null)", call("map", *pairs))
    return variants.from_entries(entries)


def staged_fields(reference: str, fields: Sequence[SourceField], more: Sequence[str]) -> exp.Select:
    """The fields of a batch under their Arrow names."""
    projections = [_value(index, entry) for index, entry in enumerate(fields)]
    carried = [exp.column(identifier(name)) for name in more]
    return exp.select(*projections, *carried).from_(exp.Table(this=identifier(reference)))


class StagedCatalog(StatementCatalog):
    """The catalog in which every stage is the batch at hand."""

    def __init__(self, catalog: StatementCatalog, batch: Relation) -> None:
        super().__init__(catalog.run, catalog.state, catalog.database, catalog.schema)
        self._batch = batch

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        return self._batch


def bound_transformation(text: str, batch: Relation, environment: Environment, carried: str) -> BoundQuery:
    """The transformation over a batch, with one more column at its end that the batch carries along."""
    assert isinstance(environment.relations, StatementCatalog)
    staged = replace(environment, relations=StagedCatalog(environment.relations, batch))
    bound = QueryBinder(staged).bind(parse_snowflake(text))
    tree = bound.tree.copy()
    assert isinstance(tree, exp.Select)
    alias = tree.args["from_"].this.alias
    column = exp.column(identifier(carried), table=identifier(alias))
    return replace(bound, tree=tree.select(exp.alias_(column, identifier(carried))))


def metadata_columns(
    batch: SegmentBatch, files: Sequence[StagedFile], stage: StageFolder, scanned: datetime
) -> Mapping[str, Any]:
    """The METADATA$ columns of a batch's rows."""
    names: list[Any] = []
    rows: list[int] = []
    for index, segment in batch.segments:
        names.append(pa.repeat(pa.scalar(index, pa.int32()), segment.data.num_rows))
        rows += segment.rows
    which = pa.concat_arrays(names) if names else pa.array([], pa.int32())
    listed = pa.array([stage.outside + file.path for file in files], pa.string())
    times = pa.array([file.modified.astimezone(UTC).replace(tzinfo=None) for file in files], pa.timestamp("us"))
    keys = pa.array([f"{file.size:x}-{file.modified.timestamp():.6f}" for file in files], pa.string())
    instant = pa.scalar(scanned, pa.timestamp("us", "UTC"))
    return {
        "m_name": listed.take(which),
        "m_row": pa.array(rows, pa.int64()),
        "m_modified": times.take(which),
        "m_scan": pa.repeat(instant, len(which)),
        "m_key": keys.take(which),
    }
