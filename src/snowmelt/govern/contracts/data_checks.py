"""What a contract says about rows, as one query that counts those which are not so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from snowmelt.core.names import split_name
from snowmelt.govern.contracts.model import DescribedTable, Property

_COMPARED: dict[str, type[exp.Binary]] = {
    "minimum": exp.LT, "exclusiveMinimum": exp.LTE, "maximum": exp.GT, "exclusiveMaximum": exp.GTE,
}  # fmt: skip
_LENGTHS: dict[str, type[exp.Binary]] = {"minLength": exp.LT, "maxLength": exp.GT}


@dataclass(frozen=True, slots=True)
class DataCheck:
    column: str
    rule: str
    """What every row must be."""
    count: exp.Expr
    """How many rows are not."""


def data_checks(table: DescribedTable) -> tuple[DataCheck, ...]:
    return tuple(check for column in table.columns for check in _of_column(table, column))


def counting_query(table_name: str, checks: Sequence[DataCheck]) -> str:
    """One row: how many rows there are, and then a number for each check."""
    *outer, name = split_name(table_name) or (table_name,)
    schema, database = (outer[-1] if outer else None), (outer[-2] if len(outer) > 1 else None)
    source = exp.table_(name, db=schema, catalog=database, quoted=True)
    counts = [exp.Count(this=exp.Star()), *(check.count for check in checks)]
    columns = [exp.alias_(count, f"C{index}") for index, count in enumerate(counts)]
    return exp.select(*columns).from_(source).sql("snowflake")


def _of_column(table: DescribedTable, column: Property) -> Iterator[DataCheck]:
    def check(rule: str, count: exp.Expr) -> DataCheck:
        return DataCheck(column.name, rule, count)

    if column.required:
        yield check("not NULL", _count(_value(column).is_(exp.null())))
    if column.unique or table.key == (column.name,):
        yield check("unique", _repeated([column.name]))
    elif table.key and column.name == table.key[0]:
        yield check(f"unique with {', '.join(table.key[1:])}", _repeated(table.key))
    for name, limit in column.limits:
        wrong = _beyond(column, name, limit)
        if wrong is not None:
            yield check(f"{name} {limit}", _count(wrong))
    if column.values is not None:
        allowed = [exp.convert(value) for value in column.values]
        yield check(f"one of {', '.join(map(str, column.values))}", _count(exp.not_(_value(column).isin(*allowed))))


def _beyond(column: Property, name: str, limit: Any) -> exp.Expr | None:
    """The rows that a limit does not allow; None for one that says nothing about values."""
    value = _value(column)
    if name in _COMPARED:
        return _COMPARED[name](this=value, expression=exp.convert(limit))
    if name in _LENGTHS:
        return _LENGTHS[name](this=exp.func("LENGTH", value), expression=exp.convert(limit))
    if name == "pattern":
        return exp.EQ(this=exp.func("REGEXP_COUNT", value, exp.convert(limit)), expression=exp.convert(0))
    return None


def _value(column: Property) -> exp.Column:
    return exp.column(exp.to_identifier(column.name, quoted=True))


def _count(condition: exp.Expr) -> exp.Expr:
    return exp.func("COUNT_IF", condition, dialect="snowflake")


def _repeated(names: Sequence[str]) -> exp.Expr:
    """Rows beyond the first of each value. NULL is no value here, as in SQL's own constraints."""
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in names]
    all_rows = exp.Count(this=columns[0].copy())
    return exp.Sub(this=all_rows, expression=exp.Count(this=exp.Distinct(expressions=columns)))
