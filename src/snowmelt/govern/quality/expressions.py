"""Checks as Snowflake SQL: the condition that a bad row fulfils, and the aggregate that measures a table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.dialect import identifier, parse_snowflake, string
from snowmelt.state.quality_model import CheckKind, QualityCheck

BINS = 10
"""A distribution is compared in this many parts, which were of equal size in the first result."""


def filled(template: str, *arguments: exp.Expr) -> exp.Expr:
    """An expression with `_0`, `_1`, … replaced."""
    tree = exp.Paren(this=parse_snowflake(template))
    for node in list(tree.find_all(exp.Column)):
        if node.name[:1] == "_" and node.name[1:].isdigit():
            node.replace(arguments[int(node.name[1:])].copy())
    filled_in: exp.Expr = tree.this
    return filled_in


def violation(check: QualityCheck) -> exp.Expr:
    """What holds for a row that fails; for one whose value is unknown it is unknown, and the row passes.

    Not for UNIQUE and REFERENCES, which look at other rows too.
    """
    columns = [_column(name) for name in check.columns]
    match check.kind:
        case CheckKind.NOT_NULL:
            return _any([filled("_0 IS NULL", column) for column in columns])
        case CheckKind.ACCEPTED_VALUES:
            return exp.Not(this=exp.In(this=columns[0], expressions=[parse_snowflake(v) for v in check.values]))
        case CheckKind.RANGE:
            return _outside(check, columns[0])
        case CheckKind.LENGTH:
            return _outside(check, filled("LENGTH(_0)", columns[0]))
        case CheckKind.PATTERN:
            return filled("NOT REGEXP_LIKE(_0, _1)", columns[0], string(check.pattern or ""))
        case CheckKind.EXPRESSION:
            return filled("NOT (_0)", parse_snowflake(check.expression or ""))
    raise errors.internal(f"{check.kind} has no condition over one row")


def measure(check: QualityCheck) -> exp.Expr | None:
    """The aggregate that a check is about; None for one that is known without reading rows."""
    columns = [_column(name) for name in check.columns]
    match check.kind:
        case CheckKind.FRESHNESS:
            return filled("DATEDIFF(SECOND, MAX(_0), CURRENT_TIMESTAMP())", columns[0])
        case CheckKind.COMPLETENESS:
            return filled("100 * COUNT(_0) / NULLIF(COUNT(*), 0)", columns[0])
        case CheckKind.DUPLICATES:
            known = exp.and_(*(filled("_0 IS NOT NULL", column) for column in columns))
            markers = ", ".join(f"_{index}" for index in range(len(columns)))
            distinct = filled(f"COUNT(DISTINCT {markers})", *columns)
            return filled("COUNT_IF(_0) - _1", known, distinct)
        case CheckKind.MEAN:
            return filled("AVG(_0)", columns[0])
        case CheckKind.STDDEV:
            return filled("STDDEV(_0)", columns[0])
        case CheckKind.QUANTILE:
            return filled("APPROX_PERCENTILE(_0, _1)", columns[0], _number(check.quantile or 0.0))
    return None


def bounds(check: QualityCheck) -> list[exp.Expr]:
    """DRIFT, the first time: the values between bins that each hold as many rows."""
    column = _column(check.columns[0])
    return [filled("APPROX_PERCENTILE(_0, _1)", column, _number(index / BINS)) for index in range(1, BINS)]


def counts_upto(check: QualityCheck, limits: Sequence[float]) -> list[exp.Expr]:
    """DRIFT: how many rows lie at or below each limit, and how many there are."""
    column = _column(check.columns[0])
    below = [filled("COUNT_IF(_0 <= _1)", column, _number(limit)) for limit in limits]
    return [*below, filled("COUNT(_0)", column)]


def _column(name: str) -> exp.Expr:
    return exp.column(identifier(name))


def _number(value: float) -> exp.Expr:
    text = repr(abs(value)) if abs(value) < 1e15 else f"{abs(value):.15e}"
    literal = exp.Literal.number(text)
    return exp.Neg(this=literal) if value < 0 else literal


def _any(conditions: Sequence[exp.Expr]) -> exp.Expr:
    return exp.or_(*conditions) if len(conditions) > 1 else conditions[0]


def _outside(check: QualityCheck, value: exp.Expr) -> exp.Expr:
    found: list[exp.Expr] = []
    if check.minimum is not None:
        found.append(filled("_0 < _1", value, parse_snowflake(check.minimum)))
    if check.maximum is not None:
        found.append(filled("_0 > _1", value, parse_snowflake(check.maximum)))
    return _any(found)
