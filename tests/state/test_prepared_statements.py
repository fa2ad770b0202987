"""Prepared statements: the driver gives what SQLAlchemy gives, in the same transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Integer, Select, bindparam, select
from sqlalchemy.types import TypeEngine

from snowmelt.core.errors import SnowmeltError
from snowmelt.state import catalog, containers, dynamic, queries, shapes, versions, warehouses
from snowmelt.state.columns import Instant
from snowmelt.state.model import TableVersion
from snowmelt.state.prepared import OpenedTransaction, Prepared
from snowmelt.state.store import StateStore

AT = datetime(2026, 1, 1, tzinfo=UTC)
MODULES = (catalog, containers, dynamic, queries, shapes, versions, warehouses)
STATEMENTS = [
    pytest.param(statement, id=f"{module.__name__.rpartition('.')[2]}.{name}")
    for module in MODULES
    for name, statement in vars(module).items()
    if isinstance(statement, Prepared) and isinstance(statement.statement, Select)
]


def version(number: int, table: str = "t", *, foreign: bool = False) -> TableVersion:
    return TableVersion(
        table_id=table, version=number, committed_at=AT + timedelta(seconds=number, microseconds=number),
        transaction_id="x", query_id=None, operation="WRITE", rows=number, bytes=1, foreign=foreign,
    )  # fmt: skip


def _given(statement: Select[Any]) -> dict[str, Any]:
    """A value for each parameter of a query."""
    values: dict[str, Any] = {}
    for name, bind in statement.compile().binds.items():
        if bind.required:
            values[name] = ["t", "u"] if bind.expanding else _value(bind.type)
    return values


def _value(type_: TypeEngine[Any]) -> object:
    if isinstance(type_, Instant):
        return AT + timedelta(days=1)
    return 3 if isinstance(type_, Integer) else "t"


@pytest.mark.parametrize("prepared", STATEMENTS)
def test_every_query_gives_the_same_both_ways(store: StateStore, prepared: Prepared) -> None:
    with store.begin() as state:
        for number in (1, 2, 4):
            state.versions.flip(version(number, foreign=number == 2))
        state.versions.flip(version(7, "u"))
    assert isinstance(prepared.statement, Select)
    values = _given(prepared.statement)
    with store.read() as state:
        scope = state._scope
        by_driver = prepared.rows(scope, values)
        assert by_driver == prepared.rows(OpenedTransaction(scope.connection, None), values)
        assert prepared.rows(scope, values) == by_driver, "asked again"


def test_lists_of_every_length(store: StateStore) -> None:
    names = [f"t{number}" for number in range(100)]
    with store.begin() as state:
        for number, name in enumerate(names):
            state.versions.flip(version(number, name))
    with store.read() as state:
        for length in range(101):
            found = state.versions.snapshot(names[:length])
            assert {name: found[name].version for name in names[:length]} == dict(zip(names, range(length)))  # noqa: B905
            assert len(found) == length


def test_both_ways_see_one_transaction_and_end_with_it(store: StateStore) -> None:
    constant = Prepared(select(bindparam("x", type_=Integer())))
    with pytest.raises(ZeroDivisionError), store.begin() as state:
        state.versions.flip(version(1))
        assert len(state.versions.history("t")) == 1, "SQLAlchemy reads what the driver wrote"
        assert constant.rows(state._scope, {"x": 4}) == [(4,)]
        raise ZeroDivisionError
    with store.begin() as state:
        assert state.versions.visible("t") is None
        state.versions.flip(version(2))
    with store.read() as reader:
        before = reader.versions.visible("t")
        with store.begin() as state:
            state.versions.flip(version(3))
        assert reader.versions.visible("t") == before, "a snapshot stays as it is"
        assert [item.version for item in reader.versions.history("t")] == [2]
    with store.read() as reader:
        assert [item.version for item in reader.versions.history("t")] == [2, 3]


def test_what_the_driver_refuses_is_our_error(store: StateStore) -> None:
    broken = Prepared(select(bindparam("x", type_=Integer())))
    with pytest.raises(SnowmeltError), store.read() as state:
        broken.rows(state._scope, {"x": object()})
    with store.read() as state:
        assert broken.rows(state._scope, {"x": 1}) == [(1,)]
