"""Functions and procedures: the user's, and the built-in ones of the allow-list."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.features.scripting.signatures import (
    argument_types,
    base_type,
    created_by,
    returned,
    returned_type,
    signature,
)
from snowmelt.runtime.metadata import formats
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import EPOCH, Row, columns, yes
from snowmelt.runtime.metadata.scopes import schema_scope
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import Function, FunctionKind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject, ObjectKind, RoutineDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

PROCEDURES = columns(
    "created_on:ts, name, schema_name, is_builtin, is_aggregate, is_ansi, min_num_arguments:n, max_num_arguments:n, "
    "arguments, description, catalog_name, is_table_function, valid_for_clustering, is_secure, secrets, "
    "external_access_integrations"
)
FUNCTION_COLUMNS = (*PROCEDURES, *columns("is_external_function, language, is_memoizable, is_data_metric"))

_ARGUMENT_TYPES = {
    "str": types.VARCHAR, "int": types.INTEGER, "num": types.number(), "float": types.FLOAT, "bool": types.BOOLEAN,
    "date": types.DATE, "ts": types.TIMESTAMP_NTZ, "datetime": types.TIMESTAMP_NTZ, "bin": types.BINARY,
    "variant": types.VARIANT, "word": types.VARCHAR,
}  # fmt: skip
"""A type for each word in a function's declaration that stands for one; the others take anything."""
_MANY_ARGUMENTS = 65_535
"""What Snowflake shows as the most arguments where any number is taken."""


def functions(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    yield from user_functions(run, state, statement)
    yield from builtin_functions(run, state, statement)


def user_functions(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    return _routines(run, state, statement, ObjectKind.FUNCTION)


def procedures(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    return _routines(run, state, statement, ObjectKind.PROCEDURE)


def builtin_functions(_: Run, __: StateReader, ___: ShowStatement) -> Iterator[Row]:
    """The allow-list, whatever the scope: these functions live in no schema."""
    return iter(_allow_list())


@cache
def _allow_list() -> tuple[Row, ...]:
    return tuple(_builtin(FUNCTIONS[name]) for name in sorted(FUNCTIONS))


def nothing(_: Run, __: StateReader, ___: ShowStatement) -> Iterator[Row]:
    return iter(())


def _routines(run: Run, state: StateReader, statement: ShowStatement, kind: ObjectKind) -> Iterator[Row]:
    scope = schema_scope(run, state, statement)
    for item in objects(run, state, [kind], scope.database, scope.schema):
        definition = item.definition
        assert isinstance(definition, RoutineDefinition)
        yield _routine(item, definition)


def _routine(item: CatalogObject, definition: RoutineDefinition) -> Row:
    required = sum(1 for argument in definition.arguments if argument.default is None)
    noun = "function" if definition.kind == "FUNCTION" else "procedure"
    return {
        "created_on": item.created_on,
        "name": item.name.name,
        "schema_name": item.name.schema,
        "is_builtin": "N",
        "is_aggregate": yes(definition.aggregate),
        "is_ansi": "N",
        "min_num_arguments": required,
        "max_num_arguments": len(definition.arguments),
        "arguments": f"{item.name.name}{argument_types(definition)} RETURN {returned(definition)}",
        "description": item.comment or f"user-defined {noun}",
        "catalog_name": item.name.database,
        "is_table_function": yes(definition.returns_table is not None),
        "valid_for_clustering": "N",
        "is_secure": yes(definition.secure),
        "secrets": "",
        "external_access_integrations": "",
        "is_external_function": "N",
        "language": definition.language,
        "is_memoizable": "N",
        "is_data_metric": "N",
    }


def _any(type_: DataType | None) -> str:
    return "ANY" if type_ is None else base_type(type_)


def _builtin(function: Function) -> Row:
    taken = [_ARGUMENT_TYPES.get(word) for word in function.takes]
    shown = [f"{'DEFAULT ' if index >= function.min_args else ''}{_any(type_)}" for index, type_ in enumerate(taken)]
    known = tuple(type_ for type_ in taken if type_ is not None)
    if isinstance(function.returns, DataType) or len(known) == len(taken):
        returned = _any(function.result_type(known))
    else:
        returned = _any(None)
    return {
        "created_on": EPOCH,
        "name": function.name,
        "schema_name": "",
        "is_builtin": "Y",
        "is_aggregate": yes(function.kind is FunctionKind.AGGREGATE),
        "is_ansi": "N",
        "min_num_arguments": function.min_args,
        "max_num_arguments": _MANY_ARGUMENTS if function.max_args is None else function.max_args,
        "arguments": f"{function.name}({', '.join(shown)}) RETURN {returned}",
        "description": f"{function.family.replace('_', ' ')} function",
        "catalog_name": "",
        "is_table_function": "N",
        "valid_for_clustering": yes(function.kind is FunctionKind.SCALAR and not function.volatile),
        "is_secure": "N",
        "secrets": "",
        "external_access_integrations": "",
        "is_external_function": "N",
        "language": "SQL",
        "is_memoizable": "N",
        "is_data_metric": "N",
    }


def described(run: Run, item: CatalogObject) -> Iterator[Row]:
    """The rows of DESCRIBE."""
    assert isinstance(item.definition, RoutineDefinition)
    for key, value in _properties(item.definition).items():
        yield {"property": key, "value": value if key != "body" or may_read_definition(run, item) else None}


def _properties(definition: RoutineDefinition) -> dict[str, str]:
    properties = {
        "signature": signature(definition),
        "returns": returned_type(definition),
        "language": definition.language,
    }
    if definition.kind == "PROCEDURE":
        properties["execute as"] = "CALLER" if definition.execute_as_caller else "OWNER"
    properties["body"] = definition.body
    written = created_by(definition)
    if definition.language == "PYTHON" and written is not None:
        properties["handler"] = definition.handler or ""
        properties["runtime_version"] = written.options.runtime_version or ""
        properties["packages"] = formats.shown(written.options.packages or ())
        properties["imports"] = formats.shown(written.options.imports or ())
    return properties
