"""What gives the rows of one view of INFORMATION_SCHEMA, and what rows about objects begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from snowmelt.runtime.metadata.columns import Row
from snowmelt.state.model import CatalogObject, Database
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Rows = Callable[["Run", StateReader, Database], Iterable[Row]]


def named(item: CatalogObject, prefix: str) -> dict[str, Any]:
    return {
        f"{prefix}_CATALOG": item.name.database,
        f"{prefix}_SCHEMA": item.name.schema,
        f"{prefix}_NAME": item.name.name,
        f"{prefix}_OWNER": item.owner,
        "CREATED": item.created_on,
        "LAST_ALTERED": item.altered_on,
        "COMMENT": item.comment,
    }
