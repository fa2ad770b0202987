"""What is wrong or missing in a document that the standard's own schema accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from open_data_contract_standard.model import OpenDataContractStandard, SchemaObject, SchemaProperty

from snowmelt.core.types import parse_type
from snowmelt.govern.contracts.model import Compatibility
from snowmelt.govern.contracts.versions import parse_version
from snowmelt.govern.pii.classifying import classify

_INVENTED = re.compile(r"@example\.(com|org|net)$", re.IGNORECASE)
"""Addresses that are nobody's (RFC 2606)."""
_STATUSES = ("proposed", "draft", "active", "deprecated", "retired")


class LintSeverity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class ContractFinding:
    severity: LintSeverity
    path: str
    message: str


def findings(document: OpenDataContractStandard) -> Iterator[ContractFinding]:
    yield from _head(document)
    if not document.schema_:
        yield _error("schema", "there is no table: nothing can satisfy or break this contract.")
    names: set[str] = set()
    for index, item in enumerate(document.schema_ or ()):
        path = f"schema[{index}]"
        name = (item.physicalName or item.name or "").upper()
        if name in names:
            yield _error(path, f"there is another table '{name}'.")
        names.add(name)
        yield from _table(item, path)


def _head(document: OpenDataContractStandard) -> Iterator[ContractFinding]:
    if parse_version(document.version or "") is None:
        yield _error("version", f"'{document.version}' is not a semantic version such as 1.0.0.")
    if document.status not in _STATUSES:
        yield _warning("status", f"'{document.status}' is not one of {', '.join(_STATUSES)}.")
    if not document.name:
        yield _warning("name", "there is none; people know the contract by its id only.")
    if document.description is None or not document.description.purpose:
        yield _warning("description.purpose", "nothing says what the data is for.")
    if not document.team:
        yield _warning("team", "nobody is named whom a consumer could ask.")
    for index, item in enumerate(document.customProperties or ()):
        path = f"customProperties[{index}].value"
        if item.property == "compatibility" and str(item.value).upper() not in set(Compatibility):
            yield _error(path, f"'{item.value}' is not one of {', '.join(Compatibility)}.")
        if item.property in ("columnOrder", "additionalColumns") and not isinstance(item.value, bool):
            yield _error(path, f"'{item.property}' is true or false.")


def _table(item: SchemaObject, path: str) -> Iterator[ContractFinding]:
    if not item.description:
        yield _warning(f"{path}.description", f"table '{item.name}' has none.")
    if not item.properties:
        yield _error(f"{path}.properties", f"table '{item.name}' has no column.")
    yield from _properties(item.properties or (), f"{path}.properties")
    positions = [column.primaryKeyPosition or 0 for column in item.properties or () if column.primaryKey]
    if len(positions) > 1 and sorted(positions) != list(range(1, len(positions) + 1)):
        yield _error(f"{path}.properties", "primaryKeyPosition must number the columns of the key 1, 2, ….")


def _properties(items: Iterable[SchemaProperty], path: str) -> Iterator[ContractFinding]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        here = f"{path}[{index}]"
        name = (item.physicalName or item.name or "").upper()
        if name in seen:
            yield _error(here, f"there is another column '{name}'.")
        seen.add(name)
        yield from _type(item, here)
        if not item.description:
            yield _warning(f"{here}.description", f"column '{item.name}' has none.")
        if "pii" in {tag.lower() for tag in item.tags or ()} and not item.classification:
            yield _warning(f"{here}.classification", f"column '{item.name}' is tagged as PII, and has no class.")
        yield from _examples(item, f"{here}.examples")
        yield from _properties(item.properties or (), f"{here}.properties")


def _examples(item: SchemaProperty, path: str) -> Iterator[ContractFinding]:
    """A contract is read by everybody who may know of it, and its pages are published: no place for a person's data."""
    values = [text for text in map(str, item.examples or ()) if not _INVENTED.search(text)]
    found = classify(item.name or "", values)
    if found is not None and found.coverage > 0:
        yield _warning(
            path,
            f"those of column '{item.name}' look like {found.found.name}, and everybody who reads the contract sees "
            "them. Invent some, such as ann@example.com.",
        )


def _type(item: SchemaProperty, path: str) -> Iterator[ContractFinding]:
    if item.physicalType is None and item.logicalType is None:
        yield _error(path, f"column '{item.name}' has neither physicalType nor logicalType.")
    elif item.physicalType is not None and parse_type(item.physicalType) is None:
        message = f"'{item.physicalType}' of column '{item.name}' is not a type here"
        if item.logicalType is None:
            yield _error(f"{path}.physicalType", f"{message}, and there is no logicalType.")
        else:
            yield _warning(f"{path}.physicalType", f"{message}; logicalType '{item.logicalType}' counts.")


def _error(path: str, message: str) -> ContractFinding:
    return ContractFinding(LintSeverity.ERROR, path, message)


def _warning(path: str, message: str) -> ContractFinding:
    return ContractFinding(LintSeverity.WARNING, path, message)
