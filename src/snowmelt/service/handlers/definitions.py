"""All statements that define things: CREATE, ALTER, DROP, UNDROP, COMMENT ON, TRUNCATE."""

from __future__ import annotations

from typing import Any

from snowmelt.service.handlers import (
    alter_tables,
    comments,
    connectors,
    containers,
    contracts,
    data_products,
    drops,
    grants,
    sequences,
    stages,
    streams,
    tables,
    tags,
    users_roles,
    views,
    warehouses,
)
from snowmelt.sql.statements.base import Statement

HANDLERS: dict[type[Statement], Any] = {
    **containers.HANDLERS,
    **tables.HANDLERS,
    **alter_tables.HANDLERS,
    **views.HANDLERS,
    **sequences.HANDLERS,
    **stages.HANDLERS,
    **streams.HANDLERS,
    **connectors.HANDLERS,
    **contracts.HANDLERS,
    **data_products.HANDLERS,
    **tags.HANDLERS,
    **warehouses.HANDLERS,
    **drops.HANDLERS,
    **comments.HANDLERS,
    **users_roles.HANDLERS,
    **grants.HANDLERS,
}
