"""CREATE FUNCTION and CREATE PROCEDURE as GET_DDL prints them."""

from __future__ import annotations

from collections.abc import Iterable

from snowmelt.core.names import literal
from snowmelt.features.scripting.signatures import created_by, table_type
from snowmelt.features.scripting.statements import CreateRoutine
from snowmelt.sql.statements.spelling import quoted
from snowmelt.state.model import CatalogObject, RoutineDefinition


def ddl(item: CatalogObject, qualified: bool) -> str:
    """Names in quotes and the body as a string, as Snowflake prints routines."""
    definition = item.definition
    assert isinstance(definition, RoutineDefinition)
    parts = (item.name.database, item.name.schema, item.name.name) if qualified else (item.name.name,)
    name = ".".join(quoted(part) for part in parts)
    arguments = ", ".join(
        f"{quoted(argument.name)} {argument.type}"
        + (f" DEFAULT {argument.default}" if argument.default is not None else "")
        for argument in definition.arguments
    )
    written = created_by(definition)
    required = " NOT NULL" if written is not None and written.returns_not_null else ""
    kind = f"{'SECURE ' if definition.secure else ''}{definition.kind}"
    lines = [
        f"CREATE OR REPLACE {'AGGREGATE ' if definition.aggregate else ''}{kind} {name}({arguments})",
        f"RETURNS {_returns(definition)}{required}",
        f"LANGUAGE {definition.language}",
        *_clauses(definition, written),
    ]
    if item.comment is not None:
        lines.append(f"COMMENT={literal(item.comment)}")
    if definition.kind == "PROCEDURE":
        lines.append(f"EXECUTE AS {'CALLER' if definition.execute_as_caller else 'OWNER'}")
    lines.append(f"AS {literal(definition.body)};")
    return "\n".join(lines)


def _returns(definition: RoutineDefinition) -> str:
    if definition.returns_table is None:
        return str(definition.returns)
    return table_type(
        tuple(column.model_copy(update={"name": quoted(column.name)}) for column in definition.returns_table)
    )


def _clauses(definition: RoutineDefinition, written: CreateRoutine | None) -> Iterable[str]:
    if definition.strict:
        yield "STRICT"
    if written is not None and written.volatility is not None:
        yield written.volatility
    elif definition.volatile:
        yield "VOLATILE"
    options = written.options if written is not None else None
    if options is not None and options.runtime_version is not None:
        yield f"RUNTIME_VERSION={literal(options.runtime_version)}"
    if options is not None and options.packages is not None:
        yield f"PACKAGES=({', '.join(literal(item) for item in options.packages)})"
    if options is not None and options.imports is not None:
        yield f"IMPORTS=({', '.join(literal(item) for item in options.imports)})"
    if definition.handler is not None:
        yield f"HANDLER={literal(definition.handler)}"
