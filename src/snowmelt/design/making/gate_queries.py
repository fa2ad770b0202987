"""The queries of gates: how many break a rule, and which."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from snowmelt.core.names import literal
from snowmelt.design.making.clean_tables import named
from snowmelt.design.making.enforcing import Enforcement, action_of, number
from snowmelt.design.model import DesignStage, StageKind
from snowmelt.design.requirements.model import Check, DescribedColumn, QualityRule

_WIDE = 4
"""Standard deviations beyond which a value is out of the ordinary."""
_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Came:
    """What a clean table comes from."""

    looked_at: str
    """The flow, or the source whose log is read, under which a run notes what it saw."""
    flow: str
    columns: tuple[DescribedColumn, ...]
    compared: bool = True
    """Whether its rows can be held against the source: nobody can ask a webhook once more."""


def _violation(rule: QualityRule) -> str:
    """What holds for a row that breaks a rule about single rows."""
    columns = list(map(named, rule.columns))
    match rule.check:
        case Check.NOT_NULL:
            found = [f"{name} IS NULL" for name in columns]
        case Check.RANGE:
            found = [f"{name} < {number(rule.minimum)}" for name in columns if rule.minimum is not None]
            found += [f"{name} > {number(rule.maximum)}" for name in columns if rule.maximum is not None]
        case _:
            values = ", ".join(map(literal, rule.values))
            found = [f"{name} NOT IN ({values})" for name in columns]
    return " OR ".join(found)


def query(
    rule: QualityRule, versioned: Container[str] = (), came: Mapping[str, Came] | None = None,
    checks: Sequence[str] = (),
) -> str:  # fmt: skip
    """One number: how many break the rule, 0 when all is well. Tables that keep versions have one current row a key.

    `checks`: the names of those that hold it.
    """
    column = named(rule.columns[0]) if rule.columns else ""
    listed = ", ".join(map(named, rule.columns))
    source = (came or {}).get(rule.table)
    match rule.check:
        case Check.NOT_NULL | Check.RANGE | Check.ACCEPTED_VALUES:
            return f"SELECT COUNT_IF({_violation(rule)}) AS breaches FROM {rule.table}"
        case Check.UNIQUE:
            current = " WHERE is_current" if rule.table.lower() in versioned else ""
            twice = f"SELECT {listed} FROM {rule.table}{current} GROUP BY {listed} HAVING COUNT(*) > 1"
            return f"SELECT COUNT(*) AS breaches FROM ({twice})"
        case Check.FRESHNESS if source is not None and not column:
            # Whether rows came or not: a source that was read to its end is quiet, one that was not may be dead.
            age = "DATEDIFF('second', MAX(looked_at), CURRENT_TIMESTAMP())"
            seen = f"FROM heartbeats WHERE flow = {literal(source.looked_at)}"
            return f"SELECT IFF({age} <= {number(rule.within or 86_400)}, 0, 1) AS breaches {seen}"
        case Check.SCHEMA if source is not None:
            open_ = f"flow = {literal(source.flow)} AND ended_at IS NULL"
            return f"SELECT COUNT(*) AS breaches FROM schema_changes WHERE {open_}"
        case Check.RECONCILIATION:
            flow = literal(source.flow if source is not None else rule.table)
            return (
                f"SELECT breaches FROM reconciliations WHERE flow = {flow} "
                "QUALIFY ROW_NUMBER() OVER (ORDER BY checked_at DESC) = 1"
            )
        case Check.FRESHNESS:
            age = f"DATEDIFF('second', MAX({column or 'loaded_at'}), CURRENT_TIMESTAMP())"
            return f"SELECT IFF({age} <= {number(rule.within or 86_400)}, 0, 1) AS breaches FROM {rule.table}"
        case Check.ROW_COUNT if rule.share is not None:
            # Refused for as long as what is visible is not what was refused: somebody may have let it through.
            last = f"TABLE_NAME => {literal(rule.table)}, CHECK_NAME => {literal(checks[0].upper())}, RESULT_LIMIT => 1"
            return (
                "SELECT COUNT_IF(status = 'FAILED' AND value <> visible) AS breaches "
                f"FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY({last})) "
                f"CROSS JOIN (SELECT COUNT(*) AS visible FROM {rule.table})"
            )
        case Check.ROW_COUNT:
            bounds = [f"COUNT(*) >= {number(1 if rule.minimum is None else rule.minimum)}"]
            bounds += [f"COUNT(*) <= {number(rule.maximum)}"] if rule.maximum is not None else []
            return f"SELECT IFF({' AND '.join(bounds)}, 0, 1) AS breaches FROM {rule.table}"
        case Check.REFERENTIAL_INTEGRITY:
            table, other, column = _referred(rule)
            return (
                f"SELECT COUNT(*) AS breaches FROM {rule.table} AS a LEFT JOIN {table} AS b "
                f"ON b.{other} = a.{column} WHERE a.{column} IS NOT NULL AND b.{other} IS NULL"
            )
        case Check.DISTRIBUTION:
            inner = f"SELECT {column} AS v, AVG({column}) OVER () AS m, STDDEV({column}) OVER () AS s FROM {rule.table}"
            return f"SELECT COUNT_IF(ABS(v - m) > {_WIDE} * s) AS breaches FROM ({inner})"
        case Check.SCHEMA:
            names = ", ".join(literal(name.upper()) for name in rule.columns)
            return (
                f"SELECT {len(rule.columns)} - COUNT(*) AS breaches FROM INFORMATION_SCHEMA.COLUMNS "
                f"WHERE TABLE_NAME = {literal(rule.table.upper())} AND COLUMN_NAME IN ({names})"
            )


def examples(rule: QualityRule, stage: DesignStage | None, held: Enforcement, versioned: Container[str]) -> str:
    """A query of a few rows that break a rule, as documents of their keys and of what is asked of them.

    Of rows that a check refuses it reads what the table is made of, as they never came to be in it; quarantined ones
    are kept as they are. Empty where no row is to blame.
    """
    key = stage.key if stage is not None else ()
    names = list(dict.fromkeys(map(named, (*key, *rule.columns))))
    rows = rule.table
    if held.checks and action_of(rule) == "FAIL":
        query_ = _made_of(stage)
        rows = f"(\n{query_}\n)" if query_ else ""
    if not rows or (held.checks and action_of(rule) == "QUARANTINE"):
        return ""
    match rule.check:
        case Check.NOT_NULL | Check.RANGE | Check.ACCEPTED_VALUES:
            return _documents(names, f"{rows}\nWHERE {_violation(rule)}")
        case Check.UNIQUE:
            listed = ", ".join(map(named, rule.columns))
            current = "\nWHERE is_current" if rule.table.lower() in versioned else ""
            return _documents(
                list(map(named, rule.columns)), f"{rows}{current}\nGROUP BY {listed}\nHAVING COUNT(*) > 1",
                more="'rows', COUNT(*)",
            )  # fmt: skip
        case Check.REFERENTIAL_INTEGRITY:
            table, other, column = _referred(rule)
            return _documents(
                [f"a.{name}" for name in names],
                f"{rows} AS a LEFT JOIN {table} AS b ON b.{other} = a.{column}\n"
                f"WHERE a.{column} IS NOT NULL AND b.{other} IS NULL",
            )
        case Check.DISTRIBUTION:
            column = named(rule.columns[0])
            usual = f"AVG({column}) OVER () AS _mean, STDDEV({column}) OVER () AS _deviation"
            inner = f"(SELECT {', '.join(names)}, {usual} FROM {rows})"
            return _documents(names, f"{inner}\nWHERE ABS({column} - _mean) > {_WIDE} * _deviation")
    return ""


def _documents(names: Sequence[str], rest: str, more: str = "") -> str:
    pairs = [f"{literal(name.rpartition('.')[2].strip(chr(34)))}, {name}" for name in names]
    listed = ", ".join([*pairs, *([more] if more else [])])
    return f"SELECT OBJECT_CONSTRUCT_KEEP_NULL({listed}) AS example\nFROM {rest}\nLIMIT {_EXAMPLES}"


def _made_of(stage: DesignStage | None) -> str:
    """The query of a dynamic table."""
    if stage is None or stage.kind is not StageKind.DYNAMIC_TABLE:
        return ""
    return stage.sql.partition("\nAS\n")[2]


def _referred(rule: QualityRule) -> tuple[str, str, str]:
    """The other table, its column, and the column here."""
    assert rule.references is not None and rule.columns, "checked when it was read"
    table, _, referred = rule.references.rstrip(")").partition("(")
    column = named(rule.columns[0])
    return table, named(referred) if referred else column, column
