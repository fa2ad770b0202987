"""Anti-patterns in the query of a view or dynamic table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import quote
from snowmelt.design.antipatterns.library import Library, LintedStatement, parsed, query_of
from snowmelt.design.antipatterns.model import Edit
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.plan import RefreshPlanner
from snowmelt.ivm.reasons import NotIncrementalError
from snowmelt.sql.boundaries import parts_of
from snowmelt.sql.reads import tables_in
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.tokens import tokenize

Found = tuple[str, str, tuple[Edit, ...]]
"""Id, message, how to mend it."""
_LISTS = frozenset({"ARRAY_AGG", "LISTAGG", "OBJECT_AGG", "ARRAY_UNION_AGG"})
_AGGREGATES = frozenset({"SUM", "COUNT", "COUNT_IF", "MIN", "MAX", "AVG", "ANY_VALUE", "MEDIAN"}) | _LISTS
MOST_TABLES = 6
MOST_SUBQUERIES = 6
RAW = re.compile(r"(RAW|BRONZE|LANDING)_.*|.*_(RAW|CHANGES|LANDED|BRONZE)", re.IGNORECASE)
"""How raw tables are called."""
ARRIVAL = re.compile(
    r"_?(LOADED|INGESTED|INSERTED|LANDED)_(AT|ON|TS)|_?LOAD_(TS|TIME|DATE)|_AIRBYTE_\w+|_FIVETRAN_SYNCED", re.IGNORECASE
)
"""How columns with the time of arrival are called."""


def query_findings(item: LintedStatement, library: Library) -> Iterator[Found]:
    query = query_of(item.statement)
    tree = parsed(query) if query is not None else None
    if tree is None:
        return
    dynamic = isinstance(item.statement, CreateDynamicTable)
    yield from _star(item, tree, library)
    yield from _joins(tree)
    yield from _distinct(tree)
    if dynamic:
        yield from _massive(tree)
        yield from _growing(tree)
        yield from _windows(tree)
        yield from _arrival(item, tree)
        yield from _over_raw(tree)
        yield from _not_incremental(item, library)


def _massive(tree: exp.Expr) -> Iterator[Found]:
    tables = len(tables_in(tree))
    parts = sum(1 for _ in tree.find_all(exp.CTE, exp.Subquery))
    if tables > MOST_TABLES or parts > MOST_SUBQUERIES:
        yield "PD-02", f"it reads {tables} tables in {parts + 1} queries", ()


def _growing(tree: exp.Expr) -> Iterator[Found]:
    for select in tree.find_all(exp.Select):
        if select.args.get("where") is not None or select.args.get("qualify") is not None:
            continue
        for call in select.find_all(exp.Anonymous):
            inside = call.find_ancestor(exp.Window, exp.Select)
            if call.name.upper() in _LISTS and inside is select:
                yield "ES-02", f"{call.name.upper()} keeps every row of its group, and nothing bounds them", ()


def _windows(tree: exp.Expr) -> Iterator[Found]:
    for window in tree.find_all(exp.Window):
        if not window.args.get("partition_by"):
            said = f"{window.this.name.upper()} without PARTITION BY is computed over all rows at every change"
            yield "ES-02", said, ()


def _arrival(item: LintedStatement, tree: exp.Expr) -> Iterator[Found]:
    assert isinstance(item.statement, CreateDynamicTable)
    dimension = item.statement.dimension
    if dimension is not None:
        if dimension.sequence and ARRIVAL.fullmatch(dimension.sequence[0].rpartition(".")[2]):
            yield "ES-06", f"SEQUENCE BY {dimension.sequence[0]} is when it came, not when it happened", ()
        return
    for window in tree.find_all(exp.Window):
        if window.this.name.upper() != "ROW_NUMBER":
            continue
        order = window.args.get("order")
        first = order.expressions[0].this if order is not None and order.expressions else None
        if isinstance(first, exp.Column) and ARRIVAL.fullmatch(first.name):
            yield "ES-06", f"ROW_NUMBER orders by {first.name} first, which is when it came, not when it happened", ()


def _over_raw(tree: exp.Expr) -> Iterator[Found]:
    grouped = any(select.args.get("group") is not None for select in tree.find_all(exp.Select))
    raw = sorted(parts[-1] for parts in tables_in(tree) if RAW.fullmatch(parts[-1]))
    if grouped and raw:
        yield "DW-04", f"it aggregates {', '.join(raw)} directly", ()


# -- joins ------------------------------------------------------------------------------------------------------------


def _joins(tree: exp.Expr) -> Iterator[Found]:
    for select in tree.find_all(exp.Select):
        for join in select.args.get("joins") or ():
            if _every_pair(join) and not _joined_in_where(select):
                name = join.this.alias_or_name or "a subquery"
                yield "DW-05", f"{name} is joined to every row: there is no condition", ()


def _every_pair(join: exp.Join) -> bool:
    if join.args.get("on") is not None or join.args.get("using") or join.args.get("method") == "NATURAL":
        return False
    right = join.this
    if isinstance(right, exp.Table) and parts_of(right) is None:
        return False
    if isinstance(right, exp.Subquery) and isinstance(right.this, exp.Select):
        one = right.this
        # An aggregate without GROUP BY, or a VALUES list, is a row or a few that are meant for all.
        calls = {call.name.upper() for call in one.find_all(exp.Anonymous)}
        return one.args.get("group") is not None or not calls & _AGGREGATES
    return isinstance(right, exp.Table)


def _joined_in_where(select: exp.Select) -> bool:
    """`FROM a, b WHERE a.id = b.id`."""
    where = select.args.get("where")
    if where is None:
        return False
    for equal in where.find_all(exp.EQ):
        left, right = equal.left.find(exp.Column), equal.right.find(exp.Column)
        if left is not None and right is not None and left.table != right.table:
            return True
    return False


def _distinct(tree: exp.Expr) -> Iterator[Found]:
    for select in tree.find_all(exp.Select):
        if select.args.get("distinct") is not None and select.args.get("joins"):
            yield "DW-06", "SELECT DISTINCT over a join", ()
    for union in tree.find_all(exp.Union):
        if union.args.get("distinct") and any(side.find(exp.Join) for side in (union.left, union.right)):
            yield "DW-06", "UNION without ALL over a join", ()


# -- SELECT * ---------------------------------------------------------------------------------------------------------


def _star(item: LintedStatement, tree: exp.Expr, library: Library) -> Iterator[Found]:
    own = {cte.alias.upper() for cte in tree.find_all(exp.CTE)}
    dimension = item.statement.dimension if isinstance(item.statement, CreateDynamicTable) else None
    if dimension is not None and "*" not in dimension.source:
        return
    for select in tree.find_all(exp.Select):
        if any(_is_star(column) for column in select.expressions) and _reads_table(select, own):
            yield "PD-04", "SELECT * takes whatever columns the source has", _columns_written_out(item, tree, library)


def _is_star(column: exp.Expr) -> bool:
    return isinstance(column, exp.Star) or (isinstance(column, exp.Column) and isinstance(column.this, exp.Star))


def _reads_table(select: exp.Select, own: set[str]) -> bool:
    origin = select.args.get("from_")
    sources = [origin.this] if origin is not None else []
    sources += [join.this for join in select.args.get("joins") or ()]
    return any(isinstance(source, exp.Table) and source.name.upper() not in own for source in sources)


def _columns_written_out(item: LintedStatement, tree: exp.Expr, library: Library) -> tuple[Edit, ...]:
    """Only where there is one star, over one table whose columns are known."""
    query = query_of(item.statement)
    assert query is not None
    tokens = tokenize(item.sql).tokens
    stars = [
        token
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if before.word == "SELECT" and token.word == "*" and after.word == "FROM"
    ]
    tables = tables_in(tree)
    if len(stars) != 1 or len(tables) != 1 or not isinstance(tree, exp.Select) or tree.args.get("joins"):
        return ()
    source = library.find(next(iter(tables)), item.parts)
    columns = library.columns_of(source) if source is not None else None
    if not columns:
        return ()
    listed = ", ".join(quote(column.name) for column in columns)
    return (Edit(item.offset + stars[0].start, item.offset + stars[0].end, listed),)


# -- incremental ------------------------------------------------------------------------------------------------------


def _not_incremental(item: LintedStatement, library: Library) -> Iterator[Found]:
    reason = why_not_incremental(item, library)
    if reason is not None:
        yield "DW-01", reason, ()


def why_not_incremental(item: LintedStatement, library: Library) -> str | None:
    """The reason that EXPLAIN DYNAMIC TABLE would give; None if there is none, or if tables are unknown here."""
    try:
        text = library.full_query(item)
        if text is None:
            return None
        bound = library.bind(text)
        RefreshPlanner(lower(bound.tree, library.scanned()))
    except NotIncrementalError as error:
        return str(error)
    except SnowmeltError:
        return None
    return None
