"""Checks in a YAML file: by table, each with the options that SQL has.

tables:
  shop.public.orders:
    - {name: id_there, check: not_null, column: order_id, on_failure: quarantine}
    - {name: known, check: accepted_values, column: status, values: [open, closed], severity: warn}
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import yaml

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, literal, split_name
from snowmelt.core.yaml_text import load_yaml
from snowmelt.govern.quality.ddl import statement_of
from snowmelt.govern.quality.kinds import build_check
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.quality_model import QualityCheck

_WORDS = frozenset({"severity", "on_failure", "method"})
_SQL = frozenset({"min", "max"})
_KNOWN = frozenset({"name", "check", "column", "columns", "expression"})


def statements(text: str) -> list[str]:
    """The ALTER TABLE statements that declare the checks of a file. Raises, naming the check, for what is none."""
    try:
        document = load_yaml(text)
    except yaml.YAMLError as error:
        raise _invalid("the file", str(error)) from None
    tables = document.get("tables") if isinstance(document, Mapping) else None
    if not isinstance(tables, Mapping) or set(document) != {"tables"}:
        raise _invalid("the file", "it must have `tables`, and nothing else beside it")
    found: list[str] = []
    for table, checks in tables.items():
        parts = split_name(str(table))
        if parts is None or not isinstance(checks, list):
            raise _invalid(str(table), "a table has a list of checks")
        name = ".".join(spelled(part) for part in parts)
        found += [statement_of(name, _check(str(table), item)) for item in checks]
    return found


def _check(table: str, item: object) -> QualityCheck:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or not isinstance(item.get("check"), str):
        raise _invalid(table, "a check has a `name` and a `check`, which says its kind")
    where = f"{table}, check {item['name']}"
    columns = item.get("columns", item.get("column", ()))
    listed = [columns] if isinstance(columns, str) else list(columns)
    try:
        options = {str(key): _option(str(key), value) for key, value in item.items() if key not in _KNOWN}
        names = tuple(_name(str(column)) for column in listed)
        return build_check(_name(item["name"]), item["check"], names, item.get("expression"), options)
    except (ValueError, errors.SnowmeltError) as error:
        detail = error.message if isinstance(error, errors.SnowmeltError) else str(error)
        raise _invalid(where, detail) from None


def _option(name: str, value: object) -> Any:
    if name in _WORDS:
        return str(value).upper()
    if name in _SQL:
        return sql_value(value)
    match name:
        case "values":
            return tuple(sql_value(one) for one in _list(value))
        case "key":
            return tuple(_name(str(one)) for one in _list(value))
        case "table":
            parts = split_name(str(value))
            if parts is None or len(parts) != 3:
                raise ValueError(f"`table` is a full name, and not '{value}'")
            return ObjectName(*parts)
        case "quantile":
            return float(str(value))
        case "window":
            return int(str(value))
    return str(value)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]


def _name(text: str) -> str:
    """A name as SQL would take it: `order_id` is ORDER_ID, `"Order"` itself."""
    parts = split_name(text)
    if parts is None or len(parts) != 1:
        raise ValueError(f"'{text}' is not a name")
    return parts[0]


def sql_value(value: object) -> str:
    """A value of the file as SQL."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return repr(value)
        case datetime() | date():
            return f"'{value.isoformat()}'"
        case str():
            return literal(value)
    raise ValueError(f"{value!r} is not a value to compare with")


def _invalid(where: str, why: str) -> errors.SnowmeltError:
    return errors.configuration(f"Quality checks of {where} can't be read: {why}.")
