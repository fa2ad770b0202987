"""Statements as short text: what they say, without the places and the defaults."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import quote
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText


def outcome(sql: str) -> str:
    """What parsing gives: the statement with its kind, or the error."""
    try:
        statement = parse_statement(sql)
    except SnowmeltError as error:
        return f"error {error}".replace("SQL compilation error:\n", "")
    kind = classify(statement)
    flags = "".join(f" {name}" for name in ("ddl", "dml", "query") if getattr(kind, f"is_{name}"))
    return f"{kind.query_type}{flags}\n{render(statement)}"


def render(value: Any) -> str:
    match value:
        case SqlText():
            return f"`{value.text}`"
        case NameRef():
            return value.variable or ".".join(quote(part) for part in value.parts)
        case Enum() | ObjectType():
            return str(value.value)
        case tuple():
            return "[" + ", ".join(render(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {render(item)}" for key, item in value.items()) + "}"
    if not is_dataclass(value):
        return repr(value)
    said = [
        f"{item.name}={render(getattr(value, item.name))}"
        for item in fields(value)
        if item.compare and getattr(value, item.name) != _default(item)
    ]
    return f"{type(value).__name__}({', '.join(said)})"


def _default(item: Field[Any]) -> Any:
    if item.default is not MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not MISSING else MISSING
