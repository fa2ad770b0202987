"""Refreshes that pass the quality checks of their tables, and the rows that those kept out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from snowmelt.core.errors import QualityFailedError, SnowmeltError
from snowmelt.core.names import literal
from snowmelt.extract_load.connections import SqlConnection

NOT_FILLED = "002741"
"""Of a dynamic table that has never been refreshed."""
_INPUTS_FAILED = "002753"
_DECLARED = re.compile(r"ALTER DYNAMIC TABLE (\S+) ADD OR REPLACE QUALITY CHECK (\S+) AS", re.IGNORECASE)
_OURS = "GATE_"
"""How the names of checks begin that a project declares: others are left alone."""


@dataclass(frozen=True, slots=True)
class DeclaredCheck:
    table: str
    name: str
    sql: str
    gate: str
    """The gate that it holds."""


@dataclass(frozen=True, slots=True)
class QuarantinedRow:
    table: str
    reason: str
    row: str
    """As JSON."""


def read_checks(folder: Path) -> list[DeclaredCheck]:
    """One file a gate, with one statement a check."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        for statement in path.read_text(encoding="utf-8").split(";\n"):
            declared = _DECLARED.search(statement)
            if declared is not None:
                text = statement[declared.start() :].strip().rstrip(";")
                found.append(DeclaredCheck(declared.group(1), declared.group(2), text, path.stem))
    return found


def declare_checks(connection: SqlConnection, checks: Sequence[DeclaredCheck], tables: Iterable[str]) -> None:
    """The tables have these checks, and none that a project declared once and no longer does."""
    for table in tables:
        wanted = {check.name.upper(): check.sql for check in checks if check.table.lower() == table.lower()}
        cursor = connection.execute(f"SHOW QUALITY CHECKS IN TABLE {table}")
        names = [column[0].lower() for column in cursor.description]
        there = {str(row[names.index("name")]).upper() for row in cursor.fetchall()}
        for name in sorted(there - wanted.keys()):
            if name.startswith(_OURS):
                connection.execute(f"ALTER DYNAMIC TABLE {table} DROP QUALITY CHECK {name}")
        for sql in wanted.values():
            connection.execute(sql)


def refresh_tables(connection: SqlConnection, tables: Iterable[str]) -> dict[str, str]:
    """Brings each up to date; by name why some were refused: what is visible of them is the last good version."""
    refused: dict[str, str] = {}
    for table in tables:
        try:
            connection.execute(f"ALTER DYNAMIC TABLE {table} REFRESH")
        except SnowmeltError as error:
            behind = bool(refused) and error.code in (_INPUTS_FAILED, NOT_FILLED)
            if not (behind or isinstance(error.__cause__, QualityFailedError)):
                raise
            refused[table] = error.message
    return refused


def refused_tables(connection: SqlConnection) -> set[str]:
    """Those whose last refresh did not succeed, in small letters: what is visible of them is older."""
    states = connection.execute(
        "SELECT name, last_completed_refresh_state FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLES())"
    ).fetchall()
    return {str(name).lower() for name, state in states if state not in (None, "SUCCEEDED")}


def refused_checks(connection: SqlConnection, checks: Iterable[DeclaredCheck]) -> dict[str, float]:
    """How many rows each gate refused at the last look of its check: the refresh with them never became visible."""
    found: dict[str, float] = {}
    refused = refused_tables(connection)
    for check in checks:
        if check.table.lower() not in refused or "ON_FAILURE = WARN" in check.sql:
            continue
        row = connection.execute(
            "SELECT status, rows_failed FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY("
            f"TABLE_NAME => {literal(check.table)}, CHECK_NAME => {literal(check.name.upper())}, RESULT_LIMIT => 1))"
        ).fetchone()
        if row is not None and row[0] == "FAILED":
            found[check.gate] = found.get(check.gate, 0) + float(row[1] or 1)
    return found


def count_or_none(connection: SqlConnection, query: str) -> float | None:
    """The one number of a query; 1 of a table whose first refresh was refused: nothing is known of it."""
    try:
        row = connection.execute(query).fetchone()
    except SnowmeltError as error:
        if error.code == NOT_FILLED:
            return 1
        raise
    return None if row is None or row[0] is None else float(row[0])


def quarantined_rows(connection: SqlConnection, tables: Iterable[str]) -> list[QuarantinedRow]:
    found = []
    for table in tables:
        rows = connection.execute(
            f"SELECT quality_reason, TO_JSON(OBJECT_CONSTRUCT(*)) FROM {table}_quarantine "
            "WHERE quality_checks <> '' ORDER BY quarantined_at"
        ).fetchall()
        found += [QuarantinedRow(table, str(reason), str(row)) for reason, row in rows]
    return found


def clear_quarantine(connection: SqlConnection, tables: Iterable[str]) -> None:
    """Before a table is computed anew: rows that fail again are there again then."""
    for table in tables:
        connection.execute(f"DELETE FROM {table}_quarantine")


def settle_quarantine(connection: SqlConnection, tables: Iterable[str], who: str) -> int:
    """Sets all rows aside: they stay where they are, say who did that, and are no longer counted. How many."""
    count = 0
    for table in tables:
        done = connection.execute(
            f"UPDATE {table}_quarantine SET quality_checks = '', "
            f"quality_reason = {literal(f'set aside by {who}: ')} || quality_reason WHERE quality_checks <> ''"
        ).fetchone()
        count += int(done[0]) if done is not None else 0
    return count
