"""Making tables: from a statement to a definition, to a Delta table, to a name in the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.types import DataType, Kind, parse_type
from snowmelt.service.faults import reached
from snowmelt.service.writing import RowWriter
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.statements.columns import (
    CheckSpec,
    ColumnSpec,
    Constraint,
    ForeignKeySpec,
    PrimaryKey,
    UniqueKey,
)
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.tokens import SqlText
from snowmelt.state.ids import new_id
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    Check,
    Column,
    ForeignKey,
    Identity,
    Key,
    TableDefinition,
    TableVersion,
)
from snowmelt.storage.commits import CommitTag

if TYPE_CHECKING:
    from snowmelt.service.run import Run

_Spec = TypeVar("_Spec", bound=Constraint)


@dataclass(frozen=True, slots=True)
class Written:
    """The first version of a new table."""

    version: int
    rows: int = 0
    bytes: int = 0


def already_there(run: Run, name: ObjectName, statement: CreateTable) -> bool:
    """True when IF NOT EXISTS has nothing to do; raises when the name is taken, or its schema is not there."""
    with run.account.state.read() as state:
        if state.catalog.schema(name.parent) is None:
            raise errors.not_found("Schema", str(name.parent))
        found = state.catalog.find(name, RELATIONS, run.session.id if statement.temporary else None)
    if found is None:
        return False
    if statement.if_not_exists:
        return True
    if not statement.or_replace:
        raise errors.already_exists(str(name))
    if found.kind.value != "TABLE":
        raise errors.compilation("001998", "42710", f"Object '{name}' already exists as {found.kind}.")
    return False


def definition_of(
    run: Run, name: ObjectName, statement: CreateTable, query: BoundQuery | None = None
) -> TableDefinition:
    """What the statement declares; with AS, the query's columns fill in names and types."""
    columns = (
        _query_columns(statement, query) if query is not None else [_column(run, spec) for spec in statement.columns]
    )
    _check_columns(columns)
    constraints = [*statement.constraints, *(c for spec in statement.columns for c in spec.constraints)]
    primary = next((item for item in _of(constraints, PrimaryKey)), None)
    columns = [
        column.model_copy(update={"nullable": False})
        if primary is not None and column.name in primary.columns
        else column
        for column in columns
    ]
    options = statement.options
    return TableDefinition(
        columns=tuple(columns),
        location="",
        transient=statement.transient,
        primary_key=Key(name=primary.name or _system_name(), columns=primary.columns) if primary is not None else None,
        unique_keys=tuple(Key(name=c.name or _system_name(), columns=c.columns) for c in _of(constraints, UniqueKey)),
        foreign_keys=tuple(foreign_key(run, c) for c in _of(constraints, ForeignKeySpec)),
        checks=tuple(
            Check(name=c.name or _system_name(), expression=c.expression.text) for c in _of(constraints, CheckSpec)
        ),
        cluster_by=tuple(item.text for item in statement.cluster_by),
        retention_days=1 if options.data_retention_time_in_days is None else options.data_retention_time_in_days,
        change_tracking=bool(options.change_tracking),
        schema_evolution=bool(options.enable_schema_evolution),
    )


def like_definition(source: CatalogObject) -> TableDefinition:
    assert isinstance(source.definition, TableDefinition)
    return source.definition.model_copy(update={"spark_only": False, "change_tracking": False})


def _of(constraints: Iterable[Constraint], kind: type[_Spec]) -> list[_Spec]:
    return [item for item in constraints if isinstance(item, kind)]


def _system_name() -> str:
    return f"SYS_CONSTRAINT_{new_id()}"


def foreign_key(run: Run, spec: ForeignKeySpec) -> ForeignKey:
    return ForeignKey(
        name=spec.name or _system_name(),
        columns=spec.columns,
        references=run.object_name(spec.references),
        referenced_columns=spec.referenced_columns,
    )


def type_of(text: SqlText) -> DataType:
    found = parse_type(text.text)
    if found is None:
        raise errors.at_position("002040", "42601", text.line, text.column, f"Unsupported data type '{text.text}'.")
    return found


def _column(run: Run, spec: ColumnSpec) -> Column:
    return column_of(run, spec, type_of(spec.type) if spec.type is not None else None)


def column_of(run: Run, spec: ColumnSpec, type_: DataType | None) -> Column:
    if type_ is None:
        raise errors.syntax_error(spec.line, spec.position, spec.name)
    if spec.identity is not None and not (type_.is_number and type_.scale == 0):
        raise errors.compilation("002219", "42601", f"Identity column '{spec.name}' must be a number without decimals.")
    if spec.identity is not None and spec.default is not None:
        raise errors.compilation("002220", "42601", f"Column '{spec.name}' can't have both a default and an identity.")
    identity = spec.identity
    return Column(
        name=spec.name,
        type=type_,
        nullable=spec.nullable is not False,
        default=spec.default.text if spec.default is not None else None,
        identity=Identity(start=identity.start, step=identity.step, ordered=bool(identity.ordered))
        if identity
        else None,
        comment=spec.comment,
    )


