"""Whether a dynamic table is what its query gives: recomputed at the very versions it was computed from, and compared.

Rows are compared as multisets, each by the text of its values: FLOAT to nine digits, VARIANT values by their JSON text
with ordered keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import Kind
from snowmelt.engine.model import Lane
from snowmelt.features.dynamic_tables import pins
from snowmelt.govern.quality.expressions import violation
from snowmelt.runtime.incremental import filling
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog, bind
from snowmelt.runtime.incremental.runs import RefreshRun, refresh_run
from snowmelt.runtime.run import Run
from snowmelt.sql import variants
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.dynamic_model import DynamicState, RefreshMode
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.state.quality_model import FailureAction
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

MOST_DIFFERENCES = 20
EXPECTED, ACTUAL = "__expected", "__actual"


def check(account: Account, table: CatalogObject, caller: Run | None = None) -> dict[str, Any]:
    """The verdict: `equal`, counts, and up to 20 rows that differ, each with how often it should be there and is."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    with account.state.read() as state:
        dynamic = state.dynamic.require(table.id)
        if dynamic.data_timestamp is None or dynamic.version is None:
            raise errors.not_initialized(str(table.name))
        with refresh_run(account, table.name, table.owner, definition.dynamic.warehouse, caller=caller) as run:
            try:
                grouped = _grouped(run, state, table, dynamic)
                found = _verdict(run, definition, grouped)
            finally:
                run.release_warehouse()
    return {
        "table": str(table.name),
        "data_timestamp": dynamic.data_timestamp.isoformat(),
        # The definition was changed since: what the table holds belongs to the one before.
        **({"pending": pending} if (pending := _pending(dynamic)) is not None else {}),
        **found,
    }


def _pending(dynamic: DynamicState) -> str | None:
    carried = "The query was changed: the rows are carried over." if dynamic.rows_of is not None else None
    return dynamic.reinit_reason or carried


def _verdict(run: RefreshRun, definition: TableDefinition, grouped: exp.Select) -> dict[str, Any]:
    missing = spark("greatest(_0 - _1, 0)", exp.column(EXPECTED), exp.column(ACTUAL))
    unexpected = spark("greatest(_0 - _1, 0)", exp.column(ACTUAL), exp.column(EXPECTED))
    names = ("expected_rows", "actual_rows", "missing_rows", "unexpected_rows")
    sums = zip((exp.column(EXPECTED), exp.column(ACTUAL), missing, unexpected), names, strict=True)
    totals = exp.select(*(exp.alias_(spark("coalesce(sum(_0), 0)", tree), name) for tree, name in sums)).from_(
        subquery(grouped)
    )
    counts = [int(column[0].as_py()) for column in fetch(run, totals).columns]
    found: dict[str, Any] = dict(zip(names, counts, strict=True))
    equal = not found["missing_rows"] and not found["unexpected_rows"]
    return {"equal": equal, **found, "differences": [] if equal else _differences(run, definition, grouped)}


def _differences(run: RefreshRun, definition: TableDefinition, grouped: exp.Select) -> list[dict[str, Any]]:
    differing = (
        exp.select(*text_names(definition.columns), EXPECTED, ACTUAL)
        .from_(subquery(grouped))
        .where(exp.column(EXPECTED).neq(exp.column(ACTUAL)))
        .limit(MOST_DIFFERENCES)
    )
    names = [column.name for column in definition.columns]
    return [
        {
            "row": dict(zip(names, row_of(row, definition.columns), strict=True)),
            "expected": int(row[EXPECTED]),
            "actual": int(row[ACTUAL]),
        }
        for row in fetch(run, differing).to_pylist()
    ]


