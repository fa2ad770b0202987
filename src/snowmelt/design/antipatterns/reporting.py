"""Findings for other programs: JSON, and SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from snowmelt.core.version import VERSION
from snowmelt.design.antipatterns.model import AntiPattern, LintFinding, known_antipatterns

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_json(findings: Iterable[LintFinding]) -> str:
    rows = [
        {"id": item.pattern.id, "level": item.pattern.level, "title": item.pattern.title, "file": item.file,
         "line": item.line, "object": item.object, "message": item.message, "why": item.pattern.hurts,
         "remedy": item.pattern.remedy, "fixable": bool(item.edits)}
        for item in findings
    ]  # fmt: skip
    return json.dumps(rows, indent=2) + "\n"


def to_sarif(findings: Iterable[LintFinding]) -> str:
    patterns = list(known_antipatterns().values())
    indexes = {pattern.id: index for index, pattern in enumerate(patterns)}
    driver = {
        "name": "snowmelt", "version": VERSION,
        "rules": [_rule(pattern) for pattern in patterns],
    }  # fmt: skip
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits",
           "results": [_result(item, indexes) for item in findings]}  # fmt: skip
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(pattern: AntiPattern) -> dict[str, Any]:
    return {
        "id": pattern.id, "name": "".join(word.capitalize() for word in pattern.title.replace("*", "star").split()),
        "shortDescription": {"text": pattern.title}, "fullDescription": {"text": f"{pattern.looks} {pattern.hurts}"},
        "help": {"text": pattern.remedy}, "defaultConfiguration": {"level": pattern.level.value},
        "properties": {"tags": [pattern.family]},
    }  # fmt: skip


def _result(item: LintFinding, indexes: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if item.line:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": PurePath(item.file).as_posix()}, "region": {"startLine": item.line},
        }  # fmt: skip
    if item.object:
        location["logicalLocations"] = [{"fullyQualifiedName": item.object}]
    return {
        "ruleId": item.pattern.id, "ruleIndex": indexes[item.pattern.id], "level": item.pattern.level.value,
        "message": {"text": f"{item.message}. {item.pattern.remedy}"}, "locations": [location] if location else [],
    }  # fmt: skip
