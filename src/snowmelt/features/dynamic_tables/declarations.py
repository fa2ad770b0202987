"""From what CREATE DYNAMIC TABLE says to the definition that the catalog keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.lag import show_lag
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.types import DataType, Kind
from snowmelt.features.dynamic_tables.graph import RefreshGraph
from snowmelt.runtime import declaring, retention
from snowmelt.runtime.incremental import planning
from snowmelt.runtime.incremental.definitions import BoundDefinition
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.columns import ColumnSpec
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.state.dynamic_model import DynamicDefinition, RefreshMode
from snowmelt.state.model import CatalogObject, Column, Key, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def declared(run: Run, name: ObjectName, statement: CreateDynamicTable) -> DynamicDefinition:
    """The dynamic part, complete but for what the query says."""
    options = statement.options
    assert statement.query is not None
    disabled = options.scheduler == "DISABLE"
    missing = [
        word
        for word, absent in (
            ("TARGET_LAG", options.target_lag is None and not disabled),
            ("WAREHOUSE", options.warehouse is None),
        )
        if absent
    ]
    if missing:
        raise errors.missing_options(missing)
    if disabled and options.target_lag is not None:
        raise errors.compilation("001008", "22023", "TARGET_LAG can't be combined with SCHEDULER = DISABLE.")
    if statement.require_user and options.initialize != "ON_SCHEDULE":
        raise errors.compilation("001008", "22023", "REQUIRE USER needs INITIALIZE = ON_SCHEDULE.")
    if not statement.columns:
        declaring.require_names(parse_snowflake(statement.query.text))
    retention.check(options.data_retention_time_in_days, transient=statement.transient)
    assert options.warehouse is not None
    backfill = run.find_table(statement.backfill_from) if statement.backfill_from is not None else None
    comment = f" COMMENT = '{_escaped(options.comment)}'" if options.comment is not None else ""
    return DynamicDefinition(
        query=statement.query.text.rstrip().rstrip(";").rstrip(),
        database=run.session.database or name.database,
        schema=run.session.schema or name.schema,
        target_lag=options.target_lag.seconds if options.target_lag is not None else None,
        scheduler="DISABLE" if disabled else "ENABLE" if options.scheduler is not None else None,
        warehouse=warehouse(run, options.warehouse),
        initialization_warehouse=warehouse(run, options.initialization_warehouse) or None,
        refresh_mode=RefreshMode(options.refresh_mode or "AUTO"),
        initialize="ON_SCHEDULE" if options.initialize == "ON_SCHEDULE" else "ON_CREATE",
        frozen_where=statement.frozen_where.text if statement.frozen_where is not None else None,
        backfill_from=str(backfill.name) if backfill is not None else None,
        explicit_columns=bool(statement.columns),
        require_user=statement.require_user,
        dimension=statement.dimension,
        head=statement.head + comment,
    )


def warehouse(run: Run, name: NameRef | None) -> str:
    """The name of a warehouse that exists; empty for none."""
    if name is None:
        return ""
    parts = run.parts(name)
    with run.state.read() as state:
        found = state.warehouses.get(parts[-1]) if len(parts) == 1 else None
    if found is None:
        raise errors.compilation("002725", "02000", f"Warehouse '{'.'.join(map(quote, parts))}' does not exist.")
    return found.name


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def definition_of(
    run: Run, statement: CreateDynamicTable, dynamic: DynamicDefinition, bound: BoundDefinition
) -> TableDefinition:
    check_contract(statement.columns, bound.query)
    columns = [
        column.model_copy(update={"default": None})
        for column in declaring.columns_of_query(run, statement.columns, bound.query)
    ]
    declaring.check_names(columns)
    check_frozen(columns, dynamic)
    key = tuple(columns[position].name for position in planning.derived_key(bound))
    return TableDefinition(
        columns=tuple(columns),
        unique_keys=(Key(name=declaring.system_name(), columns=key),) if key and dynamic.frozen_where is None else (),
        location="",
        transient=statement.transient,
        cluster_by=declaring.clustering_key(run, run.object_name(statement.name), columns, statement.cluster_by),
        dynamic=dynamic,
    )


def check_contract(specs: Sequence[ColumnSpec], query: BoundQuery) -> None:
    """Columns that are declared with types are a promise: the query must give those, in that order, and no others.

    A list that shares no name with the query only gives its columns other names, as Snowflake has it.
    """
    declared = [spec.name for spec in specs]
    produced = [column.name for column in query.columns]
    if not any(spec.type is not None for spec in specs) or not set(declared) & set(produced):
        return
    problems = [f"{name} is declared, and the query does not give it" for name in declared if name not in produced]
    problems += [f"{name} is not declared" for name in produced if name not in declared]
    if not problems and declared != produced:
        problems = [f"the query's order is {', '.join(produced)}"]
    if not problems:
        problems = [
            f"{spec.name} is declared as {declared_type}, and the query gives {column.type}"
            for spec, column in zip(specs, query.columns, strict=True)
            if spec.type is not None and not _keeps(declared_type := declaring.type_of(spec.type), column.type)
        ]
    if problems:
        raise errors.compilation(
            "002026", "42601", f"Invalid column definition list: {'; '.join(problems)}.",
            hint="Change the query or the declared columns, so that both say the same. Nothing was changed.",
        )  # fmt: skip


def _keeps(declared: DataType, produced: DataType) -> bool:
    """Whether every value of the produced type is one of the declared type, unchanged."""
    if declared.kind is not produced.kind:
        return produced.kind is Kind.NULL
    if declared.kind is not Kind.NUMBER:
        return True
    whole = (declared.precision or 0) - (declared.scale or 0)
    return declared.scale == produced.scale and whole >= min(38, produced.precision or 0) - (produced.scale or 0)


def fits(old: DataType, new: DataType) -> bool:
    """Whether every value of the one type is a value of the other."""
    if old == new:
        return True
    same = old.kind is new.kind and old.scale == new.scale
    return same and (new.precision or 0) >= (old.precision or 0) and (new.length or 0) >= (old.length or 0)


def check_frozen(columns: Iterable[Column], dynamic: DynamicDefinition) -> None:
    if dynamic.backfill_from is not None and dynamic.frozen_where is None:
        raise errors.compilation(
            "002780", "22023", "BACKFILL FROM needs FROZEN WHERE, which says which rows are taken over."
        )


def check_sources(bound: BoundDefinition, mode: RefreshMode) -> None:
    """An incremental refresh needs the changes of its sources."""
    for table in bound.sources.values():
        assert isinstance(table.definition, TableDefinition)
        if mode is not RefreshMode.FULL and not table.definition.change_feed:
            raise errors.change_tracking_missing(str(table.name))


def check_lag(name: ObjectName, lag: int | None, upstream: Iterable[CatalogObject]) -> None:
    """A table can't be fresher than what it reads."""
    if lag is None:
        return
    for table in upstream:
        assert isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
        above = table.definition.dynamic.target_lag
        if above is not None and above > lag:
            raise errors.compilation(
                "002738", "22023",
                f"The target lag of dynamic table '{name}', {show_lag(lag)}, is lower than that of its input "
                f"'{table.name}', {show_lag(above)}.",
                hint="Give the input a lag that is at most as long, or DOWNSTREAM.",
            )  # fmt: skip


def dynamic_sources(bound: BoundDefinition) -> list[CatalogObject]:
    """The dynamic tables that are refreshed together with the one of this query."""
    return [
        table
        for table in bound.sources.values()
        if isinstance(table.definition, TableDefinition)
        and table.definition.dynamic is not None
        and table.name not in bound.bounded
    ]


def check_acyclic(graph: RefreshGraph, name: ObjectName, bound: BoundDefinition) -> None:
    """A table that replaces another one of its name must not read what reads that one."""
    for node in graph.with_upstream([table.id for table in dynamic_sources(bound)]):
        if node.table.name == name:
            raise errors.compilation("002719", "42601", f"Dynamic Table '{name}' would depend on itself.")


def track_changes(state: StateReader, bound: BoundDefinition) -> list[CatalogObject]:
    """The base tables on which change tracking is to be switched on, as they should be."""
    changed: list[CatalogObject] = []
    for id in bound.sources:
        table = state.catalog.by_id(id)
        if table is None or not isinstance(table.definition, TableDefinition):
            continue
        definition = table.definition
        if definition.dynamic is None and not definition.change_tracking:
            tracked = definition.model_copy(update={"change_tracking": True})
            changed.append(table.model_copy(update={"definition": tracked}))
    return changed
