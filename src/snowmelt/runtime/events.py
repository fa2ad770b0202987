"""Events of an account. Features subscribe to them; the code that tells an event does not know its subscribers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.table_events import Event, TableEvents
from snowmelt.sql.statements.base import Action
from snowmelt.state.dynamic_model import DynamicRefresh
from snowmelt.state.model import CatalogObject, Column, QueryRecord
from snowmelt.state.quality_model import QualityResult
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.results import Result

_Run = TypeVar("_Run")
"""A statement on its way, as the account has it: a `run.Run`."""


class Events(TableEvents, Generic[_Run]):
    """What has happened in one account. Subscribers must be quick and must not raise."""

    def __init__(self) -> None:
        super().__init__()
        self.statement_started: Event[[_Run, QueryRecord]] = Event()
        self.statement_finished: Event[[_Run, QueryRecord, Result]] = Event()
        self.statement_failed: Event[[_Run, QueryRecord, SnowmeltError]] = Event()
        self.statement_recorded: Event[[QueryRecord]] = Event()
        """With its record as the history keeps it."""
        self.refresh_ended: Event[[DynamicRefresh]] = Event()
        self.task_ended: Event[[ObjectName, str, str, datetime | None]] = Event()
        """Name, kind (TASK or ALERT), state, and when it began."""
        self.checks_ended: Event[[CatalogObject, Sequence[QualityResult]]] = Event()

    def wake_after(self, query_types: Collection[str], wake: Callable[[], None]) -> None:
        """Calls `wake` after every statement of these types that succeeded."""

        def look(run: _Run, record: QueryRecord, result: Result) -> None:
            if record.query_type in query_types:
                wake()

        self.statement_finished.subscribe(look)


class Lifecycle(Generic[_Run]):
    """What becomes of objects. Subscribers are part of it: they run in its transaction and may refuse it by raising."""

    def __init__(self) -> None:
        self.replacing: Event[[_Run, ObjectName, Sequence[Column]]] = Event()
        """Something with these columns is to take the place of a permanent table or view, if there is one."""
        self.replaced: Event[[StateTransaction, CatalogObject, Sequence[Column], str]] = Event()
        """In the step that exchanges an old object for a new one, of that id."""
        self.columns_changing: Event[[_Run, CatalogObject, Sequence[Column]]] = Event()
        self.column_renamed: Event[[StateTransaction, str, str, str]] = Event()
        """The table's id, the old name, the new one."""
        self.cloned: Event[[StateTransaction, str, str]] = Event()
        """The ids of a source and of its clone."""
        self.table_cloned: Event[[StateTransaction, CatalogObject, int, CatalogObject, int]] = Event()
        """A table with its schema: the source and its version, the clone and its version."""
        self.columns_altered: Event[[_Run, CatalogObject, Sequence[Action]]] = Event()
        """In the statement's transaction, behind the change itself."""
        self.renamed: Event[[StateTransaction, CatalogObject, ObjectName]] = Event()
        """The object as it was, and its new name."""
        self.emptied: Event[[_Run, CatalogObject]] = Event()
        """TRUNCATE."""
        self.dropped: Event[[StateTransaction, CatalogObject]] = Event()
        self.purged: Event[[StateTransaction, CatalogObject]] = Event()
        """A dropped object can't be restored any more, and everything that was known of it goes."""
        self.restored: Event[[StateTransaction, CatalogObject]] = Event()
        self.swapped: Event[[StateTransaction, CatalogObject, CatalogObject]] = Event()
        """Two objects as they were; the catalog has their new names."""
        self.swapping: Event[[_Run, StateTransaction, CatalogObject, CatalogObject]] = Event()
        self.leaving: Event[[_Run, StateTransaction, CatalogObject, str]] = Event()
        """The name is to be dropped or taken by another; the last argument says by what."""
        self.owner_changed: Event[[StateTransaction, str, str]] = Event()
        """The kind and the id of what has another owner."""
        self.refused_by_checks: Event[[StateTransaction, CatalogObject, str | None]] = Event()
        """A table whose checks say that whatever writes it has to stop; and the id of the task that did, if one did."""
        self.all_leaving: Event[[_Run, StateTransaction, Callable[[ObjectName], bool], str]] = Event()
        """As `leaving`, for whatever has such a name."""
