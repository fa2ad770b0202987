"""Documents that come into a contract: read, compared with what is promised already, and numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.contracts import errors as contract_errors
from snowmelt.features.contracts.attaching import shown_columns
from snowmelt.features.contracts.definitions import ContractDefinition
from snowmelt.features.contracts.promises import affected, majors, of_major, version_of
from snowmelt.features.contracts.statements import ContractSource
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.stage_statements import Location
from snowmelt.govern.contracts import making
from snowmelt.govern.contracts.changes import ContractChange
from snowmelt.govern.contracts.compatibility import compare
from snowmelt.govern.contracts.model import Compatibility, Contract
from snowmelt.govern.contracts.reading import read
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_MOST_BYTES = 4 * 1024 * 1024
"""A document that is larger is none."""


def document(run: Run, source: ContractSource) -> Contract:
    """The contract that a statement brings."""
    if source.text is not None:
        return read(source.text)
    if source.location is not None:
        return read(_staged(run, source.location))
    assert source.table is not None
    return read(_of_table(run, source.table))


def _staged(run: Run, location: Location) -> str:
    stage = stage_folders.resolve(run, location)
    files = stage.all_files()
    if len(files) != 1:
        raise errors.SnowmeltError(
            "253006", "22000", f"'{stage.written}' is not one file: there are {len(files)} below it."
        )
    if files[0].size > _MOST_BYTES:
        raise errors.invalid_contract([f"the file has {files[0].size} bytes, and a contract at most {_MOST_BYTES}"])
    with stage.reading(files[0].path) as content:
        data: bytes = content.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise errors.invalid_contract(["the file is not UTF-8"]) from None


def _of_table(run: Run, name: NameRef) -> str:
    full = run.object_name(name)
    with run.state.read() as state:
        found = state.catalog.find(full, RELATIONS, run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    return _made_from(run, found)


def _made_from(run: Run, item: CatalogObject) -> str:
    """A document that a table or view satisfies as it is."""
    definition = item.definition
    primary = definition.primary_key if isinstance(definition, TableDefinition) else None
    key = primary.columns if primary is not None else ()
    columns = shown_columns(run, item)
    return making.text_of(making.from_table(str(item.name), columns, key=key, description=item.comment))


def check_follows(name: ObjectName, definition: ContractDefinition, new: Contract) -> None:
    """Raises, naming what changes and who is hit, unless the new version may come behind those there are."""
    major = new.version.major
    earlier = of_major(definition, major)
    if not earlier:
        if major < majors(definition)[-1]:
            newest = definition.versions[-1].version
            raise errors.SnowmeltError(
                "370013", "23514", f"Version {new.version} of contract '{name}' is older than {newest}."
            )
        return
    old = read(earlier[-1].text)
    if new.version == old.version:
        raise errors.SnowmeltError("370013", "23514", f"Contract '{name}' has version {new.version} already.")
    mode = Compatibility(definition.compatibility)
    verdict = compare(old, new, mode)
    if not verdict.allowed:
        shown: tuple[ContractChange, ...] = verdict.breaking or verdict.changes
        touched = {change.column.split(".")[0] for change in shown if change.column is not None}
        hit = affected(definition.consumers, major, touched or None) if verdict.breaking else []
        raise contract_errors.contract_incompatible(
            str(name), str(old.version), str(new.version), str(mode), str(verdict.least), list(map(str, shown)), hit
        )


def latest(definition: ContractDefinition) -> str:
    return str(version_of(definition.versions[-1]))
