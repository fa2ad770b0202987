"""SET CONTRACT: holding a table or view to a contract that it satisfies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.contracts import errors as contract_errors
from snowmelt.features.contracts.breaches import lost
from snowmelt.features.contracts.definitions import CONTRACT, ContractDefinition
from snowmelt.features.contracts.promises import as_columns, columns_of, is_sunset, majors, of_major, promise
from snowmelt.features.contracts.views import PromisedViews
from snowmelt.govern.contracts.model import TableColumn
from snowmelt.govern.contracts.reading import read
from snowmelt.runtime import schema_objects
from snowmelt.runtime.ports import HasContract
from snowmelt.runtime.rights import enforcement
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.model import CatalogObject, Column, TableDefinition, ViewDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def set_contract(run: Run, item: CatalogObject, options: HasContract, unset: Sequence[str] = ()) -> None:
    """What ALTER … SET CONTRACT and UNSET CONTRACT do; nothing when the statement says nothing about it."""
    definition = item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    if "CONTRACT" in unset:
        with run.state.begin() as state:
            state.contracts.detach(item.id)
        return
    link = _link(run, options, item, shown_columns(run, item) if options.contract is not None else [])
    if link is not None:
        if isinstance(definition, TableDefinition):
            # Whoever alters the table now has looked at its contract already.
            run.open_for_write(item)
        with run.state.begin() as state:
            state.contracts.put(link)


def shown_columns(run: Run, item: CatalogObject) -> list[TableColumn]:
    """The columns of a table; for a view, those that its query gives today. Raises if that can't be bound."""
    if not isinstance(item.definition, ViewDefinition):
        return columns_of(item.definition)
    with run.state.read() as state:
        return run.account.services[PromisedViews].columns(run, state, item)


def wanted(run: Run, options: HasContract, item: CatalogObject, columns: Sequence[Column]) -> ContractLink | None:
    """The link that CREATE asks for. Raises, naming each breach, when such an object does not satisfy it."""
    return _link(run, options, item, as_columns(columns))


def _link(run: Run, options: HasContract, item: CatalogObject, columns: Sequence[TableColumn]) -> ContractLink | None:
    if options.contract is None:
        if options.contract_version is not None:
            raise errors.missing_options(["CONTRACT"])
        return None
    if item.session_id is not None:
        raise errors.unsupported("CONTRACT of a temporary object")
    contract, definition = find(run, options.contract)
    enforcement.require_object(run, "APPLY", contract)
    major = _major(run, contract.name, definition, options.contract_version)
    newest = read(of_major(definition, major)[-1].text)
    described = newest.table(item.name.name)
    if described is None:
        known = ", ".join(table.name for table in newest.tables)
        raise contract_errors.contract_version(
            f"Contract '{contract.name}' describes no table '{item.name.name}', only {known}."
        )
    link = ContractLink(object_id=item.id, contract_id=contract.id, major=major, described=described.name)
    is_table = isinstance(item.definition, TableDefinition)
    promised = promise(contract.name, definition, link, run.now.date(), nullability=is_table)
    assert promised is not None
    if promised.satisfied(columns) is None:
        found = promised.breaches(newest, columns)
        hit = promised.hit(lost(found))
        raise contract_errors.contract_broken(
            str(item.name), str(contract.name), str(newest.version), [str(breach) for breach in found], hit
        )
    return link


def find(run: Run, name: NameRef) -> tuple[CatalogObject, ContractDefinition]:
    with run.state.read() as state:
        found = schema_objects.require(run, state, CONTRACT, name)
    assert isinstance(found.definition, ContractDefinition)
    return found, found.definition


def _major(run: Run, name: ObjectName, definition: ContractDefinition, given: int | None) -> int:
    today = run.now.date()
    live = [major for major in majors(definition) if not is_sunset(definition, major, today)]
    if given is None and live:
        return live[-1]
    if given in live:
        assert given is not None
        return given
    if given is not None and given in majors(definition):
        raise contract_errors.contract_version(f"Version {given} of contract '{name}' is no longer in force.")
    shown = f"version {given}" if given is not None else "version that is not past its sunset"
    raise contract_errors.contract_version(f"Contract '{name}' has no {shown}.")
