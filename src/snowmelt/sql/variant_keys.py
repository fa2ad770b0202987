"""VARIANT, OBJECT and ARRAY where rows are gathered by them: GROUP BY, DISTINCT, UNION.

Spark can't group by a VARIANT. Rows are gathered by a key that compares as Snowflake compares the values
(`variants.comparable`), and the value that stands for a group is the least of its texts: the same one each time, on
every engine, whichever rows came first. `1` and `1.0` are one group.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.sql.bound import OutputColumn
from snowmelt.sql.dialect import identifier, spark
from snowmelt.sql.notes import typed
from snowmelt.sql.variants import comparable

_ROWS = "__d"


def stand_in(value: exp.Expr) -> exp.Expr:
    """The value of a group of equal ones."""
    return spark("min_by(_0, struct(to_json(_0), schema_of_variant(_0)))", value)


def distinct_rows(query: exp.Query, columns: Sequence[OutputColumn]) -> exp.Select:
    """What SELECT DISTINCT gives of a query with such columns."""
    projections: list[exp.Expr] = []
    keys: list[exp.Expr] = []
    for column in columns:
        value = exp.column(identifier(column.key), table=identifier(_ROWS))
        semi = column.type.is_semi_structured
        keys.append(comparable(value) if semi else value)
        shown = stand_in(value) if semi else value.copy()
        projections.append(typed(exp.alias_(shown, identifier(column.key)), column.type))
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(_ROWS)))
    distinct = exp.select(*projections).from_(rows)
    distinct.set("group", exp.Group(expressions=keys))
    return distinct
