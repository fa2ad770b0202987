"""From what CREATE TABLE and ALTER TABLE say about columns and constraints to what the catalog keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.type_errors import unknown_type
from snowmelt.core.types import DataType, Kind, parse_type
from snowmelt.runtime import defaults
from snowmelt.runtime.rights import enforcement
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Bound, BoundQuery, FromItem, Scope, SourceColumn
from snowmelt.sql.dialect import identifier, parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.columns import (
    CheckSpec,
    ColumnSpec,
    Constraint,
    ForeignKeySpec,
    PrimaryKey,
    UniqueKey,
)
from snowmelt.sql.tokens import SqlText
from snowmelt.state.ids import new_id
from snowmelt.state.model import CheckConstraint, Column, ForeignKey, IdentityColumn, Key, ObjectKind, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_Spec = TypeVar("_Spec", bound=Constraint)


def type_of(text: SqlText) -> DataType:
    found = parse_type(text.text)
    if found is None:
        raise unknown_type(text.text, text.line, text.column)
    return found


def column_of(run: Run, spec: ColumnSpec) -> Column:
    """A column with a type of its own."""
    if spec.type is None:
        raise errors.syntax_error(spec.line, spec.position, spec.name)
    type_ = type_of(spec.type)
    if spec.identity is not None and not (type_.is_number and type_.scale == 0):
        raise errors.compilation("002219", "42601", f"Identity column '{spec.name}' must be a number without decimals.")
    if spec.identity is not None and spec.default is not None:
        raise errors.compilation("002220", "42601", f"Column '{spec.name}' can't have both a default and an identity.")
    identity = spec.identity
    return Column(
        name=spec.name,
        type=type_,
        nullable=spec.nullable is not False,
        default=default_of(run, spec, type_),
        identity=IdentityColumn(start=identity.start, step=identity.step, ordered=bool(identity.ordered))
        if identity
        else None,
        comment=spec.comment,
    )


def default_of(run: Run, spec: ColumnSpec, type_: DataType) -> str | None:
    return defaults.checked(run, spec.default, spec.name, type_) if spec.default is not None else None


def columns_of_query(run: Run, specs: Sequence[ColumnSpec], query: BoundQuery) -> list[Column]:
    """The columns of CREATE TABLE … AS: the query's, with what the statement says about them."""
    if specs and len(specs) != len(query.columns):
        raise errors.compilation("002026", "42601", "Invalid column definition list")
    columns: list[Column] = []
    for index, produced in enumerate(query.columns):
        if not specs:
            columns.append(Column(name=produced.name, type=stored_type(produced.type)))
            continue
        spec = specs[index]
        type_ = type_of(spec.type) if spec.type is not None else stored_type(produced.type)
        columns.append(
            Column(
                name=spec.name,
                type=type_,
                nullable=spec.nullable is not False,
                default=default_of(run, spec, type_),
                comment=spec.comment,
            )
        )
    return columns


def require_names(tree: exp.Expr) -> None:
    """Raises unless every column of the query names itself: a column, an alias or `*`."""
    while isinstance(tree, exp.Subquery | exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.Select):
        return
    for item in tree.expressions:
        inner = item
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if not isinstance(inner, exp.Alias | exp.Column | exp.Star | exp.Parameter):
            raise errors.compilation("002022", "42601", "Missing column specification")


def stored_type(type_: DataType) -> DataType:
    """The type a column gets from an expression: an untyped NULL becomes text."""
    return types.VARCHAR if type_.kind is Kind.NULL else type_


def check_names(columns: Sequence[Column]) -> None:
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


def of_kind(constraints: Iterable[Constraint], kind: type[_Spec]) -> list[_Spec]:
    return [item for item in constraints if isinstance(item, kind)]


def system_name() -> str:
    return f"SYS_CONSTRAINT_{new_id()}"


def constrained(
    run: Run, name: ObjectName, definition: TableDefinition, constraints: Sequence[Constraint]
) -> TableDefinition:
    """The definition with constraints added, each of them checked against its columns."""
    for constraint in constraints:
        definition = with_constraint(run, name, definition, constraint)
    return definition


