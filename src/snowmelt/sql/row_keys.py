"""Values that are equal and look different, where rows are gathered by them: GROUP BY, DISTINCT, UNION.

`1` and `1.0` in a VARIANT, OBJECT or ARRAY, 12:00 +0200 and 10:00 +0000 in a TIMESTAMP_TZ, `a` and `A` under a
collation. Spark can't group by a VARIANT, and it tells the others apart. So rows are gathered by a key that compares as
Snowflake compares the values: `variants.comparable`, the instant, or `collations.key`. The value that stands for a
group is the least of its texts, or of its offsets: the same one each time, on every engine, whichever rows came first.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.sql import collations
from snowmelt.sql.bound import OutputColumn
from snowmelt.sql.dialect import identifier, spark
from snowmelt.sql.notes import typed
from snowmelt.sql.temporal import tz_instant
from snowmelt.sql.variants import comparable

_ROWS = "__d"


def key_of(value: exp.Expr, type_: DataType) -> exp.Expr:
    """What Spark compares, sorts and gathers rows by in place of the value."""
    if type_.is_semi_structured:
        return comparable(value)
    if type_.is_collated:
        return collations.key(value, type_.collation or "")
    return tz_instant(value) if type_.kind is Kind.TIMESTAMP_TZ else value.copy()


def one_zero(value: exp.Expr, type_: DataType) -> exp.Expr:
    """Makes -0.0 and 0.0 one value, for functions that count values themselves: -0.0 plus 0.0 is 0.0."""
    return spark("_0 + 0.0D", value) if type_.kind is Kind.FLOAT else value


def stand_in(value: exp.Expr, type_: DataType) -> exp.Expr:
    """The value of a group of equal ones. NULL where grouping sets make its key NULL."""
    if not type_.is_semi_structured:
        return spark("CASE WHEN _1 IS NOT NULL THEN min(_0) END", value, key_of(value, type_))
    return spark("min_by(_0, struct(to_json(_0), schema_of_variant(_0)))", value)


def distinct_rows(query: exp.Query, columns: Sequence[OutputColumn]) -> exp.Select:
    """What SELECT DISTINCT gives of a query with such columns."""
    projections: list[exp.Expr] = []
    keys: list[exp.Expr] = []
    for column in columns:
        value = exp.column(identifier(column.key), table=identifier(_ROWS))
        keys.append(key_of(value, column.type))
        shown = stand_in(value, column.type) if column.type.has_key else value.copy()
        projections.append(typed(exp.alias_(shown, identifier(column.key)), column.type))
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(_ROWS)))
    distinct = exp.select(*projections).from_(rows)
    distinct.set("group", exp.Group(expressions=keys))
    return distinct
