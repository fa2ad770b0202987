"""What an account can do without any feature: databases, tables, views, queries, sessions and warehouses."""

from __future__ import annotations

from snowmelt.features.relations import (
    alter_tables,
    changes,
    comments,
    containers,
    control_functions,
    describe,
    drops,
    history_functions,
    inserts,
    queries,
    sequences,
    sessions,
    show,
    tables,
    views,
    warehouses,
)
from snowmelt.runtime import information_schema
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature


def _begin(account: Account) -> None:
    account.metadata_views = information_schema.view


FEATURE = Feature(
    "relations",
    begin=_begin,
    drops=drops.DROPS,
    handlers={
        **queries.HANDLERS, **sessions.HANDLERS, **containers.HANDLERS, **tables.HANDLERS, **alter_tables.HANDLERS,
        **views.HANDLERS, **sequences.HANDLERS, **warehouses.HANDLERS, **drops.HANDLERS, **comments.HANDLERS,
        **inserts.HANDLERS, **changes.HANDLERS,
    },
    listings={**show.HANDLERS, **describe.HANDLERS},
    system_functions=control_functions.FUNCTIONS,
    table_functions=history_functions.FUNCTIONS,
)  # fmt: skip
