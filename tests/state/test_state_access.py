"""Users, roles, grants and what new objects get, in the state store."""

from __future__ import annotations

from snowmelt.state.access_model import FutureGrant, Grant, GranteeKind, Role
from snowmelt.state.model import CatalogObject, Schema
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateStore, StateTransaction
from tests.state import builders


def _grant(state: StateTransaction, role: str, id: str, privilege: str = "SELECT", *, option: bool = False) -> Grant:
    return Grant(
        privilege=privilege,
        on_kind="TABLE",
        on_id=id,
        grantee_kind=GranteeKind.ROLE,
        grantee=role,
        grant_option=option,
        granted_by="OWNER",
        created_on=state.now,
    )


def _role(state: StateTransaction, name: str, owner: str = "") -> None:
    state.access.put_role(Role(name=name, owner=owner, created_on=state.now))


def test_a_grant_given_again_keeps_its_instant_and_its_option(store: StateStore) -> None:
    with store.begin() as state:
        state.access.grant([_grant(state, "R", "t", option=True)])
        first = state.now
    with store.begin() as state:
        state.access.grant([_grant(state, "R", "t")])
    with store.read() as state:
        (found,) = state.access.granted_on("TABLE", "t")
    assert (found.created_on, found.grant_option) == (first, True)


def test_every_change_of_rights_moves_their_version(store: StateStore) -> None:
    before = store.rights_version()
    with store.begin() as state:
        _role(state, "R")
    with store.begin() as state:
        state.parameters.set("ACCOUNT", "", "K", "v")
    assert store.rights_version() == before + 1


def test_a_dropped_role_leaves_what_it_owned_to_its_heir(store: StateStore) -> None:
    with store.begin() as state:
        _role(state, "OLD")
        _role(state, "CHILD", owner="OLD")
        _schema(state, owner="OLD")
        state.access.grant([_grant(state, "OLD", "t"), _grant(state, "OTHER", "t")])
        state.access.drop_role("OLD", "HEIR")
    with store.read() as state:
        assert {item.owner for item in state.catalog.databases()} == {"HEIR"}
        child = state.access.role("CHILD")
        assert child is not None and child.owner == "HEIR"
        assert [grant.grantee for grant in state.access.granted_on("TABLE", "t")] == ["OTHER"]


def test_a_renamed_role_keeps_everything(store: StateStore) -> None:
    with store.begin() as state:
        _role(state, "OLD")
        _schema(state, owner="OLD")
        state.access.grant([_grant(state, "OLD", "t")])
        state.access.rename_role("OLD", "NEW")
    with store.read() as state:
        assert {item.owner for item in state.catalog.databases()} == {"NEW"}
        assert [grant.grantee for grant in state.access.granted_on("TABLE", "t")] == ["NEW"]
        assert state.access.role("OLD") is None


def _schema(state: StateTransaction, owner: str = "ADMIN") -> Schema:
    """DB.PUBLIC."""
    state.catalog.create_database(builders.database("DB").model_copy(update={"owner": owner}))
    schema = builders.schema("DB", "PUBLIC").model_copy(update={"owner": owner})
    state.catalog.create_schema(schema)
    return schema


def _table(state: StateTransaction, called: str = "T") -> CatalogObject:
    table = builders.table(called)
    state.catalog.create(table)
    return table


class _Sight:
    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def sees(self, item: Owned) -> bool:
        return item.id in self.ids


def test_a_name_is_found_only_with_its_containers(store: StateStore) -> None:
    with store.begin() as state:
        schema = _schema(state)
        database = state.catalog.database(schema.database)
        assert database is not None
        table = _table(state)
    for ids, seen in (
        ((database.id, schema.id, table.id), True),
        ((database.id, schema.id), False),
        ((database.id, table.id), False),
        ((schema.id, table.id), False),
    ):
        with store.read(_Sight(*ids)) as state:
            assert (state.catalog.find(table.name, [table.kind]) is not None) is seen
            assert bool(state.catalog.objects()) is seen
            assert state.whole_catalog.find(table.name, [table.kind]) is not None
            assert state.catalog.by_id(table.id) is not None


def test_future_grants_of_the_schema_take_the_place_of_those_of_its_database(store: StateStore) -> None:
    with store.begin() as state:
        schema = _schema(state)
        database = state.catalog.database(schema.database)
        assert database is not None
        for place, role in ((database.id, "FAR"), (schema.id, "NEAR")):
            state.access.grant_future(
                FutureGrant(
                    privilege="SELECT",
                    on_kind="TABLE",
                    container_id=place,
                    grantee=role,
                    granted_by="X",
                    created_on=state.now,
                )
            )
        near = _table(state)
        state.access.grant_future(
            FutureGrant(
                privilege="OWNERSHIP",
                on_kind="TABLE",
                container_id=schema.id,
                grantee="LORD",
                granted_by="X",
                created_on=state.now,
            )
        )
        owned = _table(state, "OWNED")
    with store.read() as state:
        assert [grant.grantee for grant in state.access.granted_on("TABLE", near.id)] == ["NEAR"]
        found = state.catalog.by_id(owned.id)
        assert found is not None and found.owner == "LORD"


def test_what_replaces_an_object_has_its_grants_when_it_is_told_so(store: StateStore) -> None:
    with store.begin() as state:
        _schema(state)
        first = _table(state)
        state.access.grant([_grant(state, "R", first.id)])
    for keeps, expected in ((True, ["R"]), (False, [])):
        with store.begin(keeps_grants=keeps) as state:
            current = state.catalog.find(first.name, [first.kind])
            assert current is not None
            state.catalog.drop(current.id, state.now)
            newer = _table(state)
        with store.read() as state:
            assert [grant.grantee for grant in state.access.granted_on("TABLE", newer.id)] == expected
