"""What belongs to the account rather than to a schema: warehouses, transactions, locks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.runtime.metadata.columns import Row, word, yes
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import Warehouse, WarehouseState
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.pending import Transaction
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session


def warehouses(run: Run, state: StateReader, _: ShowStatement) -> Iterator[Row]:
    running = [session.warehouse for session in run.account.sessions() if session.running is not None]
    for item in state.warehouses.list():
        yield _warehouse(run, item, running.count(item.name))


def _warehouse(run: Run, item: Warehouse, running: int) -> Row:
    state = run.account.metering.state_of(item)
    started = state is WarehouseState.STARTED
    return {
        "name": item.name,
        "state": state.value,
        "type": item.type,
        "size": item.size,
        "min_cluster_count": item.min_cluster_count,
        "max_cluster_count": item.max_cluster_count,
        "started_clusters": item.min_cluster_count if started else 0,
        "running": running,
        "queued": 0,
        "is_default": yes(item.name == run.account.settings.default_warehouse),
        "is_current": yes(item.name == run.session.warehouse),
        "auto_suspend": item.auto_suspend,
        "auto_resume": word(item.auto_resume),
        "available": "100" if started else "",
        "provisioning": "0" if started else "",
        "quiescing": "0" if started else "",
        "other": "0" if started else "",
        "created_on": item.created_on,
        "resumed_on": item.resumed_on,
        "updated_on": item.altered_on,
        "owner": item.owner,
        "comment": item.comment or "",
        "enable_query_acceleration": word(item.query_acceleration),
        "query_acceleration_max_scale_factor": item.query_acceleration_max_scale_factor,
        "resource_monitor": "null",
        "actives": int(started),
        "pendings": 0,
        "failed": 0,
        "suspended": int(not started),
        "uuid": item.id,
        "scaling_policy": item.scaling_policy,
        "owner_role_type": "ROLE",
        "generation": "1",
    }


def transactions(run: Run, _: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for session, transaction in _open(run, statement):
        yield {
            "id": int(transaction.id),
            "user": session.user,
            "session": session.id,
            "name": transaction.name,
            "started_on": transaction.started_at,
            "state": "running",
            "scope": 0,
        }


def locks(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    """Every table that an open transaction holds or waits for."""
    opened = {transaction.id: (session, transaction) for session, transaction in _open(run, statement)}
    held = ((table, holder, "HOLDING") for table, holder in run.account.locks.held())
    waiting = ((table, waiter, "WAITING") for table, waiter in run.account.locks.waiting())
    for table_id, transaction_id, status in (*held, *waiting):
        if transaction_id not in opened:
            continue
        session, transaction = opened[transaction_id]
        table = state.catalog.by_id(table_id)
        pending = transaction.pending.get(table_id)
        yield {
            "resource": str(table.name) if table is not None else table_id,
            "type": "PARTITIONS",
            "transaction": int(transaction.id),
            "transaction_started_on": transaction.started_at,
            "status": status,
            "query_id": pending.query_id if pending is not None else None,
            "session": session.id,
        }


def _open(run: Run, statement: ShowStatement) -> Iterator[tuple[Session, Transaction]]:
    everybody = statement.scope is not None and run.authority.on_account("MONITOR EXECUTION")
    for session in run.account.sessions():
        transaction = session.transaction
        if transaction is not None and (everybody or session.user == run.session.user):
            yield session, transaction


LISTINGS = {
    "WAREHOUSES": Listing(warehouses, paged=False),
    "TRANSACTIONS": Listing(transactions, paged=False),
    "LOCKS": Listing(locks, named="resource", paged=False),
}
