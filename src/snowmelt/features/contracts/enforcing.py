"""Holding tables and views to their contracts: asked before anything changes.

A table satisfies one of the versions of the major number that it has promised. The newest of them that it satisfies now
is the least that it must satisfy after a change: readers may rely on that one. So a table follows a new minor version
of its contract whenever its owner alters it, and can't go back behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.contracts.breaches import broken, check_columns
from snowmelt.features.contracts.promises import Promise, as_columns, columns_of, promise_of
from snowmelt.features.contracts.views import PromisedViews
from snowmelt.state.model import RELATIONS, CatalogObject, Column
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def check_change(run: Run, item: CatalogObject, columns: Sequence[Column]) -> None:
    """Raises, naming each breach and who is hit, when the object may not have these columns.

    Its own contract says so, or that of a view that reads it.
    """
    with run.state.read() as state:
        _check(state, item, columns, run.now.date())
        run.account.services[PromisedViews].check(run, state, {item.id: columns})


def check_replacement(run: Run, name: ObjectName, columns: Sequence[Column]) -> None:
    """Checks what replaces a permanent table or view of that name, if there is one, as `check_change` does."""
    with run.state.read() as state:
        found = state.whole_catalog.find(name, RELATIONS)
        if found is not None:
            _check(state, found, columns, run.now.date())
            run.account.services[PromisedViews].check(run, state, {found.id: columns})


def replace(state: StateTransaction, old: CatalogObject, columns: Sequence[Column], new_id: str) -> None:
    """In the step that exchanges the one object for the other: the contract stays with the name."""
    if old.kind in RELATIONS:
        _check(state, old, columns, state.now.date())
        state.contracts.move(old.id, new_id)


def swap(run: Run, state: StateTransaction, one: CatalogObject, other: CatalogObject) -> None:
    """Two objects exchange their names; contracts stay with the names, so each must satisfy the other's."""
    if one.kind not in RELATIONS:
        return
    today = state.now.date()
    then = {item.id: getattr(successor.definition, "columns", ()) for item, successor in ((one, other), (other, one))}
    for item in (one, other):
        _check(state, item, then[item.id], today)
    run.account.services[PromisedViews].check(run, state, then)
    links = state.contracts.get(one.id), state.contracts.get(other.id)
    for link, to in zip(links, (other, one), strict=True):
        if link is None:
            state.contracts.detach(to.id)
        else:
            state.contracts.put(link.model_copy(update={"object_id": to.id}))


def refuse_if_promised(run: Run, state: StateReader, item: CatalogObject, verb: str) -> None:
    """A name that was promised stays, and so does what a promised view reads: raises for what is about to be dropped
    or renamed."""
    if item.kind not in RELATIONS:
        return
    run.account.services[PromisedViews].check(run, state, {item.id: None})
    promise = promise_of(state, item, _today(state))
    if promise is not None:
        everything = [column.name for column in columns_of(item.definition)]
        raise broken(
            promise, item, promise.versions[-1], [f"{verb} removes the name '{item.name}'"], promise.hit(everything)
        )


def refuse_if_promised_within(run: Run, state: StateReader, inside: Callable[[ObjectName], bool], verb: str) -> None:
    """Raises when a schema or database is about to be dropped or renamed in which somebody was promised something.

    Somebody is a consumer who registered, or whoever owns the contract, if that lies elsewhere; or whoever was promised
    a view from elsewhere that reads what is in it. What a schema promises only to itself goes with it.
    """
    lost_names: list[tuple[Promise, CatalogObject, list[str]]] = []
    for link in state.contracts.all():
        item = state.whole_catalog.by_id(link.object_id)
        if item is None or item.dropped_on is not None:
            continue
        if not inside(item.name):
            contract = state.whole_catalog.by_id(link.contract_id)
            if contract is not None and contract.dropped_on is None and inside(contract.name):
                raise _attached(contract, item, "dropped")
            continue
        promise = promise_of(state, item, _today(state))
        hit = promise.hit([column.name for column in columns_of(item.definition)]) if promise is not None else []
        if promise is not None and (hit or not inside(promise.contract)):
            lost_names.append((promise, item, hit))
    if lost_names:
        promise, first, _ = lost_names[0]
        problems = [f"{verb} removes '{item.name}'" for _, item, _ in lost_names]
        consumers = list(dict.fromkeys(consumer for _, _, hit in lost_names for consumer in hit))
        raise broken(promise, first, promise.versions[-1], problems, consumers)
    if state.contracts.live_views():
        gone = {item.id: None for item in state.whole_catalog.objects(RELATIONS) if inside(item.name)}
        run.account.services[PromisedViews].check(run, state, gone)


def check_contract_unused(state: StateReader, contract: CatalogObject, verb: str) -> None:
    """Raises while a live object is held to the contract."""
    for link in state.contracts.of_contract(contract.id):
        item = state.whole_catalog.by_id(link.object_id)
        if item is not None and item.dropped_on is None:
            raise _attached(contract, item, verb)


def _attached(contract: CatalogObject, item: CatalogObject, verb: str) -> errors.SnowmeltError:
    return errors.SnowmeltError(
        "370014", "2BP01", f"Contract '{contract.name}' can't be {verb}: it is attached to '{item.name}'.",
        hint="Detach it there first with ALTER … UNSET CONTRACT.",
    )  # fmt: skip


def _today(state: StateReader) -> date:
    assert isinstance(state, StateTransaction)
    return state.now.date()


def _check(state: StateReader, item: CatalogObject, columns: Sequence[Column], today: date) -> None:
    promise = promise_of(state, item, today)
    if promise is not None:
        check_columns(promise, item, columns_of(item.definition), as_columns(columns))
