"""DEFAULT expressions: checked when they are declared, so that no INSERT fails over one later."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.types import DataType, Kind
from snowmelt.runtime import errors as statement_errors
from snowmelt.sql.bound import Scope, fold_identifier, position_of
from snowmelt.sql.clauses import MEASURE
from snowmelt.sql.coercion import literal_type
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, ObjectKind

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_NEXTVAL = "NEXTVAL"


def sequence_of(tree: exp.Expr) -> tuple[str, ...] | None:
    """The parts of `db.schema.seq` in `db.schema.seq.NEXTVAL`; None for any other expression."""
    if not isinstance(tree, exp.Column | exp.Dot):
        return None
    parts = tuple(fold_identifier(part) for part in tree.parts if isinstance(part, exp.Identifier))
    return parts[:-1] if len(parts) > 1 and parts[-1] == _NEXTVAL else None


def sequence_default(run: Run, default: str) -> CatalogObject | None:
    """The sequence that a column's default takes its values from; None for another kind of default."""
    parts = sequence_of(parse_snowflake(default))
    return _sequence(run, parts) if parts is not None else None


def _sequence(run: Run, parts: tuple[str, ...]) -> CatalogObject:
    name = run.object_name(parts)
    with run.state.read() as state:
        found = state.catalog.find(name, [ObjectKind.SEQUENCE], run.session.id)
    if found is None:
        raise errors.not_found("Sequence", str(name))
    return found


def sequence_text(name: ObjectName) -> str:
    """A default as the catalog keeps it: a name that means the same in every session."""
    return f"{name}.{_NEXTVAL}"


def checked(run: Run, text: SqlText, column: str, type_: DataType) -> str:
    """The default as the catalog keeps it. Raises when it could not be a value of the column."""
    tree = parse_snowflake(text.text, line=text.line, column=text.column)
    parts = sequence_of(tree)
    if parts is not None:
        return sequence_text(_sequence(run, parts).name)
    where = position_of(tree)
    if tree.find(exp.Query) is not None:
        raise errors.at_position(
            "002031", "42601", where.line, where.position,
            "sub-queries are not supported as part of the specification of a default value clause.",
        )  # fmt: skip
    if type_.kind is Kind.BINARY and not isinstance(tree, exp.Null):
        raise errors.compilation("002263", "22000", "Default values are not allowed on 'BINARY' columns.")
    with run.environment() as environment:
        binder = ExpressionBinder(environment, Scope(), QueryBinder(environment), MEASURE)
        bound = binder.bind(tree)
        if bound.aggregate:
            raise errors.at_position(
                "002032", "42601", where.line, where.position,
                "aggregate functions are not allowed as part of the specification of a default value clause.",
            )  # fmt: skip
        try:
            binder.cast(bound, type_)
        except errors.SnowmeltError:
            raise errors.compilation(
                "002023", "22000", f"Default value data type does not match data type for column {column}"
            ) from None
    return text.text


def literal_for_added(text: SqlText, column: str, type_: DataType) -> Any:
    """The value that existing rows get in a new column.

    ADD COLUMN takes less than CREATE TABLE: a bare literal, whose type is of the column's family.
    """
    tree = parse_snowflake(text.text, line=text.line, column=text.column)
    if type_.kind is Kind.BINARY and not isinstance(tree, exp.Null):
        raise errors.compilation("002263", "22000", "Default values are not allowed on 'BINARY' columns.")
    value, literal = _literal(tree)
    if literal is None:
        raise statement_errors.invalid_default(tree.sql(dialect="snowflake"))
    if value is None or type_.is_semi_structured:
        return value
    if literal.kind is not type_.kind and not (literal.is_numeric and type_.is_numeric):
        raise statement_errors.type_mismatch(str(type_), str(literal), quote(column))
    return _fitted(value, column, type_)


def _literal(tree: exp.Expr) -> tuple[Any, DataType | None]:
    """A literal's Python value and Snowflake type; the type is None for anything that is not a literal."""
    if isinstance(tree, exp.Null):
        return None, types.NULL
    if isinstance(tree, exp.Boolean):
        return bool(tree.this), types.BOOLEAN
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        value, type_ = _literal(tree.this)
        return -value, type_
    if isinstance(tree, exp.HexString):
        return bytes.fromhex(str(tree.this)), types.binary(len(str(tree.this)) // 2)
    if isinstance(tree, exp.Literal):
        text = str(tree.this)
        if tree.is_string:
            return text, types.varchar(max(len(text), 1))
        return Decimal(text), literal_type(tree)
    return None, None


def _fitted(value: Any, column: str, type_: DataType) -> Any:
    """The value as the column stores it."""
    if type_.kind is Kind.FLOAT:
        return float(value)
    if type_.kind is Kind.NUMBER:
        rounded = value.quantize(Decimal(1).scaleb(-(type_.scale or 0)), rounding=ROUND_HALF_UP)
        if abs(rounded) >= Decimal(10) ** ((type_.precision or 38) - (type_.scale or 0)):
            raise errors.out_of_range(str(value))
        return int(rounded) if type_.int64 else rounded
    if type_.kind is Kind.VARCHAR and len(value) > (type_.length or 0):
        raise errors.SnowmeltError("100078", "22000", f"String '{value}' is too long and would be truncated")
    return value
