"""The rows of a secure view, out of reach of the query around it until they are its rows.

An optimizer computes a predicate as early as it can: inside the view, on rows that the view leaves out. Whoever may
read the view learns of them by an error: `WHERE pin::INT = 1` quotes the first one that is no number. So the columns of
such a view are calls of SEALED, which nothing is moved past. It costs the skipping of files, and the quick lane; the
owner's own queries are as they were.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import SEALED, call, identifier
from snowmelt.sql.notes import typed

_ALIAS = "__sealed"


def sealed(query: BoundQuery) -> BoundQuery:
    """The same rows."""
    items = [
        typed(
            exp.alias_(
                call(SEALED, exp.column(identifier(column.key), table=identifier(_ALIAS))), identifier(column.key)
            ),
            column.type,
        )
        for column in query.columns
    ]
    inner = exp.Subquery(this=query.tree, alias=exp.TableAlias(this=identifier(_ALIAS)))
    return replace(query, tree=exp.select(*items).from_(inner))
