"""Check files of Soda (SodaCL, `checks for TABLE:`) as checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, literal, split_name
from snowmelt.core.yaml_text import load_yaml
from snowmelt.govern.quality.imported import (
    Collected,
    Imported,
    Unmapped,
    UnmappedError,
    Wanted,
    column_name,
    measured_by,
    table_name,
)
from snowmelt.govern.quality.soda_metrics import SodaMetric, alerting, passing, wanted_for
from snowmelt.sql.statements.spelling import spelled

_HEAD = re.compile(r"checks for\s+(?P<table>[^\[]+?)\s*(?P<part>\[.*\])?")
_METRIC = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?:\((?P<arguments>[^)]*)\))?\s*(?P<condition>.*)", re.DOTALL)
_REFERENCE = re.compile(r"values in \(?(?P<own>[^)]*?)\)? must exist in (?P<other>\S+)\s*\(?(?P<key>[^)]*)\)?")
_FRESHNESS = re.compile(r"freshness(?:\s*\((?P<a>[^)]*)\)|\s+using\s+(?P<b>\S+))\s*<\s*(?P<age>(?:\d+[dhms])+)")
_AGE = re.compile(r"(\d+)([dhms])")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SAME_ROWS = re.compile(r"row_count same as (?P<other>\S+)")
_IGNORED = frozenset({"name", "title", "identity", "attributes", "samples limit", "samples columns"})


@dataclass(frozen=True, slots=True)
class _Line:
    """One check of the file."""

    table: str
    """As SQL."""
    text: str
    config: Mapping[str, Any]

    @property
    def settings(self) -> dict[str, Any]:
        """What says how it is measured."""
        return {key: value for key, value in self.config.items() if key not in _IGNORED}

    @property
    def name(self) -> str | None:
        return self.config.get("name")


def imported(text: str, schema: str | None) -> Imported:
    """The checks of a file. `schema`, such as DB.PUBLIC, is where the tables are that it names alone."""
    found = Collected()
    for head, body in _document(text).items():
        named = _HEAD.fullmatch(str(head))
        if named is None or named["part"] or not isinstance(body, list):
            found.unmapped.append(Unmapped(str(head), "only `checks for TABLE:` without a filter can be taken over"))
            continue
        table = _located(named["table"], schema)
        for line in _lines(table, body):
            with found.noting(f"{named['table']}: {line.text}"):
                _add(found, line)
    return found.done()


def _document(text: str) -> Mapping[Any, Any]:
    try:
        document = load_yaml(text)
    except yaml.YAMLError as error:
        raise errors.configuration(f"The file is not valid YAML: {error}.") from None
    if not isinstance(document, Mapping) or not any(_HEAD.fullmatch(str(head)) for head in document):
        raise errors.configuration("This is not a check file of Soda: it has no `checks for TABLE:`.")
    return document


def _located(table: str, schema: str | None) -> str:
    parts = split_name(table) or ()
    return table_name(f"{schema}.{table}" if schema is not None and len(parts) == 1 else table)


def _lines(table: str, body: list[Any]) -> Iterator[_Line]:
    """A schema check is as many as it has alerts: some of them may be known and others not."""
    for item in body:
        text, config = next(iter(item.items())) if isinstance(item, Mapping) else (str(item), {})
        line = _Line(table, " ".join(str(text).split()), config if isinstance(config, Mapping) else {})
        if line.text != "schema":
            yield line
            continue
        for level in ("fail", "warn"):
            for alert, value in (line.config.get(level) or {}).items():
                kept = {"name": line.name, "level": level, "alert": alert, "value": value}
                yield _Line(table, f"schema: {alert}", kept)


def _add(found: Collected, line: _Line) -> None:
    if line.text.startswith("schema: "):
        _add_schema(found, line)
    elif line.text == "failed rows":
        _only(line, "fail condition", "fail query")
        found.add(line.table, _failed_rows(line), line.name)
    elif matched := _REFERENCE.fullmatch(line.text):
        _only(line)
        found.add(line.table, _reference(line.table, matched), line.name)
    elif matched := _FRESHNESS.fullmatch(line.text):
        _only(line)
        seconds = sum(int(amount) * _SECONDS[unit] for amount, unit in _AGE.findall(matched["age"]))
        column = column_name((matched["a"] or matched["b"]).strip())
        found.add(line.table, Wanted("FRESHNESS", (column,), options={"max_age": f"{seconds} seconds"}), line.name)
    elif matched := _SAME_ROWS.fullmatch(line.text):
        _only(line)
        other = _beside(line.table, matched["other"])
        query = f"SELECT (SELECT COUNT(*) FROM {line.table}) - (SELECT COUNT(*) FROM {other})"
        found.add(line.table, measured_by(query, 0, 0), line.name)
    else:
        _add_metric(found, line)


def _only(line: _Line, *known: str) -> None:
    for key in line.settings:
        if key not in known:
            raise UnmappedError(f"`{key}` has no counterpart")


def _add_metric(found: Collected, line: _Line) -> None:
    matched = _METRIC.fullmatch(line.text)
    if matched is None:
        raise UnmappedError("there is no such check")
    arguments = [part.strip() for part in (matched["arguments"] or "").split(",") if part.strip()]
    settings = line.settings
    alerts = {level: settings.pop(level) for level in ("warn", "fail") if level in settings}
    metric = SodaMetric(line.table, matched["name"], tuple(arguments), settings)
    if matched["condition"]:
        if alerts:
            raise UnmappedError("a condition and alerts together have no counterpart")
        for wanted in wanted_for(metric, passing(matched["condition"], counts=metric.counts)):
            found.add(line.table, wanted, line.name)
        return
    if not alerts:
        raise UnmappedError("it has no condition")
    for level, conditions in alerts.items():
        for condition in conditions if isinstance(conditions, list) else [conditions]:
            for wanted in wanted_for(metric, alerting(str(condition), counts=metric.counts)):
                found.add(line.table, wanted, line.name, severity="WARN" if level == "warn" else None)


def _add_schema(found: Collected, line: _Line) -> None:
    severity = "WARN" if line.config["level"] == "warn" else None
    value = line.config["value"]
    match line.config["alert"]:
        case "when required column missing":
            listed = [spelled(column_name(column)) for column in value]
        case "when wrong column type":
            listed = [f"{spelled(column_name(column))} {type_}" for column, type_ in value.items()]
        case _:
            raise UnmappedError("there is no such check")
    wanted = Wanted("SCHEMA", options={"values": tuple(literal(column) for column in listed)})
    found.add(line.table, wanted, line.name, severity=severity)


def _failed_rows(line: _Line) -> Wanted:
    condition, query = line.config.get("fail condition"), line.config.get("fail query")
    if condition is not None:
        return Wanted("EXPRESSION", expression=f"NOT ({condition})")
    if query is not None:
        return measured_by(f"SELECT COUNT(*) FROM ({str(query).strip().rstrip(';')})", None, 0)
    raise UnmappedError("it has neither a condition nor a query")


def _reference(table: str, matched: re.Match[str]) -> Wanted:
    own, key = ([column_name(part.strip()) for part in matched[group].split(",")] for group in ("own", "key"))
    parts = split_name(_beside(table, matched["other"])) or ()
    if len(parts) != 3:
        raise UnmappedError(f"the schema of {matched['other']} is not known: give --schema DATABASE.SCHEMA")
    return Wanted("REFERENCES", tuple(own), options={"table": ObjectName(*parts), "key": tuple(key)})


def _beside(table: str, other: str) -> str:
    """The other table's name as SQL, in the same schema unless it says another."""
    parts = split_name(table) or ()
    if len(split_name(other) or ()) == 1 and len(parts) > 1:
        return table_name(".".join([*(spelled(part) for part in parts[:-1]), other]))
    return table_name(other)
