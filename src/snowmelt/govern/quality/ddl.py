"""A check as the SQL that declares it."""

from __future__ import annotations

from snowmelt.core.lag import show_lag
from snowmelt.core.names import literal
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.quality_model import CheckKind, QualityCheck


def definition_of(check: QualityCheck) -> str:
    """What stands behind AS: `RANGE (AMOUNT) MIN = 0 …`."""
    parts: list[str] = [str(check.kind)]
    if check.expression is not None:
        parts.append(f"({check.expression})")
    elif check.columns:
        parts.append(f"({', '.join(spelled(name) for name in check.columns)})")
    parts += [f"{name} = {value}" for name, value in _measure(check).items() if value is not None]
    parts.append(f"SEVERITY = {check.severity}")
    parts.append(f"ON_FAILURE = {check.action}")
    if check.threshold is not None:
        parts.append(f"THRESHOLD = '{check.threshold}'")
    if check.comment is not None:
        parts.append(f"COMMENT = {literal(check.comment)}")
    return " ".join(parts)


def statement_of(table: str, check: QualityCheck) -> str:
    """`table`: its name as SQL writes it."""
    return f"ALTER TABLE {table} ADD OR REPLACE QUALITY CHECK {spelled(check.name)} AS {definition_of(check)}"


def _measure(check: QualityCheck) -> dict[str, str | None]:
    if check.kind is CheckKind.FRESHNESS:
        return {"MAX_AGE": f"'{_age(int(check.maximum or 0))}'"}
    key = check.referenced_columns
    return {
        "MIN": check.minimum,
        "MAX": check.maximum,
        "VALUES": f"({', '.join(check.values)})" if check.values else None,
        "PATTERN": literal(check.pattern) if check.pattern is not None else None,
        "QUANTILE": f"{check.quantile:g}" if check.quantile is not None else None,
        "METHOD": check.method,
        "WITHIN": f"'{check.within:g} %'" if check.within is not None else None,
        "OF_BEFORE": f"'{check.of_before:g} %'" if check.of_before is not None else None,
        "WINDOW": str(check.window) if check.window is not None else None,
        "TABLE": str(check.references) if check.references is not None else None,
        "KEY": f"({', '.join(spelled(name) for name in key)})" if key else None,
    }


def _age(seconds: int) -> str:
    shown = show_lag(seconds)
    return shown if "," not in shown else f"{seconds} seconds"
