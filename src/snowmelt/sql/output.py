"""The last step of a query: values in the form in which results travel."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.sql import variants
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import identifier


def presented(query: BoundQuery) -> exp.Expr:
    """The query with VARIANT, OBJECT and ARRAY columns as JSON text; all others as they are."""
    if not any(column.type.is_semi_structured for column in query.columns):
        return query.tree
    alias = identifier("__r")
    projections = []
    for column in query.columns:
        value: exp.Expr = exp.column(identifier(column.key), table=alias.copy())
        if column.type.is_semi_structured:
            value = variants.to_json_text(value)
        projections.append(exp.alias_(value, identifier(column.key)))
    tree = query.tree.copy()
    outer = exp.select(*projections)
    order = tree.args.get("order")
    if order is not None and isinstance(tree, exp.Select) and tree.args.get("limit") is None:
        # Rows of a subquery have no order: the sort has to stay outermost. Spark keeps it when it is the child of a
        # projection only, which is what this is.
        pass
    with_ = tree.args.pop("with_", None)
    outer = outer.from_(exp.Subquery(this=tree, alias=exp.TableAlias(this=alias)))
    if with_ is not None:
        outer.set("with_", with_)
    return outer
