"""Records for the tests of a project: three that are right, one of them twice, and one without its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from snowmelt.design.model import Design, SourceTable
from snowmelt.design.requirements.model import Check, DescribedColumn, QualityRule

_MIDNIGHT = 1_704_067_200_000
"""2024-01-01 as milliseconds."""


Rules = Mapping[str, QualityRule]
"""What is asked of the values of a column, by its name in small letters."""


def rules_of(design: Design, table: SourceTable) -> dict[str, QualityRule]:
    """Gates of the clean table that a fixture has to pass."""
    wanted = (Check.RANGE, Check.ACCEPTED_VALUES)
    asked = [gate.rule for gate in design.quality if gate.rule.check in wanted and gate.rule.table == table.clean]
    return {name.lower(): rule for rule in asked for name in rule.columns}


def fixture(table: SourceTable, rules: Rules) -> list[dict[str, Any]]:
    records = _records(table, rules)
    if table.key:
        keyless = {name: None if name in table.key else value for name, value in records[0].items()}
        records += [records[2], keyless]
    return records


def model_fixture(model: Mapping[str, Any], values: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """Rows of a table that is there already. `values`: those that a sink knows, by column."""
    columns = [DescribedColumn(**column) for column in model["columns"]]
    return [
        {column.name: _known(values.get(column.name.lower()), number) or _value(column, number) for column in columns}
        for number in (1, 2, 3)
    ]


def _known(values: list[str] | None, number: int) -> str | None:
    return values[number % len(values)] if values else None


def change_fixture(tables: Iterable[tuple[SourceTable, Rules]]) -> list[dict[str, Any]]:
    """What a connector lands for new rows of each table."""
    events = [(table.name, record) for table, rules in tables for record in _records(table, rules)]
    return [
        {
            "change_number": number,
            "operation": "INSERT",
            "table_name": name,
            "after": record,
            "ts_ms": _MIDNIGHT + number,
        }
        for number, (name, record) in enumerate(events, start=1)
    ]


def _records(table: SourceTable, rules: Rules) -> list[dict[str, Any]]:
    known = {column.name for column in table.columns}
    named = [DescribedColumn(name=name) for name in (*table.key, table.change_column) if name and name not in known]
    columns = (*named, *table.columns)
    found = [{column.name: _asked(column, number, rules) for column in columns} for number in (1, 2, 3)]
    return found if columns else [{"value": number} for number in (1, 2, 3)]


def _asked(column: DescribedColumn, number: int, rules: Rules) -> Any:
    """A value that the gates of the column pass."""
    rule = rules.get(column.here.lower())
    if rule is None:
        return _value(column, number)
    if rule.values:
        return rule.values[number % len(rule.values)]
    least = rule.minimum if rule.minimum is not None else float("-inf")
    most = rule.maximum if rule.maximum is not None else float("inf")
    value = max(least, min(float(number), most))
    return int(value) if value == int(value) else value


def _value(column: DescribedColumn, number: int) -> Any:
    """A value that the column's type takes, and that is another for each number."""
    kind = column.type.upper().partition("(")[0]
    match kind:
        case "NUMBER" | "INT" | "INTEGER" | "BIGINT" | "DECIMAL" | "NUMERIC" | "FLOAT" | "DOUBLE" | "REAL":
            return number
        case "BOOLEAN":
            return number % 2 == 0
        case "DATE":
            return f"2024-01-0{number}"
        case "TIME":
            return f"0{number}:00:00"
        case "TIMESTAMP_NTZ" | "TIMESTAMP" | "DATETIME":
            return f"2024-01-01T00:00:0{number}"
        case "TIMESTAMP_LTZ" | "TIMESTAMP_TZ":
            return f"2024-01-01T00:00:0{number}+00:00"
        case "VARIANT" | "OBJECT":
            return {"number": number}
        case "ARRAY":
            return [number]
        case "BINARY":
            return f"0{number}"
    return f"{column.name} {number}"