def with_constraint(run: Run, name: ObjectName, definition: TableDefinition, constraint: Constraint) -> TableDefinition:
    called = constraint.name or system_name()
    if called in constraint_names(definition):
        raise errors.compilation("002209", "42710", f"constraint '{called}' already exists")
    match constraint:
        case PrimaryKey(columns=columns):
            if definition.primary_key is not None:
                raise errors.compilation(
                    "002200", "42601", f"primary key already exists for table '{quote(name.name)}'"
                )
            _check_columns(definition, columns)
            required = tuple(
                column.model_copy(update={"nullable": False}) if column.name in columns else column
                for column in definition.columns
            )
            key = Key(name=called, columns=columns)
            return definition.model_copy(update={"primary_key": key, "columns": required})
        case UniqueKey(columns=columns):
            _check_columns(definition, columns)
            key = Key(name=called, columns=columns)
            return definition.model_copy(update={"unique_keys": (*definition.unique_keys, key)})
        case ForeignKeySpec():
            foreign = _foreign_key(run, name, definition, constraint, called)
            return definition.model_copy(update={"foreign_keys": (*definition.foreign_keys, foreign)})
        case CheckSpec(expression=expression):
            with run.environment() as environment:
                bind_check(environment, name.name, definition.columns, expression.text)
            check = CheckConstraint(name=called, expression=expression.text)
            return definition.model_copy(update={"checks": (*definition.checks, check)})
    raise errors.internal(f"no rule for {type(constraint).__name__}")


def constraint_names(definition: TableDefinition) -> set[str]:
    keys = [*definition.unique_keys, *([definition.primary_key] if definition.primary_key is not None else [])]
    named: list[Key | ForeignKey | CheckConstraint] = [*keys, *definition.foreign_keys, *definition.checks]
    return {item.name for item in named}


def _check_columns(definition: TableDefinition, columns: Sequence[str]) -> None:
    known = {column.name for column in definition.columns}
    for column in columns:
        if column not in known:
            raise errors.invalid_identifier(quote(column), 1, 0)


def _foreign_key(
    run: Run, name: ObjectName, definition: TableDefinition, spec: ForeignKeySpec, called: str
) -> ForeignKey:
    _check_columns(definition, spec.columns)
    target = run.object_name(spec.references)
    referred = definition
    if target != name:
        with run.state.read() as state:
            found = state.catalog.find(target, [ObjectKind.TABLE], run.session.id)
        if found is None or not isinstance(found.definition, TableDefinition):
            raise errors.not_found("Table", str(target))
        enforcement.require_object(run, "REFERENCES", found)
        referred = found.definition
    columns = spec.referenced_columns
    if not columns:
        if referred.primary_key is None:
            raise errors.compilation("002208", "42601", f"primary key does not exist for table '{quote(target.name)}'")
        columns = referred.primary_key.columns
    _check_columns(referred, columns)
    if len(columns) != len(spec.columns):
        raise errors.compilation(
            "002207", "42601", "number of columns in the foreign key and in the referenced key do not match"
        )
    return ForeignKey(name=called, columns=spec.columns, references=target, referenced_columns=columns)


def clustering_key(run: Run, table: ObjectName, columns: Sequence[Column], keys: Sequence[SqlText]) -> tuple[str, ...]:
    """CLUSTER BY's expressions as the catalog keeps them, each of them checked against the table's columns."""
    if not keys:
        return ()
    with run.environment() as environment:
        binder = _row_binder(environment, table.name, columns)
        for key in keys:
            bound = binder.bind(parse_snowflake(key.text, line=key.line, column=key.column))
            if bound.tree.find(exp.Query) is not None:
                raise errors.unsupported("a subquery in a clustering key")
    return tuple(key.text for key in keys)


def _row_binder(environment: Environment, table: str, columns: Sequence[Column]) -> ExpressionBinder:
    """Binds what is computed from one row of a table."""
    source = FromItem(
        alias=table,
        columns=tuple(SourceColumn(c.name, c.type, exp.column(identifier(c.name))) for c in columns),
    )
    return ExpressionBinder(environment, Scope(sources=[source]), QueryBinder(environment))


def bind_check(environment: Environment, table: str, columns: Sequence[Column], expression: str) -> Bound:
    """A CHECK as a condition over the table's columns."""
    bound = _row_binder(environment, table, columns).boolean(parse_snowflake(expression))
    # Also one that the body of a function brings: it could take a column of the checked row for one of its own.
    if bound.tree.find(exp.Query) is not None:
        raise errors.unsupported("a subquery in a CHECK constraint")
    return bound
