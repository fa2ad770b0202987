"""Past shapes of tables, and the time warehouses were up."""

from __future__ import annotations

from datetime import timedelta

from snowmelt.core.names import SchemaName
from snowmelt.state.model import ObjectKind, PastColumn, TableDefinition, TableShape, WarehouseUsage
from snowmelt.state.store import StateStore
from snowmelt.state.trimming import HISTORIES
from tests.state.builders import COLUMNS, T0, database, name, schema, table, with_public


def _shape(last_version: int, *columns: PastColumn) -> TableShape:
    definition = TableDefinition(columns=COLUMNS, location="x")
    return TableShape(table_id="t", last_version=last_version, definition=definition, columns=columns)


def test_a_version_has_the_shape_of_the_first_change_after_it(store: StateStore) -> None:
    renamed = PastColumn(name="B", stored="A")
    added = PastColumn(name="C", stored=None, fill="'x'")
    with store.begin() as state:
        state.shapes.record([_shape(3, renamed, added), _shape(7, added)])
    with store.read() as reader:
        assert [reader.shapes.at("t", version) for version in (0, 3)] == [_shape(3, renamed, added)] * 2
        assert reader.shapes.at("t", 4) == _shape(7, added)
        assert reader.shapes.at("t", 8) is None
        assert reader.shapes.at("other", 1) is None
        assert [shape.last_version for shape in reader.shapes.all("t")] == [3, 7]
    with store.begin() as state:
        state.shapes.record([_shape(3)])
        assert state.shapes.at("t", 1) == _shape(3)
        state.shapes.delete_for("t")
        assert state.shapes.all("t") == []


def test_spans_are_found_by_the_time_they_cover(store: StateStore) -> None:
    def span(id: str, start: int, end: int | None) -> WarehouseUsage:
        return WarehouseUsage(
            id=id,
            warehouse_id="w",
            warehouse_name="W",
            size="Small",
            started_at=T0 + timedelta(seconds=start),
            last_used_at=T0 + timedelta(seconds=start),
            ended_at=None if end is None else T0 + timedelta(seconds=end),
        )

    with store.begin() as state:
        state.usage.record(span("a", 0, 10), span("b", 20, 30), span("c", 40, None))
        assert [item.id for item in state.usage.open()] == ["c"]
        found = state.usage.between(T0 + timedelta(seconds=10), T0 + timedelta(seconds=41))
        assert [item.id for item in found] == ["b", "c"]
        state.usage.record(span("c", 40, 45))
        assert state.usage.open() == []
        assert state.trims.trim(HISTORIES["warehouse usage"], T0 + timedelta(seconds=31), 10) == 2


def test_containers_swap_and_are_purged(store: StateStore) -> None:
    with_public(store)
    with store.begin() as state:
        state.catalog.create_database(database("OTHER"))
        state.catalog.create_schema(schema("OTHER", "S"))
        state.catalog.create(table("T"))
        state.catalog.swap_databases("DB", "OTHER")
        assert state.catalog.find(name("OTHER.PUBLIC.T"), [ObjectKind.TABLE]) is not None
        state.catalog.swap_schemas(SchemaName("OTHER", "PUBLIC"), SchemaName("DB", "S"))
        moved = state.catalog.find(name("DB.S.T"), [ObjectKind.TABLE])
        assert moved is not None
    with store.begin() as state:
        state.catalog.drop(moved.id, state.now)
        assert state.catalog.dropped(name("DB.S.T"), ObjectKind.TABLE) is not None
        state.catalog.drop_schema(SchemaName("DB", "S"), state.now)
        gone = state.catalog.dropped_schema(SchemaName("DB", "S"))
        assert gone is not None
        state.catalog.purge(moved.id)
        state.catalog.purge_schema(gone.id)
        assert [item.name for item in state.catalog.schemas("DB", include_dropped=True)] == []
        state.catalog.drop_database("DB", state.now)
        dropped = state.catalog.dropped_database("DB")
        assert dropped is not None and state.catalog.schemas_of(dropped.id) == []
        state.catalog.purge_database(dropped.id)
        assert [item.name for item in state.catalog.databases(include_dropped=True)] == ["OTHER"]