def _query_columns(statement: CreateTable, query: BoundQuery) -> list[Column]:
    produced = [(column.name, column.type) for column in query.columns]
    specs = statement.columns
    if specs and len(specs) != len(produced):
        raise errors.compilation("002026", "42601", "Invalid column definition list")
    columns: list[Column] = []
    for index, (name, type_) in enumerate(produced):
        spec = specs[index] if specs else None
        declared = type_of(spec.type) if spec is not None and spec.type is not None else stored_type(type_)
        columns.append(
            Column(
                name=spec.name if spec is not None else name,
                type=declared,
                nullable=spec.nullable is not False if spec is not None else True,
                default=spec.default.text if spec is not None and spec.default is not None else None,
                comment=spec.comment if spec is not None else None,
            )
        )
    return columns


def stored_type(type_: DataType) -> DataType:
    """The type a column gets from an expression: an untyped NULL becomes text, a text keeps no literal's length."""
    if type_.kind is Kind.NULL:
        return types.VARCHAR
    return type_


def _check_columns(columns: Sequence[Column]) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        if column.name in seen:
            raise errors.duplicate_column(column.name)
        twin = next((name for name in seen if name.upper() == column.name.upper()), None)
        if twin is not None:
            raise errors.unsupported(
                f"columns '{twin}' and '{column.name}' in one table",
                hint="Delta tables can't have two columns whose names differ in case only.",
            )
        seen[column.name] = column.name


def new_table(run: Run, name: ObjectName, statement: CreateTable, definition: TableDefinition) -> CatalogObject:
    """The catalog object with a place of its own; nothing exists on disk yet."""
    location = run.account.store.root.new_location(name.database, name.schema, name.name)
    return CatalogObject(
        id=new_id(),
        name=name,
        owner=run.session.role,
        comment=statement.options.comment,
        session_id=run.session.id if statement.temporary else None,
        created_on=run.now,
        altered_on=run.now,
        definition=definition.model_copy(update={"location": location}),
    )


def create_storage(run: Run, table: CatalogObject) -> Written:
    """The empty Delta table."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    tag = CommitTag(run.transaction.id, run.query_id)
    version = run.account.store.create(
        definition.location, definition.columns, change_feed=definition.change_feed, tag=tag
    )
    return Written(version)


def create_filled(run: Run, table: CatalogObject, rows: exp.Select) -> Written:
    """The Delta table with the rows of a query, complete before anybody can see its name."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    store = run.account.store
    try:
        create_storage(run, table)
        data = RowWriter(run, table).few_rows(rows)
        tag = CommitTag(run.transaction.id, run.query_id)
        if data is None:
            run.account.engine.append(
                to_spark_sql(rows), list(run.tables.values()), store.root.uri_of(definition.location),
                user_metadata=tag.user_metadata(), tag=run.tag, pool=run.pool, inputs=run.inputs,
            )  # fmt: skip
        elif data.num_rows:
            store.append(definition.location, data, tag)
    except BaseException:
        store.remove(definition.location)
        raise
    version = store.latest_version(definition.location)
    return Written(
        version,
        store.row_count(definition.location, version),
        store.files(definition.location, version).total_bytes,
    )


def publish(run: Run, table: CatalogObject, written: Written, *, replacing: bool) -> None:
    """Gives the table its name and its visible version in one step; an old one of that name is dropped in the same."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    run.account.store.sync(definition.location, written.version)
    reached("before-publish")
    with run.account.state.begin() as state:
        existing = state.catalog.find(table.name, RELATIONS, table.session_id)
        if existing is not None and existing.session_id == table.session_id:
            if not replacing:
                raise errors.already_exists(str(table.name))
            state.catalog.drop(existing.id, state.now)
        state.catalog.create(table.model_copy(update={"created_on": state.now, "altered_on": state.now}))
        state.versions.flip(
            TableVersion(
                table_id=table.id,
                version=written.version,
                committed_at=state.now,
                transaction_id=run.transaction.id,
                query_id=run.query_id,
                operation="CREATE TABLE",
                rows=written.rows,
                bytes=written.bytes,
            )
        )


def copy_counters(run: Run, source: CatalogObject, table: CatalogObject) -> None:
    """A clone goes on counting where its source stands."""
    assert isinstance(source.definition, TableDefinition)
    with run.account.state.begin() as state:
        for column in source.definition.columns:
            if column.identity is not None:
                following = state.counters.peek(source.id, column.name)
                if following is not None:
                    state.counters.take(table.id, column.name, 0, following, column.identity.step)


def shown(name: ObjectName) -> str:
    return quote(name.name)
