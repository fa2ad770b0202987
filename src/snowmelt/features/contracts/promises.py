"""What a table or view has promised: the versions of the contract that is attached to it, and who relies on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from snowmelt.core.names import ObjectName
from snowmelt.features.contracts.definitions import Consumer, ContractDefinition, ContractVersion
from snowmelt.govern.contracts.conformance import Breach, breaches
from snowmelt.govern.contracts.model import Contract, DescribedTable, TableColumn
from snowmelt.govern.contracts.reading import read
from snowmelt.govern.contracts.versions import Version, parse_version
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.model import CatalogObject, Column, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader


@dataclass(frozen=True, slots=True)
class Promise:
    contract: ObjectName
    versions: tuple[Contract, ...]
    """Of the major number that was promised, ascending; at least one."""
    described: str
    consumers: tuple[Consumer, ...]
    nullability: bool
    """Whether NOT NULL can be asked for."""

    def breaches(self, version: Contract, columns: Sequence[TableColumn]) -> tuple[Breach, ...]:
        return breaches(version, self.table(version), columns, nullability=self.nullability)

    def table(self, version: Contract) -> DescribedTable:
        found = version.table(self.described)
        return found if found is not None else DescribedTable(self.described, ())

    def satisfied(self, columns: Sequence[TableColumn]) -> Contract | None:
        """The newest version that such a table satisfies."""
        return next((version for version in reversed(self.versions) if not self.breaches(version, columns)), None)

    def hit(self, columns: Collection[str]) -> list[str]:
        """The consumers who use one of these columns; nobody when there is none."""
        return affected(self.consumers, self.versions[-1].version.major, columns)


def promise_of(state: StateReader, item: CatalogObject, today: date) -> Promise | None:
    """What the object is held to, if anything is promised today."""
    link = state.contracts.get(item.id)
    contract = state.whole_catalog.by_id(link.contract_id) if link is not None else None
    if link is None or contract is None or contract.dropped_on is not None:
        return None
    definition = contract.definition
    assert isinstance(definition, ContractDefinition)
    return promise(contract.name, definition, link, today, nullability=isinstance(item.definition, TableDefinition))


def promise(
    name: ObjectName, definition: ContractDefinition, link: ContractLink, today: date, *, nullability: bool
) -> Promise | None:
    versions = tuple(read(version.text) for version in of_major(definition, link.major))
    if not versions or is_sunset(definition, link.major, today):
        return None
    return Promise(name, versions, link.described, definition.consumers, nullability)


def version_of(version: ContractVersion) -> Version:
    parsed = parse_version(version.version)
    assert parsed is not None, "only documents with a version are kept"
    return parsed


def of_major(definition: ContractDefinition, major: int) -> list[ContractVersion]:
    return [version for version in definition.versions if version_of(version).major == major]


def majors(definition: ContractDefinition) -> list[int]:
    return sorted({version_of(version).major for version in definition.versions})


def is_sunset(definition: ContractDefinition, major: int, today: date) -> bool:
    last = definition.sunsets.get(major)
    return last is not None and today > last


def affected(consumers: Iterable[Consumer], major: int, columns: Collection[str] | None) -> list[str]:
    """Consumers of that major version who use one of the columns; None stands for all columns."""
    if columns is not None and not columns:
        return []
    return [
        consumer.name if consumer.contact is None else f"{consumer.name} ({consumer.contact})"
        for consumer in consumers
        if consumer.major in (None, major)
        and (columns is None or not consumer.columns or set(consumer.columns) & set(columns))
    ]


def columns_of(definition: object) -> list[TableColumn]:
    assert isinstance(definition, TableDefinition | ViewDefinition)
    return as_columns(definition.columns)


def as_columns(columns: Iterable[Column]) -> list[TableColumn]:
    return [TableColumn(item.name, item.type, item.nullable, item.comment) for item in columns]
