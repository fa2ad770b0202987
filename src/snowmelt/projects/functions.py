"""`functions` of DataFrame code: Snowflake's functions by their names, and Spark's as Snowflake says them.

A name that both have means Snowflake's function, as everywhere in a project; sqlglot translates the others.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.projects.columns import ColumnExpression, as_column, column, parsed, value
from snowmelt.sql.functions.catalog import FUNCTIONS

_ALL_NAMES = frozenset(
    {
        "array", "coalesce", "concat", "corr", "count_distinct", "covar_pop", "covar_samp", "date_diff", "datediff",
        "greatest", "hash", "least", "max_by", "min_by", "months_between", "nullif", "nvl", "struct",
    }
)  # fmt: skip
"""Functions all of whose strings are names of columns. With others that is the first one only; the rest are values."""
_VALUES_FIRST = frozenset({"concat_ws", "date_trunc"})
"""Functions whose first string is a value, and the rest are names of columns."""
_OTHER_MEANING = frozenset({"array_contains", "date_add", "date_sub", "datediff", "date_diff", "log", "trunc"})
"""Names that Snowflake has too, for other arguments: PySpark code means Spark's."""
_WITH_FORMAT = frozenset({"to_char", "to_date", "to_timestamp"})
"""With a second argument, which is a format in Spark's letters, they are Spark's."""


class Functions:
    """`functions.sum("amount")`. A string in first place is the name of a column; `col` and `lit` say it outright."""

    def col(self, name: str) -> ColumnExpression:
        return column(name)

    column = col

    def lit(self, item: object) -> ColumnExpression:
        return value(item)

    def expr(self, text: str) -> ColumnExpression:
        return ColumnExpression(parsed(text))

    def when(self, condition: ColumnExpression, result: object) -> ColumnExpression:
        return ColumnExpression(exp.Case(ifs=[exp.If(this=condition.tree.copy(), true=value(result).tree)]))

    def asc(self, item: str) -> ColumnExpression:
        return column(item).asc()

    def desc(self, item: str) -> ColumnExpression:
        return column(item).desc()

    def count(self, item: ColumnExpression | str) -> ColumnExpression:
        return ColumnExpression(exp.Count(this=as_column(item).tree))

    def count_distinct(self, *items: ColumnExpression | str) -> ColumnExpression:
        trees = [as_column(item).tree for item in items]
        return ColumnExpression(exp.Count(this=exp.Distinct(expressions=trees)))

    countDistinct = count_distinct  # noqa: N815 (PySpark's name)

    def sum_distinct(self, item: ColumnExpression | str) -> ColumnExpression:
        return ColumnExpression(exp.Sum(this=exp.Distinct(expressions=[as_column(item).tree])))

    def __getattr__(self, name: str) -> Callable[..., ColumnExpression]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("udf", "pandas_udf", "udtf"):
            raise errors.unsupported(
                f"functions.{name} in a project",
                hint="Write it with functions, or create a SQL function in a .sql file.",
            )

        def call(*arguments: object) -> ColumnExpression:
            trees = [_argument(name.lower(), index, item) for index, item in enumerate(arguments)]
            if _is_snowflakes(name.lower(), len(trees)):
                return ColumnExpression(exp.Anonymous(this=name.upper(), expressions=trees))
            return ColumnExpression(exp.func(name, *trees, dialect="spark"))

        call.__name__ = name
        return call


def _is_snowflakes(name: str, given: int) -> bool:
    return name.upper() in FUNCTIONS and name not in _OTHER_MEANING and not (name in _WITH_FORMAT and given > 1)


def _argument(name: str, index: int, item: object) -> exp.Expr:
    if isinstance(item, str):
        named = name in _ALL_NAMES or ((index == 0) != (name in _VALUES_FIRST))
        return as_column(item).tree if named else value(item).tree
    return value(item).tree


functions = Functions()
