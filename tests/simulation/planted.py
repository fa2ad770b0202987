"""Bugs that are planted on purpose, to see that the simulation finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from snowmelt.features.channels import committing
from snowmelt.features.connectors import landing
from snowmelt.runtime import transactions
from snowmelt.runtime.locks import TableLocks
from tests.simulation.threads import put

BUGS: dict[str, Callable[[], None]] = {}


def _bug(plant: Callable[[], None]) -> Callable[[], None]:
    BUGS[plant.__name__.strip("_")] = plant
    return plant


def plant(name: str | None) -> None:
    if name is not None:
        BUGS[name]()


@_bug
def _no_lock() -> None:
    """The fence is dropped: two transactions write one table."""
    put(TableLocks, acquire=lambda *given, **named: None)


@_bug
def _forgotten_offset() -> None:
    """What belongs to the flip is not done: streams, frontiers and records stay where they were."""
    flip = transactions.TransactionManager._flip

    def without(manager: Any, transaction: Any, changed: Any) -> Any:
        transaction.at_commit.clear()
        return flip(manager, transaction, changed)

    put(transactions.TransactionManager, _flip=without)


@_bug
def _flip_one_by_one() -> None:
    """Each table becomes visible by itself."""
    flip = transactions.TransactionManager._flip

    def one_by_one(manager: Any, transaction: Any, changed: Any) -> Any:
        for item in changed[:-1]:
            kept, transaction.at_commit[:] = list(transaction.at_commit), []
            flip(manager, transaction, [item])
            transaction.at_commit[:] = kept
        return flip(manager, transaction, changed[-1:])

    put(transactions.TransactionManager, _flip=one_by_one)


@_bug
def _rollback_forgets() -> None:
    """What was written becomes visible, instead of being taken back."""
    put(transactions.TransactionManager, rollback=_ended)


def _ended(manager: Any, transaction: Any, cause: Any = None) -> None:
    changed = [item for item in transaction.pending.values() if item.version != item.base.version]
    if changed:
        transaction.at_commit.clear()
        manager._flip(transaction, changed)
    manager._end(transaction)


@_bug
def _token_after_the_rows() -> None:
    """A channel's token is kept in a transaction of its own, behind that of its rows."""
    commit = committing.commit
    advance = committing._advance

    def later(run: Any, table: Any, entries: Any) -> Any:
        put(committing, _advance=lambda state, channel, mine: channel.state)
        try:
            commit(run, table, entries)
        finally:
            put(committing, _advance=advance)
        after = {}
        with run.account.state.begin() as state:
            for channel, mine in committing._by_channel(entries).values():
                after[channel.id] = advance(state, channel, mine)
        return after

    put(committing, commit=later)


@_bug
def _position_before_the_rows() -> None:
    """A connector's position is kept before its rows are."""
    write = landing.Landing._write

    def early(self: Any, transaction: Any, standing: Any, batch: Any, understood: Any) -> Any:
        changes = [item.change for item in understood.read]
        after = self._standing(standing, batch, changes, understood)
        with self._account.state.begin() as state:
            landing.put_standing(state, after)
        return write(self, transaction, standing, batch, understood)

    put(landing.Landing, _write=early)
