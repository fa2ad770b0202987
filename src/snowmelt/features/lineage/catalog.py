"""The catalog as lineage sees it: every relation is opaque, so that a query leads to what it names and no further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import ObjectName
from snowmelt.core.types import DataType
from snowmelt.features.loading.definitions import STAGE
from snowmelt.features.loading.stage_statements import Location, StageLocation, UrlLocation, written_location
from snowmelt.features.loading.transformation import METADATA
from snowmelt.features.streams.changes import METADATA_COLUMNS
from snowmelt.features.streams.definitions import STREAM, StreamDefinition
from snowmelt.govern.lineage.flows import QueryFlow
from snowmelt.govern.lineage.graph import Dataset, LineageDomain
from snowmelt.govern.lineage.tracing import trace
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.sql.binders import Environment
from snowmelt.sql.boundaries import split
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import ChangeSpan, Relation, RelationColumn, TimeTravel
from snowmelt.state.model import SELECTABLE, CatalogObject, ObjectKind, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_DOMAINS = {ObjectKind.VIEW: LineageDomain.VIEW, STREAM: LineageDomain.STREAM, STAGE: LineageDomain.STAGE}


def dataset_of(item: CatalogObject) -> Dataset:
    domain = _DOMAINS.get(item.kind, LineageDomain.TABLE)
    if isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None:
        domain = LineageDomain.DYNAMIC_TABLE
    # What replaces a temporary object under its name later is something else.
    belongs_to = item.id if item.session_id is not None else ""
    return Dataset(item.id, domain, (item.name.database, item.name.schema, item.name.name), belongs_to)


class LineageCatalog(StatementCatalog):
    """Sees everything: whether a definition may be read was decided when it was made, and who may know of what it
    reads is decided by whoever shows it."""

    def __init__(
        self, run: Run, state: StateReader, database: str | None, schema: str | None,
        datasets: dict[str, Dataset] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(run, state, database, schema)
        self.state = state.seen_by(None)
        self.datasets: dict[str, Dataset] = {} if datasets is None else datasets
        """What was read, by the reference that stands for it in the bound query."""
        self.staged_type: DataType = types.VARIANT

    def within(self, database: str, schema: str, owner: str | None) -> LineageCatalog:
        inner = LineageCatalog(self.run, self.state, database, schema, self.datasets)
        inner.outermost = False
        return inner

    def flow(self, tree: exp.Expr) -> QueryFlow:
        """The flow of a query that reads this catalog."""
        plain = split(tree).tree
        try:
            return self._traced(plain)
        except errors.SnowmeltError:
            if not any(
                dataset.domain in (LineageDomain.STAGE, LineageDomain.EXTERNAL) for dataset in self.datasets.values()
            ):
                raise
            # Whether the fields of files are VARIANT or text depends on their format.
            self.staged_type = types.VARCHAR
            return self._traced(plain)

    def _traced(self, tree: exp.Expr) -> QueryFlow:
        return trace(QueryBinder(Environment(self, self.run.context)).bind(tree.copy()))

    def system_function(self, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        """Nothing is called again: SYSTEM$WAIT would wait."""
        return exp.Null() if name.startswith("SYSTEM$") or name == "GET_DDL" else None

    # -- relations ------------------------------------------------------------------------------------------------

    def require(self, privilege: str, item: CatalogObject) -> None:
        """Nothing is read."""

    def protection_of(self, found: CatalogObject) -> None:
        """Rows come from the same columns whoever sees them."""

    def relation_of(self, found: CatalogObject, when: TimeTravel | None) -> Relation:
        return self._opaque(dataset_of(found), self.columns_of(found))

    def changes(self, parts: tuple[str, ...], span: ChangeSpan) -> Relation:
        name = self.full_name(parts)
        found = self.state.catalog.find(name, SELECTABLE, self.run.session.id)
        if found is None:
            raise errors.not_found("Object", str(name))
        return self._opaque(dataset_of(found), (*self.columns_of(found), *METADATA_COLUMNS))

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        named = written_location(location)
        if named is None:
            raise errors.not_found("Stage", location)
        fields = tuple(RelationColumn(f"${number}", self.staged_type) for number in range(1, width + 1))
        more = tuple(RelationColumn(name, type_) for name, (_, type_) in METADATA.items())
        return self._opaque(self.file_dataset(named), (*fields, *more))

    def file_dataset(self, location: Location) -> Dataset:
        """The files that a statement names."""
        if isinstance(location, UrlLocation):
            return Dataset(location.url, LineageDomain.EXTERNAL, (location.url,))
        assert isinstance(location, StageLocation)
        if location.name is None:
            name = f"@~{self.run.session.user}"
            return Dataset(name, LineageDomain.STAGE, (name,))
        full = self.full_name(self.run.parts(location.name))
        kind = STAGE if location.kind == "NAMED" else ObjectKind.TABLE
        found = self.state.catalog.find(full, [kind], self.run.session.id)
        if found is None:
            raise errors.not_found(kind.value.title(), str(full))
        if kind is STAGE:
            return dataset_of(found)
        return Dataset(f"@%{found.id}", LineageDomain.STAGE, (full.database, full.schema, f"%{full.name}"), found.id)

    def find(self, name: ObjectName) -> CatalogObject | None:
        return self.state.catalog.find(name, SELECTABLE, self.run.session.id)

    def columns_of(self, item: CatalogObject) -> tuple[RelationColumn, ...]:
        definition = item.definition
        if isinstance(definition, TableDefinition | ViewDefinition):
            return tuple(RelationColumn(column.name, column.type) for column in definition.columns)
        assert isinstance(definition, StreamDefinition)
        source = self.state.catalog.by_id(definition.source_id)
        columns = self.columns_of(source) if source is not None else ()
        return (*columns, *METADATA_COLUMNS)

    def _opaque(self, dataset: Dataset, columns: tuple[RelationColumn, ...]) -> Relation:
        # No common table expression has such a name by accident.
        reference = f"lineage:{dataset.id}"
        self.datasets[reference] = dataset
        return Relation(name=str(dataset), columns=columns, reference=reference)
