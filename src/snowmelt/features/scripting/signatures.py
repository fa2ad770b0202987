"""What is said of a routine's arguments and result, and by the statement that made it."""

from __future__ import annotations

from snowmelt.core.types import DataType, Kind
from snowmelt.features.scripting.statements import CreateRoutine
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.state.model import Column, RoutineDefinition


def created_by(definition: RoutineDefinition) -> CreateRoutine | None:
    """The statement that created it, which knows what the definition does not keep."""
    statement = parse_statement(definition.text) if definition.text else None
    return statement if isinstance(statement, CreateRoutine) else None


def argument_types(definition: RoutineDefinition) -> str:
    """`(NUMBER, DEFAULT VARCHAR)`: types without their sizes, and which may be left out."""
    shown = (
        f"{'DEFAULT ' if argument.default is not None else ''}{base_type(argument.type)}"
        for argument in definition.arguments
    )
    return f"({', '.join(shown)})"


def signature(definition: RoutineDefinition) -> str:
    """`(A NUMBER, B VARCHAR)`, as DESCRIBE and INFORMATION_SCHEMA print it."""
    return f"({', '.join(f'{item.name} {base_type(item.type)}' for item in definition.arguments)})"


def returned_type(definition: RoutineDefinition) -> str:
    """The return type in full: `NUMBER(38,0)`, `TABLE (A NUMBER(38,0), …)`."""
    if definition.returns_table is not None:
        return table_type(definition.returns_table)
    return str(definition.returns) if definition.returns is not None else "VARIANT"


def table_type(columns: tuple[Column, ...]) -> str:
    return f"TABLE ({', '.join(f'{column.name} {column.type}' for column in columns)})"


def returned(definition: RoutineDefinition) -> str:
    if definition.returns_table is not None:
        columns = (f"{column.name} {base_type(column.type)}" for column in definition.returns_table)
        return f"TABLE ({', '.join(columns)})"
    return base_type(definition.returns) if definition.returns is not None else "VARIANT"


def base_type(type_: DataType) -> str:
    """A type without its precision or length."""
    return "VARCHAR" if type_.kind is Kind.NULL else type_.kind.value
