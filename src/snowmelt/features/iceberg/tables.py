"""A table as Iceberg's readers find it, for whoever may read all of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.system_functions import table_argument
from snowmelt.runtime.variables import literal
from snowmelt.sql.relations import TimeTravel
from snowmelt.state.store import StateReader
from snowmelt.storage.iceberg.publishing import PublishedVersion, publish

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_WORDS = "Iceberg metadata"


def published(run: Run, state: StateReader, written: str, at: datetime | None = None) -> PublishedVersion:
    """The version that a query would read now, or that of a moment. Raises for what the role may not read whole."""
    table, definition = table_argument(run, state, written, _WORDS, "SELECT")
    catalog = StatementCatalog(run, state, run.session.database, run.session.schema)
    when = None if at is None else TimeTravel(False, "TIMESTAMP", literal(at, types.TIMESTAMP_LTZ))
    relation = catalog.relation((table.name.database, table.name.schema, table.name.name), when)
    if relation.protection is not None:
        raise _protected(str(table.name))
    assert relation.reference is not None
    store, location = run.account.store, definition.location
    version = run.tables[relation.reference].version
    known = state.versions.upto(table.id, version)
    try:
        return publish(
            store.root.folder(location), store.root.uri_of(location), store.files(location, version), table.id,
            run.now if known is None else known.committed_at,
        )  # fmt: skip
    except ValueError as reason:
        raise errors.unsupported(
            f"{_WORDS} of '{table.name}': {reason}", hint="Read it through SQL, or make a dynamic table of it."
        ) from None


def _protected(name: str) -> SnowmeltError:
    return SnowmeltError(
        "003001", "42501", f"SQL access control error:\nInsufficient privileges to read the files of Table '{name}'",
        hint="A policy holds for its rows, and its files have all of them. Read it through SQL.",
    )  # fmt: skip
