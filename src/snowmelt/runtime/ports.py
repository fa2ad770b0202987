"""What the runtime asks of features, as protocols: a feature puts its own in place when an account opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from snowmelt.core.names import ObjectName
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.stream_windows import StreamWindow
from snowmelt.sql.relations import ChangeSpan, ReadProtection, Relation, TimeTravel
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.model import CatalogObject, Column, TableDefinition, TableVersion, ViewDefinition
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.quality_model import QualityResult
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.resolver import StatementCatalog
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session


StagedFiles = Callable[["Run", str, str | None, str | None, int], Relation]
"""The records of the files that `@stage/path` names, for a format, a pattern, and so many columns."""


ChannelDoors = Callable[["Session"], ChannelDoor]
"""What a streaming ingest client writes through, with the rights of a session."""


MetadataViews = Callable[["Run", StateReader, ObjectName], Relation]
"""A view of INFORMATION_SCHEMA."""
UsageViews = Callable[["Run", StateReader, Authority, ObjectName], Relation]
"""A view of SNOWFLAKE.ACCOUNT_USAGE, for whose rights it is asked with."""


SetAside = Callable[[StateReader, CatalogObject], CatalogObject | None]
"""The table that the rows of another one were meant for; None for a table with rows of its own."""


class PolicySource(Protocol):
    """Knows what a role sees of rows and values that it may read."""

    def protection(self, catalog: StatementCatalog, item: CatalogObject) -> ReadProtection | None:
        """The policies that hold for an object; None when none does."""
        ...

    def references(self, state: StateReader, item: CatalogObject) -> list[PolicyReference]:
        """Which policies hold for an object, and for which of its columns."""
        ...

    def mark(self, state: StateReader, item: CatalogObject) -> str:
        """Changes whenever other policies hold, or they say something else. Empty where none holds."""
        ...

    def cloned(self, state: StateTransaction, source: CatalogObject, version: int | None, clone: CatalogObject) -> None:
        """A clone has what its source has; `version` is the source's, of a table."""
        ...


class ChangeReader(Protocol):
    """Reads streams, and the changes of tables and views."""

    def relation(self, catalog: StatementCatalog, stream: CatalogObject) -> Relation: ...

    def changes(self, catalog: StatementCatalog, source: CatalogObject, span: ChangeSpan) -> Relation: ...

    def version_at(self, catalog: StatementCatalog, table: CatalogObject, when: TimeTravel) -> TableVersion | None: ...

    def advance(self, state: StateTransaction, windows: Sequence[StreamWindow]) -> None:
        """These changes are consumed once the transaction commits."""
        ...

    def tables_behind(self, run: Run, name: ObjectName, view: ViewDefinition) -> list[str]:
        """The ids of the tables of a view whose changes can be tracked. Raises for one whose changes can't."""
        ...

    def track_all(self, run: Run, table_ids: list[str]) -> None:
        """Change tracking of these tables is on from now on."""
        ...


class HasContract(Protocol):
    """Options of a table or view that say which contract it is held to."""

    @property
    def contract(self) -> NameRef | None: ...
    @property
    def contract_version(self) -> int | None: ...


class Contracts(Protocol):
    """Holds tables and views to contracts."""

    def wanted(
        self, run: Run, options: HasContract, item: CatalogObject, columns: Sequence[Column]
    ) -> ContractLink | None:
        """The link that CREATE asks for. Raises, naming each breach, when such an object does not satisfy it."""
        ...

    def set_contract(self, run: Run, item: CatalogObject, options: HasContract, unset: Sequence[str] = ()) -> None:
        """What ALTER … SET CONTRACT and UNSET CONTRACT do; nothing when the statement says nothing about it."""
        ...


class VisibilityGate(Protocol):
    """Looks at what becomes a table, before anybody can see it."""

    def check_new(self, run: Run, table: CatalogObject, version: int, rows: int) -> list[QualityResult]:
        """Called before a table with rows takes the place of one that has checks. Raises when it must not."""
        ...

    def with_kept_checks(self, run: Run, name: ObjectName, definition: TableDefinition) -> TableDefinition:
        """The definition of a new table, with the checks of the permanent one whose place it takes, if there is one."""
        ...
