"""The kinds of checks: what each is about, what it looks at, and what may be said of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from snowmelt.core import errors
from snowmelt.core.lag import parse_lag
from snowmelt.state.quality_model import CheckKind, CheckSeverity, FailureAction, Family, QualityCheck, Threshold

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*+(%|percent|rows?|)", re.IGNORECASE)
_DEFAULT_ACTIONS = {
    CheckSeverity.WARN: FailureAction.WARN,
    CheckSeverity.ERROR: FailureAction.FAIL,
    CheckSeverity.CRITICAL: FailureAction.SUSPEND,
}
DEFAULT_WINDOW = 10
_ALL = frozenset({"severity", "on_failure", "comment"})


class CheckLevel(StrEnum):
    ROW = "ROW"
    """Says of each row whether it passes: only rows that a write brings are looked at."""
    TABLE = "TABLE"
    """Measures the table as it would be after the write."""


@dataclass(frozen=True, slots=True)
class Rule:
    family: Family
    level: CheckLevel
    columns: tuple[int, int | None]
    """The fewest and the most columns that it takes; None for any number."""
    needs: tuple[str, ...] = ()
    """Options without which it says nothing: one of them must be given."""
    takes: frozenset[str] = frozenset()


_ROW, _TABLE = CheckLevel.ROW, CheckLevel.TABLE
_BOUNDS = frozenset({"min", "max"})
RULES: Mapping[CheckKind, Rule] = {
    CheckKind.NOT_NULL: Rule(Family.COMPLETENESS, _ROW, (1, None)),
    CheckKind.ACCEPTED_VALUES: Rule(Family.VALIDITY, _ROW, (1, 1), ("values",)),
    CheckKind.RANGE: Rule(Family.VALIDITY, _ROW, (1, 1), ("min", "max"), _BOUNDS),
    CheckKind.PATTERN: Rule(Family.VALIDITY, _ROW, (1, 1), ("pattern",)),
    CheckKind.LENGTH: Rule(Family.VALIDITY, _ROW, (1, 1), ("min", "max"), _BOUNDS),
    CheckKind.EXPRESSION: Rule(Family.VALIDITY, _ROW, (0, 0)),
    CheckKind.UNIQUE: Rule(Family.UNIQUENESS, _ROW, (1, None)),
    CheckKind.REFERENCES: Rule(Family.VALIDITY, _ROW, (1, None), ("table",), frozenset({"key"})),
    CheckKind.ROW_COUNT: Rule(
        Family.COMPLETENESS, _TABLE, (0, 0), ("min", "max", "within", "of_before"), _BOUNDS | {"within", "window"}
    ),
    CheckKind.FRESHNESS: Rule(Family.FRESHNESS, _TABLE, (1, 1), ("max_age",)),
    CheckKind.COMPLETENESS: Rule(Family.COMPLETENESS, _TABLE, (1, 1), ("min",)),
    CheckKind.DUPLICATES: Rule(Family.UNIQUENESS, _TABLE, (1, None), (), frozenset({"max"})),
    CheckKind.SCHEMA: Rule(Family.VALIDITY, _TABLE, (0, 0), ("values",)),
    CheckKind.MEAN: Rule(Family.DISTRIBUTION, _TABLE, (1, 1), ("min", "max"), _BOUNDS),
    CheckKind.STDDEV: Rule(Family.DISTRIBUTION, _TABLE, (1, 1), ("min", "max"), _BOUNDS),
    CheckKind.QUANTILE: Rule(Family.DISTRIBUTION, _TABLE, (1, 1), ("min", "max"), _BOUNDS | {"quantile"}),
    CheckKind.DRIFT: Rule(Family.DISTRIBUTION, _TABLE, (1, 1), ("max",), frozenset({"method"})),
    CheckKind.VOLUME: Rule(Family.DISTRIBUTION, _TABLE, (0, 0), (), frozenset({"max", "window"})),
    CheckKind.SQL: Rule(Family.VALIDITY, _TABLE, (0, 0), ("min", "max"), _BOUNDS),
}


def rule_of(check: QualityCheck) -> Rule:
    return RULES[check.kind]


def is_row_check(check: QualityCheck) -> bool:
    return rule_of(check).level is CheckLevel.ROW


def build_check(
    name: str, kind: str, columns: tuple[str, ...], expression: str | None, options: Mapping[str, Any]
) -> QualityCheck:
    """A check as a statement or a file declares it. Raises when it says too little, or what its kind does not know.

    `options` are those that were given: SQL text for `min`, `max` and `values`, an `ObjectName` for `table`.
    """
    try:
        known = CheckKind(kind.upper())
    except ValueError:
        raise errors.compilation(
            "001008", "22023", f"Unknown quality check '{kind}'.", hint=f"There are: {', '.join(CheckKind)}."
        ) from None
    rule = RULES[known]
    _check_shape(known, rule, columns, expression, options)
    severity = CheckSeverity(options.get("severity", CheckSeverity.ERROR))
    action = FailureAction(options.get("on_failure", _DEFAULT_ACTIONS[severity]))
    if action is FailureAction.QUARANTINE and rule.level is not CheckLevel.ROW:
        raise _refused(known, "measures the whole table: there are no rows to quarantine")
    return QualityCheck(
        name=name, kind=known, columns=columns, expression=expression, severity=severity, action=action,
        threshold=_threshold(options.get("threshold")), comment=options.get("comment"), **_measure(known, options),
    )  # fmt: skip


def _check_shape(
    kind: CheckKind, rule: Rule, columns: tuple[str, ...], expression: str | None, options: Mapping[str, Any]
) -> None:
    fewest, most = rule.columns
    if len(columns) < fewest or (most is not None and len(columns) > most):
        wanted = "no column" if most == 0 else "one column" if most == 1 else "at least one column"
        raise _refused(kind, f"takes {wanted}")
    if (expression is None) is (kind in (CheckKind.EXPRESSION, CheckKind.SQL)):
        raise _refused(kind, "takes an expression" if expression is None else "takes no expression")
    if rule.needs and not any(option in options for option in rule.needs):
        raise _refused(kind, f"needs {' or '.join(option.upper() for option in rule.needs)}")
    allowed = _ALL | rule.takes | set(rule.needs) | ({"threshold"} if rule.level is CheckLevel.ROW else set())
    for option in options:
        if option not in allowed:
            raise errors.invalid_property(option.upper(), f"QUALITY CHECK {kind}")


def _refused(kind: CheckKind, why: str) -> errors.SnowmeltError:
    return errors.compilation("001008", "22023", f"Quality check {kind} {why}.")


def _measure(kind: CheckKind, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the kind is measured by."""
    found: dict[str, Any] = {"minimum": options.get("min"), "maximum": options.get("max")}
    if RULES[kind].level is CheckLevel.TABLE or kind is CheckKind.LENGTH:
        for option in ("min", "max"):
            if option in options:
                _number(options[option], option)
    match kind:
        case CheckKind.ACCEPTED_VALUES | CheckKind.SCHEMA:
            found["values"] = tuple(options["values"])
        case CheckKind.PATTERN:
            found["pattern"] = options["pattern"]
        case CheckKind.REFERENCES:
            found |= {"references": options["table"], "referenced_columns": tuple(options.get("key", ()))}
        case CheckKind.FRESHNESS:
            seconds = parse_lag(str(options["max_age"]))
            if seconds is None:
                raise errors.invalid_value(str(options["max_age"]), "MAX_AGE")
            found["maximum"] = str(seconds)
        case CheckKind.DUPLICATES:
            found["maximum"] = options.get("max", "0")
        case CheckKind.QUANTILE:
            found["quantile"] = _fraction(options.get("quantile", 0.5))
        case CheckKind.DRIFT:
            found["method"] = options.get("method", "PSI")
        case CheckKind.VOLUME | CheckKind.ROW_COUNT:
            found["window"] = int(options.get("window", DEFAULT_WINDOW))
            if kind is CheckKind.VOLUME:
                found["maximum"] = options.get("max", "3")
            elif "within" in options:
                found["within"] = amount(str(options["within"]), "WITHIN")[0]
            if "of_before" in options:
                found["of_before"] = amount(str(options["of_before"]), "OF_BEFORE")[0]
    return found


def _number(value: str, option: str) -> float:
    try:
        return float(value.strip("()'"))
    except ValueError:
        raise errors.invalid_value(value, option.upper()) from None


def _fraction(value: float) -> float:
    if not 0 <= value <= 1:
        raise errors.invalid_value(str(value), "QUANTILE")
    return value


def amount(value: str, option: str) -> tuple[float, bool]:
    """A number, and whether it is of percent."""
    found = _AMOUNT.fullmatch(value.strip())
    if found is None:
        raise errors.invalid_value(value, option)
    return float(found.group(1)), found.group(2).lower() in ("%", "percent")


def _threshold(value: object) -> Threshold | None:
    if value is None:
        return None
    number, percent = amount(str(value), "THRESHOLD")
    return Threshold(amount=number, percent=percent)
