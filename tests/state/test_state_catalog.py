"""The catalog: names, drops, renames and what may share a name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import SchemaName
from snowmelt.core.types import INTEGER, VARCHAR, number
from snowmelt.features.loading.definitions import STAGE
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateStore
from tests.state.builders import (
    COLUMNS,
    T0,
    database,
    name,
    routine,
    schema,
    stage,
    table,
    view,
    with_public,
)

TABLE = {ObjectKind.TABLE}
PUBLIC = SchemaName("DB", "PUBLIC")
ALREADY_EXISTS = "002002"
NOT_FOUND = "002003"


@pytest.fixture
def db(store: StateStore) -> StateStore:
    return with_public(store)


def create(store: StateStore, *objects: CatalogObject) -> None:
    with store.begin() as transaction:
        for object in objects:
            transaction.catalog.create(object)


def names(store: StateStore, **options: object) -> list[str]:
    with store.read() as reader:
        return [str(object.name) for object in reader.catalog.objects(**options)]  # type: ignore[arg-type]


def test_what_is_stored_is_what_comes_back(db: StateStore) -> None:
    stored = [table("T"), view("V"), stage("S"), routine("F", [INTEGER, number(10, 2)])]
    create(db, *stored)
    with db.read() as reader:
        assert [reader.catalog.by_id(object.id) for object in stored] == stored
        assert [reader.catalog.find(object.name, [object.kind]) for object in stored] == stored
        assert reader.catalog.find(name("NONE"), TABLE) is None
        assert reader.catalog.by_id("none") is None


def test_objects_come_in_the_order_of_names_by_code_point(db: StateStore) -> None:
    with db.begin() as transaction:
        transaction.catalog.create_schema(schema("DB", "A"))
    create(db, table("b"), table("a"), table("Z"), table("É"), table("_"), table("DB.A.T"))
    assert names(db) == [
        "DB.A.T",
        "DB.PUBLIC.Z",
        "DB.PUBLIC._",
        'DB.PUBLIC."a"',
        'DB.PUBLIC."b"',
        'DB.PUBLIC."É"',
    ]
    assert names(db, schema="A") == names(db, database="DB", kinds=TABLE)[:1] == ["DB.A.T"]
    assert names(db, database="X") == names(db, kinds=[ObjectKind.VIEW]) == names(db, kinds=[]) == []


@pytest.mark.parametrize(("first", "second"), [(table, table), (table, view), (view, table), (stage, stage)])
def test_a_name_is_taken_once_per_namespace(db: StateStore, first: object, second: object) -> None:
    assert callable(first) and callable(second)
    create(db, first("X"))
    with db.begin() as transaction:
        with pytest.raises(SnowmeltError, match=r"Object 'DB\.PUBLIC\.X' already exists") as raised:
            transaction.catalog.create(second("X"))
        assert raised.value.code == ALREADY_EXISTS
        # The transaction goes on, as IF NOT EXISTS needs.
        transaction.catalog.create(table("Y"))
    assert names(db) == ["DB.PUBLIC.X", "DB.PUBLIC.Y"]


def test_the_database_itself_refuses_a_second_live_object_in_a_slot(db: StateStore) -> None:
    create(db, table("X"), table("Y"))
    with pytest.raises(IntegrityError), db._engines.write.begin() as connection:
        connection.exec_driver_sql("UPDATE objects SET slot = (SELECT min(slot) FROM objects)")


def test_kinds_other_than_relations_have_namespaces_of_their_own(db: StateStore) -> None:
    create(db, table("X"), stage("X"), routine("X", []), routine("X", [], "PROCEDURE"))
    with db.read() as reader:
        found = reader.catalog.find(name("X"), [STAGE])
    assert found is not None and found.kind is STAGE


def test_routines_share_a_name_by_argument_types(db: StateStore) -> None:
    overloads = [
        routine("F", []),
        routine("F", [INTEGER]),
        routine("F", [VARCHAR]),
        routine("F", [INTEGER, VARCHAR]),
    ]
    create(db, *overloads)
    with pytest.raises(SnowmeltError, match="already exists"):
        # Precision does not tell overloads apart.
        create(db, routine("F", [number(10, 2)]))
    with db.read() as reader:
        found = reader.catalog.routines(name("F"), ObjectKind.FUNCTION)
        assert {routine.id for routine in found} == {routine.id for routine in overloads}
        assert reader.catalog.routines(name("F"), ObjectKind.PROCEDURE) == []


def test_a_temporary_object_hides_a_permanent_one_in_its_session_alone(db: StateStore) -> None:
    permanent, temporary = table("T"), table("T", session="s1")
    create(db, permanent, temporary, table("T", session="s2"))
    with db.read() as reader:
        assert reader.catalog.find(name("T"), RELATIONS, "s1") == temporary
        assert reader.catalog.find(name("T"), RELATIONS, "s9") == permanent
        assert reader.catalog.find(name("T"), RELATIONS) == permanent
        assert len(reader.catalog.objects()) == 1
        assert len(reader.catalog.objects(session_id="s1")) == 2
        assert len(reader.catalog.objects(all_sessions=True)) == 3


def test_the_end_of_a_session_removes_its_objects(db: StateStore) -> None:
    kept, temporary, dropped = table("T"), table("T", session="s1"), table("U", session="s1")
    create(db, kept, temporary, dropped)
    with db.begin() as transaction:
        transaction.catalog.drop(dropped.id, transaction.now)
    with db.begin() as transaction:
        removed = transaction.catalog.drop_session("s1")
        before = transaction.catalog.generation()
        assert transaction.catalog.drop_session("s1") == []
        assert transaction.catalog.generation() == before
    assert {object.id for object in removed} == {temporary.id, dropped.id}
    with db.read() as reader:
        assert reader.catalog.objects(all_sessions=True, include_dropped=True) == [kept]


def test_update_keeps_the_name(db: StateStore) -> None:
    created = table("T")
    create(db, created)
    changed = created.model_copy(
        update={"comment": "hi", "definition": TableDefinition(columns=COLUMNS[:1], location="tables/T")}
    )
    with db.begin() as transaction:
        transaction.catalog.update(changed)
        with pytest.raises(SnowmeltError, match="cannot be performed"):
            transaction.catalog.update(created.model_copy(update={"name": name("U")}))
        with pytest.raises(SnowmeltError, match="cannot be performed"):
            transaction.catalog.update(table("T"))
    with db.read() as reader:
        assert reader.catalog.find(name("T"), TABLE) == changed


def test_undrop_brings_back_the_latest(db: StateStore) -> None:
    first, second, third = table("T"), table("T"), table("T")
    for object in (first, second):
        create(db, object)
        with db.begin() as transaction:
            transaction.catalog.drop(object.id, transaction.now)
            with pytest.raises(SnowmeltError, match="cannot be performed"):
                transaction.catalog.drop(object.id, transaction.now)
    create(db, third)
    with db.begin() as transaction:
        with pytest.raises(SnowmeltError, match="already exists"):
            transaction.catalog.undrop(name("T"), ObjectKind.TABLE)
        transaction.catalog.rename(third.id, name("NEW"))
        assert transaction.catalog.undrop(name("T"), ObjectKind.TABLE) == second
        assert transaction.catalog.undrop(name("T"), ObjectKind.VIEW) is None
        assert transaction.catalog.find(name("T"), TABLE) == second
        dropped = transaction.catalog.by_id(first.id)
        assert dropped is not None and dropped.dropped_on is not None
        transaction.catalog.purge(first.id)
        assert transaction.catalog.by_id(first.id) is None
    assert names(db, include_dropped=True) == ["DB.PUBLIC.NEW", "DB.PUBLIC.T"]


def test_swap_exchanges_names_across_schemas(db: StateStore) -> None:
    a, b = table("A"), table("DB.OTHER.B")
    with db.begin() as transaction:
        transaction.catalog.create_schema(schema("DB", "OTHER"))
    create(db, a, b, stage("A"))
    with db.begin() as transaction:
        transaction.catalog.swap(a.id, b.id)
    with db.read() as reader:
        at_a = reader.catalog.find(name("A"), TABLE)
        at_b = reader.catalog.find(name("DB.OTHER.B"), TABLE)
    assert at_a is not None and at_b is not None
    assert (at_a.id, at_b.id) == (b.id, a.id)


def test_rename_refuses_a_taken_name_and_an_unknown_schema(db: StateStore) -> None:
    a = table("A")
    create(db, a, view("B"))
    with db.begin() as transaction:
        with pytest.raises(SnowmeltError, match="already exists"):
            transaction.catalog.rename(a.id, name("B"))
        with pytest.raises(SnowmeltError, match=r"Schema 'DB\.NONE' does not exist") as raised:
            transaction.catalog.rename(a.id, name("DB.NONE.A"))
        assert raised.value.code == NOT_FOUND
        transaction.catalog.rename(a.id, name("C"))
    assert names(db) == ["DB.PUBLIC.B", "DB.PUBLIC.C"]


def test_renaming_a_schema_or_database_renames_what_is_inside(db: StateStore) -> None:
    created = table("T")
    create(db, created)
    with db.begin() as transaction:
        transaction.catalog.create_database(database("OTHER"))
        transaction.catalog.rename_schema(PUBLIC, SchemaName("DB", "MAIN"))
        assert transaction.catalog.find(name("T"), TABLE) is None
        transaction.catalog.rename_database("DB", "WAREHOUSE")
        with pytest.raises(SnowmeltError, match="already exists"):
            transaction.catalog.rename_database("WAREHOUSE", "OTHER")
    assert names(db) == ["WAREHOUSE.MAIN.T"]
    with db.begin() as transaction:
        transaction.catalog.rename_schema(SchemaName("WAREHOUSE", "MAIN"), SchemaName("OTHER", "MAIN"))
        found = transaction.catalog.by_id(created.id)
    assert found is not None and str(found.name) == "OTHER.MAIN.T"


def test_dropping_a_database_takes_everything_along_and_undrop_brings_that_back(db: StateStore) -> None:
    dropped_before, kept = table("OLD"), table("T")
    with db.begin() as transaction:
        for called in ("S1", "S2"):
            transaction.catalog.create_schema(schema("DB", called))
    create(db, kept, dropped_before, table("DB.S1.T"), table("DB.S2.T"))
    with db.begin() as transaction:
        # All three in one transaction, so at one instant: what went with what must still be told apart.
        transaction.catalog.drop(dropped_before.id, transaction.now)
        transaction.catalog.drop_schema(SchemaName("DB", "S2"), transaction.now)
        transaction.catalog.drop_database("DB", transaction.now)
        gone_at = transaction.now
    assert names(db) == []
    with db.read() as reader:
        assert reader.catalog.database("DB") is None and reader.catalog.schemas() == []
        assert {item.dropped_on for item in reader.catalog.objects(include_dropped=True)} == {gone_at}
        assert {item.dropped_on for item in reader.catalog.schemas(include_dropped=True)} == {gone_at}
        assert [item.dropped_on for item in reader.catalog.databases(include_dropped=True)] == [gone_at]
    with db.begin() as transaction:
        restored = transaction.catalog.undrop_database("DB")
        assert restored is not None and restored.dropped_on is None
        assert transaction.catalog.undrop_database("DB") is None
    assert names(db) == ["DB.PUBLIC.T", "DB.S1.T"]
    with db.begin() as transaction:
        assert transaction.catalog.undrop_schema(SchemaName("DB", "S2")) is not None
        assert transaction.catalog.undrop_schema(SchemaName("DB", "S2")) is None
        assert transaction.catalog.undrop(name("OLD"), ObjectKind.TABLE) is not None
    assert names(db) == ["DB.PUBLIC.OLD", "DB.PUBLIC.T", "DB.S1.T", "DB.S2.T"]


def test_a_dropped_container_leaves_its_name_free(db: StateStore) -> None:
    create(db, table("T"))
    with db.begin() as transaction:
        transaction.catalog.drop_schema(PUBLIC, transaction.now)
        transaction.catalog.create_schema(schema("DB", "PUBLIC"))
        with pytest.raises(SnowmeltError, match="already exists"):
            transaction.catalog.undrop_schema(PUBLIC)
        transaction.catalog.drop_database("DB", transaction.now)
        transaction.catalog.create_database(database("DB"))
        with pytest.raises(SnowmeltError, match="already exists"):
            transaction.catalog.undrop_database("DB")
    assert names(db) == []


def test_containers_are_stored_updated_and_unique(db: StateStore) -> None:
    with db.begin() as transaction:
        catalog = transaction.catalog
        found, inner = catalog.database("DB"), catalog.schema(PUBLIC)
        assert found is not None and inner is not None
        later = T0 + timedelta(seconds=1)
        catalog.update_database(found.model_copy(update={"comment": "c", "altered_on": later, "transient": True}))
        catalog.update_schema(inner.model_copy(update={"retention_days": 7, "managed_access": True}))
        with pytest.raises(SnowmeltError, match="Object 'DB' already exists"):
            catalog.create_database(database("DB"))
        with pytest.raises(SnowmeltError, match=r"Object 'DB\.PUBLIC' already exists"):
            catalog.create_schema(schema("DB", "PUBLIC"))
        attempts: list[Callable[[], None]] = [
            lambda: catalog.create_schema(schema("NONE", "S")),
            lambda: catalog.update_database(database("NONE")),
            lambda: catalog.update_schema(schema("DB", "NONE")),
            lambda: catalog.drop_database("NONE", T0),
            lambda: catalog.drop_schema(SchemaName("DB", "NONE"), T0),
            lambda: catalog.create(table("DB.NONE.T")),
        ]
        for missing in attempts:
            with pytest.raises(SnowmeltError, match="does not exist or not authorized"):
                missing()
    with db.read() as reader:
        stored, inner = reader.catalog.databases()[0], reader.catalog.schemas("DB")[0]
    assert (stored.comment, stored.altered_on, stored.transient) == ("c", later, True)
    assert (inner.retention_days, inner.managed_access, inner.database) == (7, True, "DB")


def test_every_catalog_change_has_a_generation_of_its_own(db: StateStore) -> None:
    def generation() -> int:
        with db.read() as reader:
            assert reader.catalog.generation() == db.generation()
            return reader.catalog.generation()

    start = generation()
    with db.begin() as transaction:
        transaction.counters.take("o", "n", 1, 1, 1)
    assert generation() == start
    uncommitted = 0
    with pytest.raises(ZeroDivisionError), db.begin() as transaction:
        transaction.catalog.create(table("T"))
        uncommitted = transaction.catalog.generation()
        raise ZeroDivisionError
    assert generation() == start < uncommitted
    with db.begin() as transaction:
        transaction.catalog.create(table("T"))
        first = transaction.catalog.generation()
        transaction.catalog.create(table("U"))
        second = transaction.catalog.generation()
    # A cache may have seen the rolled-back number, so it is not used for another state.
    assert uncommitted < first < second == generation()
