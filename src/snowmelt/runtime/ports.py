"""What the runtime asks of features, as protocols: a feature puts its own in place when an account opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from snowmelt.core.names import ObjectName
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.sql.relations import ChangeSpan, Relation, TimeTravel
from snowmelt.state.model import CatalogObject, TableDefinition, TableVersion
from snowmelt.state.quality_model import QualityResult

if TYPE_CHECKING:
    from snowmelt.runtime.resolver import StatementCatalog
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session


StagedFiles = Callable[["Run", str, str | None, str | None, int], Relation]
"""The records of the files that `@stage/path` names, for a format, a pattern, and so many columns."""


ChannelDoors = Callable[["Session"], ChannelDoor]
"""What a streaming ingest client writes through, with the rights of a session."""


class ChangeReader(Protocol):
    """Reads streams, and the changes of tables and views."""

    def relation(self, catalog: StatementCatalog, stream: CatalogObject) -> Relation: ...

    def changes(self, catalog: StatementCatalog, source: CatalogObject, span: ChangeSpan) -> Relation: ...

    def version_at(self, catalog: StatementCatalog, table: CatalogObject, when: TimeTravel) -> TableVersion | None: ...


class Gate(Protocol):
    """Looks at what becomes a table, before anybody can see it."""

    def check_new(self, run: Run, table: CatalogObject, version: int, rows: int) -> list[QualityResult]:
        """Called before a table with rows takes the place of one that has checks. Raises when it must not."""
        ...

    def with_kept_checks(self, run: Run, name: ObjectName, definition: TableDefinition) -> TableDefinition:
        """The definition of a new table, with the checks of the permanent one whose place it takes, if there is one."""
        ...
