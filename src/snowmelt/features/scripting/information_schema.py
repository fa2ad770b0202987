"""FUNCTIONS and PROCEDURES."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.features.scripting.signatures import created_by, returned_type, signature
from snowmelt.runtime.information_schema.relations import type_facts
from snowmelt.runtime.kinds import InformationView
from snowmelt.runtime.metadata import formats
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.state.model import CatalogObject, Database, ObjectKind, RoutineDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_RETURN_TYPE = (
    "DATA_TYPE, CHARACTER_MAXIMUM_LENGTH:NUMBER(9,0), CHARACTER_OCTET_LENGTH:NUMBER(9,0), "
    "NUMERIC_PRECISION:NUMBER(9,0), NUMERIC_PRECISION_RADIX:NUMBER(9,0), NUMERIC_SCALE:NUMBER(9,0)"
)
_FUNCTIONS = (
    f"FUNCTION_CATALOG, FUNCTION_SCHEMA, FUNCTION_NAME, FUNCTION_OWNER, ARGUMENT_SIGNATURE, {_RETURN_TYPE}, "
    "FUNCTION_LANGUAGE, FUNCTION_DEFINITION, VOLATILITY, IS_NULL_CALL:flag, IS_SECURE:flag, CREATED:ts, "
    "LAST_ALTERED:ts, COMMENT, IS_EXTERNAL:flag, API_INTEGRATION, CONTEXT_HEADERS, MAX_BATCH_ROWS:NUMBER(9,0), "
    "REQUEST_TRANSLATOR, RESPONSE_TRANSLATOR, COMPRESSION, IMPORTS, HANDLER, TARGET_PATH, RUNTIME_VERSION, "
    "PACKAGES, INSTALLED_PACKAGES, IS_MEMOIZABLE:flag, EXTERNAL_ACCESS_INTEGRATIONS, SECRETS, "
    "IS_DATA_METRIC:flag, IS_AGGREGATE:flag, ARTIFACT_REPOSITORY"
)
_PROCEDURES = (
    f"PROCEDURE_CATALOG, PROCEDURE_SCHEMA, PROCEDURE_NAME, PROCEDURE_OWNER, ARGUMENT_SIGNATURE, {_RETURN_TYPE}, "
    "PROCEDURE_LANGUAGE, PROCEDURE_DEFINITION, CREATED:ts, LAST_ALTERED:ts, COMMENT, "
    "EXTERNAL_ACCESS_INTEGRATIONS, SECRETS, RUNTIME_VERSION, PACKAGES, INSTALLED_PACKAGES, ARTIFACT_REPOSITORY, "
    "OWNER_ROLE_TYPE"
)


def _functions(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item, definition in _routines(run, state, database, ObjectKind.FUNCTION):
        written = created_by(definition)
        volatility = written.volatility if written is not None else None
        yield {
            **_common(run, item, definition, "FUNCTION"),
            "VOLATILITY": "VOLATILE" if _is_volatile(definition) else "IMMUTABLE",
            "IS_NULL_CALL": long_yes(not definition.strict),
            "IS_SECURE": long_yes(definition.secure),
            "IS_EXTERNAL": "NO",
            "HANDLER": definition.handler,
            "IS_MEMOIZABLE": long_yes(volatility == "MEMOIZABLE"),
            "IS_DATA_METRIC": "NO",
            "IS_AGGREGATE": long_yes(definition.aggregate),
        }


def _is_volatile(definition: RoutineDefinition) -> bool:
    """SQL is seen through; code is what it is declared."""
    return definition.volatile or (definition.language != "SQL" and not definition.immutable)


def _procedures(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item, definition in _routines(run, state, database, ObjectKind.PROCEDURE):
        yield {**_common(run, item, definition, "PROCEDURE"), "OWNER_ROLE_TYPE": "ROLE"}


def _routines(
    run: Run, state: StateReader, database: Database, kind: ObjectKind
) -> Iterator[tuple[CatalogObject, RoutineDefinition]]:
    for item in objects(run, state, [kind], database.name):
        assert isinstance(item.definition, RoutineDefinition)
        yield item, item.definition


def _common(run: Run, item: CatalogObject, definition: RoutineDefinition, prefix: str) -> dict[str, Any]:
    facts = type_facts(definition.returns) if definition.returns is not None else {}
    return {
        f"{prefix}_CATALOG": item.name.database,
        f"{prefix}_SCHEMA": item.name.schema,
        f"{prefix}_NAME": item.name.name,
        f"{prefix}_OWNER": item.owner,
        "ARGUMENT_SIGNATURE": signature(definition),
        **facts,
        "DATA_TYPE": returned_type(definition),
        f"{prefix}_LANGUAGE": definition.language,
        f"{prefix}_DEFINITION": definition.body if may_read_definition(run, item) else None,
        "CREATED": item.created_on,
        "LAST_ALTERED": item.altered_on,
        "COMMENT": item.comment,
        **_runtime(definition),
    }


def _runtime(definition: RoutineDefinition) -> dict[str, Any]:
    written = created_by(definition) if definition.language == "PYTHON" else None
    if written is None:
        return {}
    packages = formats.shown(written.options.packages or ())
    return {"RUNTIME_VERSION": written.options.runtime_version, "PACKAGES": packages}


VIEWS = (
    InformationView(name="FUNCTIONS", columns=_FUNCTIONS, rows=_functions),
    InformationView(name="PROCEDURES", columns=_PROCEDURES, rows=_procedures),
)
