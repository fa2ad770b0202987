"""CREATE CONTRACT and ALTER CONTRACT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.features.contracts import attaching, enforcing, listing, versioning
from snowmelt.features.contracts import errors as contract_errors
from snowmelt.features.contracts.definitions import CONTRACT, Consumer, ContractDefinition, ContractVersion
from snowmelt.features.contracts.promises import majors, promise_of, version_of
from snowmelt.features.contracts.statements import (
    AddConsumer,
    AddVersion,
    AlterContract,
    CheckContract,
    ContractOptions,
    ContractSource,
    CreateContract,
    DropConsumer,
    DropVersion,
    SetSunset,
)
from snowmelt.features.relations.alter_tables import rename
from snowmelt.govern.contracts.model import Compatibility
from snowmelt.govern.contracts.reading import folded
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, ResultColumn, status, table_result
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Changes = dict[str, Any]
_CHECKED = tuple(
    ResultColumn(name, types.VARCHAR) for name in ("object_name", "version", "satisfies", "status", "breaches")
)


def create_contract(run: Run, statement: CreateContract) -> Result:
    contract = versioning.document(run, statement.source)
    mode = statement.options.compatibility or contract.compatibility or Compatibility.BACKWARD
    first = ContractVersion(version=str(contract.version), text=contract.text, created_on=run.now)
    if statement.or_replace:
        with run.state.read() as state:
            existing = schema_objects.find(run, state, CONTRACT, statement.name)
            if existing is not None:
                enforcing.check_contract_unused(state, existing, "replaced")
    return schema_objects.create(
        run,
        CONTRACT,
        statement.name,
        ContractDefinition(compatibility=str(mode), versions=(first,)),
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        comment=statement.options.comment,
    )


def alter_contract(run: Run, statement: AlterContract) -> Result:
    done = status(DONE, "ALTER_CONTRACT")
    found = schema_objects.to_alter(run, CONTRACT, statement.name, if_exists=statement.if_exists)
    if found is None:
        return done
    match statement.action:
        case AddVersion(source=source):
            return _add_version(run, found, source)
        case SetSunset() as sunset:
            schema_objects.alter(run, found, lambda definition: _sunset(found, definition, sunset))
        case DropVersion(major=major):
            _drop_version(run, found, major)
        case AddConsumer() as adding:
            schema_objects.alter(run, found, lambda definition: _with_consumer(run, found, definition, adding))
        case DropConsumer() as dropping:
            schema_objects.alter(run, found, lambda definition: _without_consumer(definition, dropping))
        case RenameTo(new_name=new_name):
            rename(run, found, new_name)
        case SetOptions(options=ContractOptions() as options):
            changed = {} if options.compatibility is None else {"compatibility": options.compatibility}
            schema_objects.alter(run, found, changed, comment=options.comment)
        case UnsetOptions():
            schema_objects.alter(run, found, {}, uncomment=True)
        case _:
            raise errors.unsupported_action("CONTRACT", statement.action)
    return done


def _add_version(run: Run, item: CatalogObject, source: ContractSource) -> Result:
    if source.table is not None:
        raise errors.unsupported("ADD VERSION FROM TABLE", hint="Export the newest version, change it and add that.")
    contract = versioning.document(run, source)
    added = ContractVersion(version=str(contract.version), text=contract.text, created_on=run.now)

    def following(definition: ContractDefinition) -> Changes:
        versioning.check_follows(item.name, definition, contract)
        return {"versions": tuple(sorted((*definition.versions, added), key=version_of))}

    schema_objects.alter(run, item, following)
    return status(f"Version {contract.version} of contract {item.name} successfully added.", "ALTER_CONTRACT")


def _require_major(item: CatalogObject, definition: ContractDefinition, major: int) -> None:
    if major not in majors(definition):
        raise contract_errors.contract_version(f"Contract '{item.name}' has no version {major}.")


def _sunset(item: CatalogObject, definition: ContractDefinition, action: SetSunset) -> Changes:
    _require_major(item, definition, action.major)
    sunsets = {major: day for major, day in definition.sunsets.items() if major != action.major}
    return {"sunsets": sunsets if action.day is None else {**sunsets, action.major: action.day}}


def _drop_version(run: Run, item: CatalogObject, major: int) -> None:
    with run.state.read() as state:
        if any(link.major == major for link in state.contracts.of_contract(item.id)):
            enforcing.check_contract_unused(state, item, f"deprived of version {major}")

    def rest(definition: ContractDefinition) -> Changes:
        _require_major(item, definition, major)
        kept = tuple(version for version in definition.versions if version_of(version).major != major)
        if not kept:
            raise contract_errors.contract_version(f"Version {major} is the only one of contract '{item.name}'.")
        return {
            "versions": kept,
            "sunsets": {other: day for other, day in definition.sunsets.items() if other != major},
        }

    schema_objects.alter(run, item, rest)


def _with_consumer(run: Run, item: CatalogObject, definition: ContractDefinition, action: AddConsumer) -> Changes:
    """A consumer of that name is replaced: they said anew what they use."""
    options = action.options
    if options.version is not None:
        _require_major(item, definition, options.version)
    added = Consumer(
        name=action.name,
        contact=options.contact,
        major=options.version,
        columns=tuple(folded(name) for name in options.columns or ()),
        comment=options.comment,
        added_on=run.now,
    )
    others = tuple(consumer for consumer in definition.consumers if consumer.name != action.name)
    return {"consumers": (*others, added)}


def _without_consumer(definition: ContractDefinition, action: DropConsumer) -> Changes:
    others = tuple(consumer for consumer in definition.consumers if consumer.name != action.name)
    if len(others) == len(definition.consumers) and not action.if_exists:
        raise errors.not_found("Consumer", action.name)
    return {"consumers": others}


def check_contract(run: Run, statement: CheckContract) -> Result:
    """One row for each object that the contract is attached to and the role may know of."""
    contract, _ = attaching.find(run, statement.name)
    with run.state.read() as state:
        rows = [_checked(run, state, item) for item in listing.attached_objects(state, contract)]
    return table_result(_CHECKED, sorted(rows, key=lambda row: str(row[0])))


def _checked(run: Run, state: StateReader, item: CatalogObject) -> list[Any]:
    promise = promise_of(state, item, run.now.date())
    if promise is None:
        return [str(item.name), None, None, "SUNSET", None]
    newest = promise.versions[-1]
    try:
        columns = attaching.shown_columns(run, item)
    except errors.SnowmeltError as error:
        return [str(item.name), str(newest.version), None, "BROKEN", error.message]
    satisfied = promise.satisfied(columns)
    word = "BROKEN" if satisfied is None else "OK" if satisfied is newest else "BEHIND"
    found = "; ".join(str(breach) for breach in promise.breaches(newest, columns))
    return [str(item.name), str(newest.version), str(satisfied.version) if satisfied else None, word, found or None]
