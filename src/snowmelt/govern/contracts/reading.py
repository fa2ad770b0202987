"""From the text of a document to a contract, and all that is wrong with it on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml
from jsonschema import Draft201909Validator
from open_data_contract_standard.model import CustomProperty, OpenDataContractStandard, SchemaObject, SchemaProperty
from pydantic import ValidationError

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.core.yaml_text import load_yaml
from snowmelt.govern.contracts import linting
from snowmelt.govern.contracts.linting import ContractFinding, LintSeverity
from snowmelt.govern.contracts.model import Compatibility, Contract, DescribedTable, Property
from snowmelt.govern.contracts.types import DeclaredType, declared_type
from snowmelt.govern.contracts.versions import parse_version

API_VERSION = "v3.1.0"
"""The version of the standard that documents made here have."""
_DOCUMENTED = (
    "businessName", "encryptedName", "transformLogic", "transformDescription", "examples",
    "criticalDataElement", "partitioned", "partitionKeyPosition",
)  # fmt: skip
_ANY = DeclaredType("object")


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a text."""

    contract: Contract | None
    """None when something is wrong that leaves no contract."""
    findings: tuple[ContractFinding, ...]

    @property
    def errors(self) -> tuple[ContractFinding, ...]:
        return tuple(item for item in self.findings if item.severity is LintSeverity.ERROR)


@lru_cache(maxsize=256)
def read(text: str) -> Contract:
    """The contract, which nobody changes. Raises an error that names everything that is wrong."""
    found = examine(text)
    if found.contract is None or found.errors:
        raise errors.invalid_contract([f"{item.path}: {item.message}" for item in found.errors])
    return found.contract


def examine(text: str) -> Reading:
    """The contract if there is one, and every finding, by the standard's own schema and models and by ours."""
    try:
        data = _plain(load_yaml(text))
    except yaml.YAMLError as error:
        return Reading(
            None, (ContractFinding(LintSeverity.ERROR, "$", f"this is not YAML: {' '.join(str(error).split())}"),)
        )
    if not isinstance(data, dict):
        return Reading(None, (ContractFinding(LintSeverity.ERROR, "$", "this is not a mapping of fields."),))
    findings = list(_against_schema(data))
    try:
        document = OpenDataContractStandard.model_validate(data)
    except ValidationError as error:
        if not findings:
            findings = [ContractFinding(LintSeverity.ERROR, _path(item["loc"]), item["msg"]) for item in error.errors()]
        return Reading(None, tuple(findings))
    findings += linting.findings(document)
    version = parse_version(document.version or "")
    if version is None or any(item.severity is LintSeverity.ERROR for item in findings):
        return Reading(None, tuple(findings))
    custom = _custom(document.customProperties)
    contract = Contract(
        id=document.id or "",
        name=document.name or document.id or "",
        version=version,
        status=document.status or "draft",
        tables=tuple(_described(item) for item in document.schema_ or ()),
        text=text,
        document=document,
        compatibility=Compatibility(str(custom["compatibility"]).upper()) if "compatibility" in custom else None,
        ordered=bool(custom.get("columnOrder", False)),
        open=bool(custom.get("additionalColumns", False)),
    )
    return Reading(contract, tuple(findings))


def _plain(data: Any) -> Any:
    """What YAML read as a date is text again, which is what the standard's schema wants to see."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(item) for item in data]
    return data.isoformat() if isinstance(data, date) else data


@cache
def _validator() -> Any:
    schema = files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8")
    return Draft201909Validator(json.loads(schema))


def _against_schema(data: Mapping[str, Any]) -> Iterator[ContractFinding]:
    for error in sorted(_validator().iter_errors(data), key=lambda item: list(map(str, item.absolute_path))):
        yield ContractFinding(LintSeverity.ERROR, _path(error.absolute_path), error.message)


def _path(parts: Iterable[object]) -> str:
    shown = ""
    for part in parts:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else str(part)
    return shown or "$"


def _described(item: SchemaObject) -> DescribedTable:
    return DescribedTable(
        name=folded(item.physicalName or item.name or ""),
        columns=tuple(_property(column, column=True) for column in item.properties or ()),
        description=item.description,
        tags=tuple(item.tags or ()),
    )


def folded(name: str) -> str:
    """A name as SQL reads it: upper case unless it is quoted. What is no SQL name at all is kept."""
    parts = split_name(name)
    return parts[-1] if parts is not None else name


def _property(item: SchemaProperty, *, column: bool) -> Property:
    name = item.physicalName or item.name or ""
    options = item.logicalTypeOptions or {}
    position = item.primaryKeyPosition if item.primaryKeyPosition and item.primaryKeyPosition > 0 else 1
    return Property(
        name=folded(name) if column else name,
        type=declared_type(item.logicalType, item.physicalType, options) or _ANY,
        required=bool(item.required) or bool(item.primaryKey),
        unique=bool(item.unique),
        key_position=position if item.primaryKey else None,
        limits=tuple(sorted(options.items())),
        values=_values(item),
        id=item.id,
        description=item.description,
        classification=item.classification,
        tags=tuple(item.tags or ()),
        documentation=tuple((name, getattr(item, name)) for name in _DOCUMENTED if getattr(item, name) is not None),
        children=tuple(_property(child, column=False) for child in item.properties or ()),
        element=_property(item.items, column=False) if item.items is not None else None,
    )


def _values(item: SchemaProperty) -> tuple[Any, ...] | None:
    """The values of an enumeration, which the standard writes as a check that none is invalid."""
    for check in item.quality or ():
        given = (check.arguments or {}).get("validValues")
        if (check.metric or check.rule) == "invalidValues" and isinstance(given, list) and check.mustBe == 0:
            return tuple(given)
    return None


def _custom(properties: Iterable[CustomProperty] | None) -> dict[str, Any]:
    return {item.property: item.value for item in properties or () if item.property is not None}
