"""What measured numbers mean, and checks as SQL and back: no table is needed for either."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.features.quality.statements import AddQualityCheck
from snowmelt.govern.quality import verdicts
from snowmelt.govern.quality.ddl import definition_of, statement_of
from snowmelt.govern.quality.kinds import RULES, build_check
from snowmelt.sql.statements.alter_table import AlterTable
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.state.quality_model import (
    CheckKind,
    CheckSeverity,
    FailureAction,
    Family,
    QualityCheck,
    QualityResult,
    ResultStatus,
)


def check(kind: str, *columns: str, **options: object) -> QualityCheck:
    return build_check("C", kind, columns, None, options)


def results(values: list[float], status: ResultStatus = ResultStatus.PASSED) -> list[QualityResult]:
    return [
        QualityResult(
            id=str(place),
            table_id="t",
            table=ObjectName("D", "S", "T"),
            check="C",
            kind=CheckKind.VOLUME,
            family=Family.DISTRIBUTION,
            severity=CheckSeverity.WARN,
            action=FailureAction.WARN,
            status=status,
            measured_at=datetime(2026, 1, 1, tzinfo=UTC),
            operation="INSERT",
            value=value,
        )
        for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("options", "failed", "passed", "stops"),
    [
        ({}, 0, True, False),
        ({}, 1, False, True),
        ({"severity": "WARN"}, 1, False, False),
        ({"threshold": "2"}, 2, True, False),
        ({"threshold": "2"}, 3, False, True),
        ({"threshold": "20 %"}, 2, True, False),
        ({"threshold": "20 %"}, 3, False, True),
        ({"on_failure": "QUARANTINE"}, 9, False, False),
        ({"on_failure": "QUARANTINE"}, 0, True, False),
        ({"on_failure": "QUARANTINE", "threshold": "1"}, 1, False, False),
        ({"on_failure": "QUARANTINE", "threshold": "1"}, 2, False, True),
        ({"severity": "CRITICAL"}, 1, False, True),
    ],
)
def test_rows_that_failed(options: dict[str, str], failed: int, passed: bool, stops: bool) -> None:
    verdict = verdicts.of_rows(check("NOT_NULL", "A", **options), failed, 10)
    assert (verdict.passed, verdict.stops) == (passed, stops)
    assert (verdict.message is None) == (failed == 0)


@pytest.mark.parametrize(
    ("options", "value", "passed"),
    [
        ({"min": "1", "max": "3"}, 2.0, True),
        ({"min": "1", "max": "3"}, 1.0, True),
        ({"min": "1", "max": "3"}, 0.5, False),
        ({"min": "1", "max": "3"}, 4.0, False),
        ({"min": "-1"}, -2.0, False),
        ({"max": "3"}, None, True),
    ],
)
def test_values_in_their_bounds(options: dict[str, str], value: float | None, passed: bool) -> None:
    assert verdicts.of_value(check("MEAN", "A", **options), value).passed is passed


def test_no_rows_are_not_fresh() -> None:
    fresh = check("FRESHNESS", "A", max_age="2 hours")
    assert not verdicts.of_value(fresh, None).passed
    assert verdicts.of_value(fresh, 7200.0).passed
    assert verdicts.of_value(fresh, 7201.0).message == "the newest row is 2 hours, 1 second old, and may be 2 hours"


def test_volume_needs_a_past_before_it_calls_anything_unusual() -> None:
    volume = check("VOLUME")
    assert verdicts.of_value(volume, 1e6, results([100, 110])).passed
    assert verdicts.of_value(volume, 105, results([100, 110, 90])).passed
    assert not verdicts.of_value(volume, 1000, results([100, 110, 90])).passed
    assert not verdicts.of_value(volume, 0, results([100, 100, 100])).passed
    assert verdicts.of_value(volume, 1000, results([100, 110, 90], ResultStatus.FAILED)).passed


def test_row_count_against_the_average_of_earlier_results() -> None:
    count = check("ROW_COUNT", within="50 %")
    assert verdicts.of_value(count, 149, results([100, 100])).passed
    assert not verdicts.of_value(count, 151, results([100, 100])).passed
    assert verdicts.of_value(count, 151).passed


def test_row_count_against_the_rows_before() -> None:
    count = check("ROW_COUNT", of_before="90 %")
    assert verdicts.of_rows_left(count, 90, 100, []).passed
    assert verdicts.of_rows_left(count, 89, 100, []).message == "ROW_COUNT is 89, less than 90 % of the 100 rows before"
    assert verdicts.of_rows_left(count, 0, 0, []).passed and verdicts.of_rows_left(count, 0, None, []).passed
    assert not verdicts.of_rows_left(check("ROW_COUNT", of_before="90 %", min="95"), 94, 100, []).passed


_SHARES = st.lists(st.integers(0, 1000), min_size=10, max_size=10).filter(any)


@given(_SHARES, _SHARES)
def test_distances_of_distributions(first: list[int], second: list[int]) -> None:
    expected, found = ([count / sum(counts) for count in counts] for counts in (first, second))
    assert verdicts.psi(expected, expected) == 0
    assert verdicts.psi(expected, found) >= 0
    assert 0 <= verdicts.ks(expected, found) <= 1 + 1e-9
    assert verdicts.ks(expected, found) == pytest.approx(verdicts.ks(found, expected))


def test_a_distribution_keeps_its_first_baseline() -> None:
    drift = check("DRIFT", "A", max="0.2")
    baseline = (1.0, 2.0, 0.25, 0.25, 0.5)
    same = verdicts.of_distribution(drift, baseline, [25, 50, 100])
    other = verdicts.of_distribution(drift, baseline, [0, 0, 100])
    assert (same.passed, same.value, same.profile) == (True, 0.0, baseline)
    assert (other.passed, other.profile) == (False, baseline)
    assert verdicts.of_distribution(drift, baseline, [0, 0, 0]).passed


# -- as SQL -----------------------------------------------------------------------------------------------------------

_DECLARED = (
    "NOT_NULL (a)", "UNIQUE (a, b)", "ACCEPTED_VALUES (a) VALUES = ('x', 'it''s', 3)", "RANGE (a) MIN = -1 MAX = 2.5",
    "RANGE (a) MIN = ('2024-01-01'::DATE)", "PATTERN (a) PATTERN = '\\\\d+''s'", "LENGTH (a) MIN = 1",
    "EXPRESSION (a > 1 AND b IS NOT NULL)", "ROW_COUNT MIN = 1 WITHIN = '20 %' WINDOW = 5",
    "ROW_COUNT OF_BEFORE = '87.5 %'",
    "FRESHNESS (a) MAX_AGE = '90 minutes'", "COMPLETENESS (a) MIN = 95", "DUPLICATES (a, b) MAX = 3",
    "SCHEMA VALUES = ('a NUMBER(38,0)', 'b VARCHAR')", "MEAN (a) MIN = 0", "STDDEV (a) MAX = 2",
    "QUANTILE (a) QUANTILE = 0.95 MAX = 9", "DRIFT (a) METHOD = KS MAX = 0.1", "VOLUME", "VOLUME MAX = 4 WINDOW = 20",
    "SQL (SELECT count(*) FROM t) MAX = 0", "NOT_NULL (\"weird name\") SEVERITY = CRITICAL THRESHOLD = '5 %'",
    "NOT_NULL (a) ON_FAILURE = QUARANTINE THRESHOLD = 7 COMMENT = 'it''s so'",
)  # fmt: skip


def declared(text: str) -> QualityCheck:
    statement = parse_statement(text)
    assert isinstance(statement, AlterTable)
    action = statement.actions[0]
    assert isinstance(action, AddQualityCheck)
    options = {name.lower(): value for name, value in action.options.given().items()}
    return build_check(action.name, action.kind, action.columns, action.expression, options)


@pytest.mark.parametrize("text", _DECLARED)
def test_a_check_is_the_same_after_a_way_through_its_sql(text: str) -> None:
    first = declared(f"ALTER TABLE t ADD QUALITY CHECK c AS {text}")
    again = declared(statement_of("t", first))
    assert again == first
    assert definition_of(again) == definition_of(first)


def test_every_kind_is_declared_above() -> None:
    named = {text.split()[0] for text in _DECLARED}
    assert named == {str(kind) for kind in RULES} - {"REFERENCES"}
    assert set(RULES) == set(CheckKind)


def test_all_families_have_checks() -> None:
    assert {rule.family for rule in RULES.values()} == set(Family)


def test_severity_decides_what_happens_unless_the_check_says() -> None:
    actions = {severity: check("NOT_NULL", "A", severity=severity).action for severity in ("WARN", "ERROR", "CRITICAL")}
    assert actions == {"WARN": FailureAction.WARN, "ERROR": FailureAction.FAIL, "CRITICAL": FailureAction.SUSPEND}
    assert check("NOT_NULL", "A", severity="CRITICAL", on_failure="WARN").action is FailureAction.WARN


def test_a_measured_bound_is_a_number() -> None:
    with pytest.raises(SnowmeltError, match="MIN"):
        check("MEAN", "A", min="'many'")
