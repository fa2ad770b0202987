"""Rows for the tests of a project's gates: for each gate good ones, and bad ones that it must not let pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from snowmelt.core.names import literal
from snowmelt.design.building.naming import gate_name
from snowmelt.design.making.clean_tables import named
from snowmelt.design.making.enforcing import action_of, number
from snowmelt.design.model import Design, DesignGate
from snowmelt.design.requirements.model import Check, QualityRule

Row = dict[str, str]
"""SQL by column; others get a value of their type."""
_MOST_ROWS = 50
_MANY = 30
_OF_ALL_COLUMNS = (Check.NOT_NULL, Check.UNIQUE, Check.ROW_COUNT)
"""Held by one check, however many columns they are about."""
_NOTES: dict[Check, tuple[str, str]] = {
    Check.FRESHNESS: (
        "INSERT INTO heartbeats (flow, looked_at, run_id) VALUES ({flow}, '2000-01-01', 'test')",
        "UPDATE heartbeats SET looked_at = CURRENT_TIMESTAMP() WHERE flow = {flow}",
    ),
    Check.SCHEMA: (
        "INSERT INTO schema_changes (flow, column_name, difference, records, run_id, first_seen) "
        "VALUES ({flow}, 'other', 'new', 1, 'test', CURRENT_TIMESTAMP())",
        "UPDATE schema_changes SET ended_at = CURRENT_TIMESTAMP() WHERE flow = {flow}",
    ),
    Check.RECONCILIATION: (
        "INSERT INTO reconciliations (flow, source_rows, table_rows, missing, different, extra, repaired, breaches, "
        "run_id, checked_at) VALUES ({flow}, 2, 1, 1, 0, 0, 0, 1, 'test', '2000-01-01')",
        "INSERT INTO reconciliations (flow, source_rows, table_rows, missing, different, extra, repaired, breaches, "
        "run_id, checked_at) VALUES ({flow}, 2, 2, 0, 0, 0, 0, 0, 'test', '2000-01-02')",
    ),
}
"""What a run notes when it is bad, and then when it is good; for gates that count notes."""


def example_tests(design: Design) -> Iterator[tuple[str, str]]:
    """The worked examples of transformations, their values as SQL; none where there is none."""
    found = [
        {
            "table": stage.name, "about": example.about, "reads": list(stage.reads),
            "given": {name.lower(): [_as_sql(row) for row in rows] for name, rows in example.given.items()},
            "expect": [_as_sql(row) for row in example.expect],
            "columns": list(map(named, example.expect[0])) if example.expect else ["*"],
        }
        for stage in design.stages for example in stage.examples
    ]  # fmt: skip
    if found:
        yield "tests/fixtures/examples.json", json.dumps(found, indent=1) + "\n"


def _as_sql(row: Mapping[str, Any]) -> Row:
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    return literal(value) if isinstance(value, str) else str(value).upper()


def gate_tests(design: Design) -> Iterator[tuple[str, str]]:
    """One entry for each check, and for each gate that is counted."""
    found = [
        entry for at, gate in enumerate(design.quality, start=1) for entry in _entries(gate_name(at, gate), gate)
    ]  # fmt: skip
    yield "tests/fixtures/gates.json", json.dumps(found, indent=1) + "\n"


def _entries(name: str, gate: DesignGate) -> Iterator[dict[str, Any]]:
    rule = gate.rule
    notes = _NOTES.get(rule.check)
    if notes is not None and " WHERE flow = " in gate.sql:
        yield {"gate": name, "bad": [notes[0]], "good": [notes[1]]}
        return
    about: dict[str, Any] = {"gate": name, "table": rule.table}
    if not gate.checks:
        yield from ({**about, **rows} for rows in _counted(rule))
        return
    for index, check in enumerate(gate.checks):
        columns = rule.columns if rule.check in _OF_ALL_COLUMNS else (rule.columns[index],)
        outcome = "FAIL" if rule.threshold and action_of(rule) == "QUARANTINE" else action_of(rule)
        yield {**about, "check": check.name, "outcome": outcome, **_rows(rule, columns)}


def _rows(rule: QualityRule, columns: tuple[str, ...]) -> dict[str, Any]:
    """A row that passes, and one more that does not."""
    names = [named(column) for column in columns]
    match rule.check:
        case Check.ROW_COUNT:
            return {"good": [{}], "bad": [], "removed": True}
        case Check.NOT_NULL:
            return {"good": [{}], "bad": [dict.fromkeys(names, "NULL")]}
        case Check.UNIQUE:
            return {"good": [{}], "bad": [{}]}
        case Check.ACCEPTED_VALUES:
            other = "none of them" if not all(value.isdigit() for value in rule.values) else "-987654321"
            return {
                "good": [dict.fromkeys(names, literal(rule.values[0]))],
                "bad": [dict.fromkeys(names, literal(other))],
            }
    assert rule.minimum is not None or rule.maximum is not None, "checked when it was read"
    bound, step = (rule.minimum, -1) if rule.minimum is not None else (rule.maximum or 0, 1)
    return {
        "good": [dict.fromkeys(names, number(bound))], "bad": [dict.fromkeys(names, number(bound + step))],
    }  # fmt: skip


def _counted(rule: QualityRule) -> Iterator[dict[str, Any]]:
    """Tests of gates that count rows. Left out: gates about columns, or about more rows than a test should have."""
    names = [named(column) for column in rule.columns]
    match rule.check:
        case Check.ROW_COUNT:
            least = int(1 if rule.minimum is None else rule.minimum)
            if 1 <= least <= _MOST_ROWS:
                yield {"good": [{}] * least, "bad": [{}] * (least - 1)}
        case Check.DISTRIBUTION:
            usual: list[Row] = [{names[0]: "1"}] * _MANY
            yield {"good": usual, "bad": [*usual, {names[0]: "1000"}]}
        case Check.REFERENTIAL_INTEGRITY:
            assert rule.references is not None
            other, _, column = rule.references.rstrip(")").partition("(")
            yield {"good": [{}], "bad": [{}], "other": other, "other_column": named(column) if column else names[0]}
        case Check.FRESHNESS:
            when = names[0] if names else "loaded_at"
            yield {"good": [{when: "CURRENT_TIMESTAMP()"}], "bad": [{when: "'2000-01-01'"}]}
        case Check.UNIQUE:
            yield {"good": [{}], "bad": [{}, {}]}
        case Check.SCHEMA:
            return
        case _:
            yield _rows(rule, rule.columns)