def _grouped(run: RefreshRun, state: StateReader, table: CatalogObject, dynamic: DynamicState) -> exp.Select:
    """Every distinct row with how often the query gives it and the table has it."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    assert dynamic.data_timestamp is not None and dynamic.version is not None
    gone = pins.forgotten(state, dynamic.frontier)
    if gone is not None:
        raise errors.compilation(
            "002740", "22000", f"'{table.name}' can't be compared with its query as of its data timestamp. {gone}",
            hint="Refresh the dynamic table, which computes it again.",
        )  # fmt: skip
    bound = bind(
        run, state, table.name, definition.dynamic, dynamic.data_timestamp, pins.at_frontier(dynamic.frontier),
        dynamic.dependencies,
    )  # fmt: skip
    expected = computed_rows(run, table, bound, dynamic.refresh_mode)
    visible = state.versions.visible(table.id)
    assert visible is not None
    actual = _comparable(bound, table, _stored_rows(bound, table, visible.version))
    return to_compare(expected, actual, definition.columns)


def computed_rows(run: RefreshRun, table: CatalogObject, bound: BoundDefinition, mode: RefreshMode) -> exp.Select:
    """What the query gives, as far as the table has to be equal to it."""
    filling.check_columns(table, bound.query)
    if mode is not RefreshMode.FULL:
        bound = incremental.reproducible(bound)
    return _comparable(bound, table, filling.all_rows(run, table, bound))


def _comparable(bound: BoundDefinition, table: CatalogObject, rows: exp.Select) -> exp.Select:
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    if definition.dynamic.frozen_where is not None:
        # What is frozen is not what the query gives, and need not be.
        rows = filling.thawed(bound.environment, table, rows)
    for check in definition.quality:
        if check.action is FailureAction.QUARANTINE:
            # Nor are rows that are kept out.
            rows = filling.without(bound.environment, table, rows, violation(check))
    return rows


def to_compare(expected: exp.Select, actual: exp.Select, columns: tuple[Column, ...]) -> exp.Select:
    """Every distinct row of two queries with how often each gives it."""
    both = exp.union(_counted(expected, columns, 1, 0), _counted(actual, columns, 0, 1), distinct=False)
    return (
        exp.select(
            *text_names(columns),
            exp.alias_(spark("sum(_0)", exp.column(EXPECTED)), EXPECTED),
            exp.alias_(spark("sum(_0)", exp.column(ACTUAL)), ACTUAL),
        )
        .from_(subquery(both))
        .group_by(*text_names(columns))
    )


def _stored_rows(bound: BoundDefinition, table: CatalogObject, version: int) -> exp.Select:
    definition = table.definition
    catalog = bound.environment.relations
    assert isinstance(definition, TableDefinition) and isinstance(catalog, DefinitionCatalog)
    relation = catalog.pin(table, definition, version, catalog.state.shapes.at(table.id, version))
    assert relation.reference is not None
    return filling.stored_rows(definition, relation.reference)


def _counted(rows: exp.Select, columns: tuple[Column, ...], expected: int, actual: int) -> exp.Select:
    return exp.select(
        *texts_of(columns), exp.alias_(integer(expected), EXPECTED), exp.alias_(integer(actual), ACTUAL)
    ).from_(subquery(rows))


def texts_of(columns: Sequence[Column]) -> list[exp.Expr]:
    """The values of a stored row as texts, under the names of `text_names`: all equal for equal rows only."""
    return [exp.alias_(_text(column), name.this) for column, name in zip(columns, text_names(columns), strict=True)]


def text_names(columns: Sequence[Column], table: str | None = None) -> list[exp.Column]:
    return [exp.column(f"__text{index}", table) for index in range(len(columns))]


def row_of(found: Mapping[str, Any], columns: Sequence[Column]) -> tuple[str | None, ...]:
    """The texts of a row that was fetched."""
    return tuple(found[name.name] for name in text_names(columns))


def _text(column: Column) -> exp.Expr:
    """A stored value as text that is equal for equal values and differs for others."""
    value = exp.column(identifier(column.name))
    match column.type.kind:
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            return variants.to_json_text(value)
        case Kind.BINARY:
            return spark("hex(_0)", value)
        case Kind.FLOAT:
            # A sum of floats depends in its last digits on the order of the rows; there is a negative zero as well.
            return spark("format_string('%.8e', if(_0 = 0, 0.0D, _0))", value)
        case _:
            return spark("cast(_0 as string)", value)


def subquery(query: exp.Query) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier("__q")))


def fetch(run: RefreshRun, query: exp.Select) -> Any:
    return run.account.engine.to_arrow(
        query, list(run.tables.values()), lane=run.lane if run.tables else Lane.LIGHT, tag=run.tag,
        pool=run.pool, inputs=run.inputs,
    )  # fmt: skip
