"""From a name such as SNOWFLAKE.ACCOUNT_USAGE.TABLES to the relation it means.

The rows are those of INFORMATION_SCHEMA and of its functions, of all databases at once and as the administrator sees
them. Whoever may read one view may read all.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, cast

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.runtime import inputs
from snowmelt.runtime.account_usage.layouts import LAYOUTS
from snowmelt.runtime.account_usage.rows import ROWS
from snowmelt.runtime.metadata.columns import columns
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN, IMPORTED_PRIVILEGES
from snowmelt.sql.relations import Relation
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


class _Administrator:
    """A statement with the rights of the administrator, for rows of the whole account."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.authority = run.account.access.of_role(ACCOUNTADMIN)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


def view(run: Run, state: StateReader, authority: Authority, name: ObjectName) -> Relation:
    """The view as a relation. Raises the not-found error that names it, also for who may not read it."""
    rows = ROWS.get(name.name)
    if rows is None or not authority.on_account(IMPORTED_PRIVILEGES):
        nearest = difflib.get_close_matches(name.name, ROWS, n=1)
        near = f"The nearest view is {nearest[0]}. " if nearest and nearest[0] != name.name else ""
        error = errors.not_found("Object", str(name))
        error.hint = f"{near}It takes IMPORTED PRIVILEGES ON DATABASE SNOWFLAKE."
        raise error
    found = columns(LAYOUTS[name.name])
    overseer = cast("Run", _Administrator(run))
    whole = state.seen_by(None)
    reference = inputs.attach(run, str(name), lambda: inputs.rows_table(found, rows(overseer, whole)))
    return inputs.table_relation(str(name), found, reference)
