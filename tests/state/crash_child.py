"""Runs transactions until it is killed, printing each committed step. See test_state_store.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from snowmelt.core.clock import SystemClock
from snowmelt.state.model import TransactionState
from snowmelt.state.store import StateStore
from snowmelt.state.trimming import HISTORIES
from tests.state.builders import database, schema, table, version


def main(url: str) -> None:
    store = StateStore.open(url, SystemClock())
    with store.begin() as transaction:
        if transaction.catalog.database("DB") is None:
            transaction.catalog.create_database(database("DB"))
            transaction.catalog.create_schema(schema("DB", "PUBLIC"))
        last = transaction.versions.visible("a")
        step = 0 if last is None else last.version + 1
        for id, _ in transaction.transactions.unfinished():
            transaction.transactions.finish(id, TransactionState.ROLLED_BACK)
        # As recovery does; a second attempt needs a new id, which the number of the step is not.
        for_ever = transaction.now.max.replace(tzinfo=transaction.now.tzinfo)
        transaction.trims.trim(HISTORIES["transactions"], for_ever, 1_000_000)
    while True:
        id = str(step)
        with store.begin() as transaction:
            transaction.transactions.open(id, transaction.now)
            transaction.transactions.touch(id, "a")
            transaction.transactions.touch(id, "b")
        with store.begin() as transaction:
            transaction.versions.flip(version("a", step, transaction.now, transaction_id=id))
            transaction.catalog.create(table(f"T{step}"))
            transaction.counters.take("a", "steps", count=1, start=0, step=1)
            transaction.versions.flip(version("b", step, transaction.now, transaction_id=id))
            transaction.transactions.finish(id, TransactionState.COMMITTED)
        print(step, flush=True)
        step += 1


if __name__ == "__main__":
    main(sys.argv[1])
