"""Random tables of tests/ivm in a schema of a session, made and changed through SQL alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from snowmelt.runtime.session import Session
from tests.ivm.duck import Columns, Row


class SqlTables:
    """Tables in a schema of their own, and what they hold."""

    def __init__(
        self, session: Session, schema: str, tables: Mapping[str, Columns], rows: Mapping[str, list[Row]]
    ) -> None:
        self.session = session
        self.columns = tables
        self.rows = {name: Counter(given) for name, given in rows.items()}
        session.execute(f"CREATE SCHEMA {schema}")
        for name, columns in tables.items():
            described = ", ".join(f'"{column}" {type_}' for column, type_ in columns)
            session.execute(f'CREATE TABLE "{name}" ({described}) CHANGE_TRACKING = TRUE')
            self._insert(name, self.rows[name])

    def change(self, name: str, changes: Counter[Row]) -> None:
        """A row that goes is deleted with all its equals; those that stay come back."""
        there = self.rows[name]
        gone = [row for row, weight in changes.items() if weight < 0]
        for row in gone:
            self.session.execute(f'DELETE FROM "{name}" WHERE {_is(self.columns[name], row)}')
        after = Counter(there)
        after.update(changes)
        back = {row: after[row] for row in gone}
        come = {row: weight for row, weight in changes.items() if weight > 0}
        self._insert(name, Counter({**back, **come}))
        self.rows[name] = +after

    def _insert(self, name: str, rows: Counter[Row]) -> None:
        values = [f"({', '.join(map(_literal, row))})" for row in rows.elements()]
        if values:
            self.session.execute(f'INSERT INTO "{name}" VALUES {", ".join(values)}')


def _is(columns: Columns, row: Row) -> str:
    pairs = zip(columns, row, strict=True)
    return " AND ".join(f'"{name}" IS NOT DISTINCT FROM {_literal(value)}' for (name, _), value in pairs)


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case datetime():
            return f"'{value}'::TIMESTAMP_NTZ"
        case date():
            return f"'{value}'::DATE"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
        case _:
            return str(value)
