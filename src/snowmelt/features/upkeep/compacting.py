"""Putting the small files of a table together.

The rows are written to their new file before the table is taken; under its lock only the log entry is made. The lock is
taken only if it is free: statements go first. See `storage.compaction` for why nobody else notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import WriteConflictError
from snowmelt.core.faults import reached
from snowmelt.state.model import CatalogObject, TableDefinition, TableVersion
from snowmelt.state.versions import MOVED
from snowmelt.storage.compaction import FEWEST_FILES
from snowmelt.storage.snapshot import DataFile

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)


def compactable(account: Account, table: CatalogObject, visible: TableVersion) -> bool:
    """Whether the table's files can be put together here: they are local, and nothing but Parquet files of rows."""
    definition = table.definition
    return (
        isinstance(definition, TableDefinition)
        and table.dropped_on is None
        and not definition.spark_only
        and account.store.rewritable(definition.location, visible.version)
    )


def compact(
    account: Account, table_id: str, fewest: int = FEWEST_FILES, *, wait: float = 0.0, most: int | None = None
) -> int:
    """Puts small files of a table together, at most so many groups of them; returns how many files there were.

    Raises when somebody else writes the table: what was put together until then stays so.
    """
    done = 0
    with account.state.read() as state:
        table, visible = state.catalog.by_id(table_id), state.versions.visible(table_id)
    if table is None or visible is None or not compactable(account, table, visible):
        return 0
    assert isinstance(table.definition, TableDefinition)
    for group in account.store.care.neighbours(table.definition.location, visible.version, fewest)[:most]:
        _put_together(account, table, visible.version, group, wait)
        done += len(group)
    return done


def _put_together(
    account: Account, table: CatalogObject, version: int, chosen: tuple[DataFile, ...], wait: float
) -> None:  # fmt: skip
    assert isinstance(table.definition, TableDefinition)
    location, store = table.definition.location, account.store
    actions = store.write_together(location, version, chosen)
    transaction = account.transactions.begin(explicit=False)
    try:
        pending = account.transactions.open_for_write(transaction, table, wait)
        now, before = store.files(location, pending.version), store.files(location, version)
        if now.metadata != before.metadata or any(file.path not in now.by_path for file in chosen):
            raise WriteConflictError(str(table.name))
        result = store.put_together(location, pending.version, actions, transaction.tag(None))
        reached("files-replaced")
    except BaseException:
        store.discard(location, actions)
        account.transactions.rollback(transaction)
        raise
    account.transactions.wrote(pending, result, MOVED, None)
    account.transactions.commit(transaction)
    _log.info("compacted", table=str(table.name), files=len(chosen))
