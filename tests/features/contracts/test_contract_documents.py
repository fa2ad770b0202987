"""Reading documents: what the standard refuses, what we refuse beyond it, and what a reader is warned of."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.contracts.linting import LintSeverity
from snowmelt.govern.contracts.model import Compatibility
from snowmelt.govern.contracts.reading import examine, read
from snowmelt.govern.contracts.service_levels import freshness
from tests.features.contracts.documents import column, contract, document, text


def findings(data: Any, severity: LintSeverity = LintSeverity.ERROR) -> list[str]:
    found = examine(data if isinstance(data, str) else str(yaml.safe_dump(data)))
    return [f"{item.path}: {item.message}" for item in found.findings if item.severity is severity]


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in document(column("a")).items() if name != field}


@pytest.mark.parametrize("field", ["apiVersion", "kind", "id", "version"])
def test_what_the_standard_requires_must_be_there(field: str) -> None:
    assert any(f"'{field}' is a required property" in item for item in findings(without(field)))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("just words", "this is not a mapping"),
        ("a: [1", "this is not YAML"),
        (document(column("a", requird=True)), "'requird' was unexpected"),
        (document(column("a", None)), "has neither physicalType nor logicalType"),
        (document(column("a", "GEOGRAPHY")), "is not a type here, and there is no logicalType"),
        (document(column("a"), column("A")), "there is another column 'A'"),
        (document(), "has no column"),
        (document(schema=[]), "there is no table"),
        (document(column("a"), version="next"), "is not a semantic version"),
        (document(column("a"), custom={"compatibility": "sideways"}), "is not one of BACKWARD, FORWARD, FULL, NONE"),
        (document(column("a"), custom={"columnOrder": "yes"}), "'columnOrder' is true or false"),
        (document(column("a", primaryKey=True), column("b", primaryKey=True)), "primaryKeyPosition must number"),
        (document(column("a", logicalType="text")), "'text' is not one of"),
        (document(schema=[{"name": "t", "properties": [column("a")]}] * 2), "there is another table 'T'"),
    ],
)
def test_errors(data: Any, said: str) -> None:
    assert any(said in item for item in findings(data)), findings(data)
    with pytest.raises(SnowmeltError, match="Invalid data contract") as caught:
        read(data if isinstance(data, str) else str(yaml.safe_dump(data)))
    assert caught.value.code == "370011"


def test_warnings_leave_a_contract() -> None:
    data = document(column("a", tags=["pii"]), column("b", "GEOGRAPHY", logicalType="object"))
    data["status"] = "dreamt"
    found = "\n".join(findings(data, LintSeverity.WARNING))
    for said in ("nobody is named", "what the data is for", "'dreamt' is not one of", "has no class", "counts"):
        assert said in found
    assert findings(data) == []


@pytest.mark.parametrize(
    ("name", "examples", "said"),
    [
        ("contact", ["ann.smith@gmail.com"], True),
        ("contact", ["ann@example.com", "bob@example.org"], False),
        ("card", ["4111 1111 1111 1111"], True),
        ("city", ["Bern", "Oslo"], False),
    ],
)
def test_examples_are_no_persons_data(name: str, examples: list[str], said: bool) -> None:
    found = findings(document(column(name, examples=examples)), LintSeverity.WARNING)
    assert any("examples" in item and "everybody who reads" in item for item in found) == said


def test_a_document_of_the_standard_without_warnings() -> None:
    data = document(
        column("a", description="the key"),
        description={"purpose": "to test"},
        team={"name": "testers"},
        schema=[{"name": "t", "description": "all", "properties": [column("a", description="the key")]}],
    )
    assert findings(data) == findings(data, LintSeverity.WARNING) == []


def test_names_fold_as_sql_folds_them() -> None:
    found = contract(column("order_id"), column('"Mixed Case"'), column("x", physicalName="real_name"))
    assert [item.name for item in found.tables[0].columns] == ["ORDER_ID", "Mixed Case", "REAL_NAME"]


def test_dates_in_yaml_stay_text() -> None:
    data = document(column("a", "DATE", logicalType="date", logicalTypeOptions={"minimum": "2020-01-01"}))
    data["contractCreatedTs"] = "2024-01-31T10:00:00+00:00"
    unquoted = str(yaml.safe_dump(data)).replace("'2020-01-01'", "2020-01-01")
    assert read(unquoted).tables[0].columns[0].limit == {"minimum": "2020-01-01"}


def test_what_a_document_asks_for() -> None:
    found = contract(column("a"), custom={"compatibility": "full", "columnOrder": True, "additionalColumns": True})
    assert (found.compatibility, found.ordered, found.open) == (Compatibility.FULL, True, True)
    plain = contract(column("a"))
    assert (plain.compatibility, plain.ordered, plain.open) == (None, False, False)


@pytest.mark.parametrize(
    ("level", "seconds"),
    [
        ({"property": "freshness", "value": 5, "unit": "m"}, 300),
        ({"property": "latency", "value": "2", "unit": "hours"}, 7_200),
        ({"property": "retention", "value": 5, "unit": "d"}, None),
        ({"property": "freshness", "value": 5}, None),
        ({"property": "freshness", "value": "quick", "unit": "m"}, None),
    ],
)
def test_freshness_comes_from_the_service_levels(level: dict[str, Any], seconds: int | None) -> None:
    assert freshness(contract(column("a"), slaProperties=[level])) == seconds


def test_the_same_text_is_read_once() -> None:
    same = text(column("a"))
    assert read(same) is read(same)
