"""What a run sees of its sources: that they answer, how their columns differ, and whether their rows are here."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Integer, Numeric

from snowmelt.core.names import literal
from snowmelt.extract_load.destinations.snowmelt import RawLoader
from snowmelt.extract_load.drift import ColumnChange, Field, compare_columns
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.making import make_extractor
from snowmelt.extract_load.noting import (
    last_breaches,
    note_columns,
    note_heartbeats,
    note_reconciliation,
    place_of,
    seconds_since_reconciliation,
)
from snowmelt.extract_load.reconciling.comparing import reconcile
from snowmelt.extract_load.reconciling.destinations import compare_destination
from snowmelt.extract_load.reconciling.model import ComparedTable, Key, Reconciliation
from snowmelt.extract_load.reconciling.sides import DatabaseSide, RecordsSide, SourceSide, TableSide
from snowmelt.extract_load.records import Batch, Rows
from snowmelt.extract_load.sources.base import Extractor
from snowmelt.extract_load.sources.databases import DatabaseExtractor
from snowmelt.extract_load.sources.registry import SOURCES
from snowmelt.extract_load.transforming import Transformer

Tell = Callable[[str, str, str], None]
"""Severity, title and text of a message for people."""
_MOST_LETTERS = 10_000
"""Changes that one run sets aside; what is beyond comes with the next."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A table of a source, and what is known of it."""

    name: str
    endpoint: Endpoint | None
    table: str
    key: tuple[str, ...] = ()
    change_column: str | None = None
    columns: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] | None = None
    compared: Mapping[str, Any] | None = None
    """How it is held against the table here; None where rows have no key by which they could be."""
    raw: str | None = None
    """Where rows that were committed late are landed; None where the log has them."""
    transformer: Transformer | None = None
    extractor: Extractor | None = None
    """Gives the records where it is not the one of the endpoint."""

    @property
    def fields(self) -> list[Field]:
        return fields_of_columns(self.columns)

    def reader(self) -> Extractor:
        if self.extractor is not None:
            return self.extractor
        assert self.endpoint is not None, "it is somewhere, or has an extractor"
        return make_extractor(
            self.endpoint, self.table, key=self.key, change_column=self.change_column, options=self.options
        )


def fields_of_columns(columns: Sequence[Mapping[str, Any]]) -> list[Field]:
    """Columns of a configuration."""
    return [
        Field(str(column["name"]), str(column.get("type", "VARCHAR")), bool(column.get("nullable", True)))
        for column in columns
    ]


def catalog_changes(watched: Watched) -> list[ColumnChange] | None:
    """How the columns of a database's table differ from those that are known; None of sources without a catalog."""
    described = SOURCES.get(watched.endpoint.kind) if watched.endpoint is not None else None
    if described is None or not described.has_catalog or not watched.columns:
        return None
    reader = watched.reader()
    assert isinstance(reader, DatabaseExtractor)
    return compare_columns(watched.fields, [(column.name, column.type) for column in reader.reflected().columns])


class Watch:
    """Keeps what it sees in tables of the account, and tells people what is new of it."""

    def __init__(self, connection: Any, tell: Tell, log: Any) -> None:
        self.connection, self._tell, self._log = connection, tell, log

    def heartbeats(self, names: Sequence[str], run_id: str) -> None:
        """All that these sources had was read."""
        note_heartbeats(self.connection, {name: place_of(self.connection, name) for name in names}, run_id)

    def columns(self, name: str, changes: Sequence[ColumnChange], run_id: str, *, looked: bool) -> None:
        """Tells of each difference once, for as long as it is there."""
        for change in note_columns(self.connection, name, changes, run_id, looked=looked):
            self._log.warning("schema change", flow=name, change=str(change))
            self._tell("warn", f"{name}: the source has changed", str(change))

    def is_due(self, watched: Watched, every_seconds: float) -> bool:
        """Whether its rows have not been held against the source for that long."""
        if watched.compared is None:
            return False
        age = seconds_since_reconciliation(self.connection, watched.name)
        return age is None or age >= every_seconds

    def reconcile(self, watched: Watched, run_id: str, bring: Callable[[], None]) -> Reconciliation:
        """Holds the rows against the source; those that were committed late are fetched where that is possible."""
        assert watched.compared is not None
        reader = watched.reader()
        compared = _compared(watched, reader)
        repair = self._repairing(watched, run_id) if watched.raw is not None and not compared.hashed else None
        sides = (_side(compared, watched, reader), TableSide(compared, self.connection))
        found = reconcile(*sides, bring=bring, repair=repair)
        note_reconciliation(self.connection, found, run_id)
        self._log.info(
            "reconciled", flow=watched.name, source_rows=found.source_rows, table_rows=found.table_rows,
            repaired=found.repaired, breaches=found.breaches, days=list(found.days),
        )  # fmt: skip
        if found.repaired:
            self._tell(
                "warn", f"{watched.name}: rows were committed late",
                f"{found.repaired} rows behind the place of the change column were fetched",
            )  # fmt: skip
        return found

    def compare_destination(
        self, endpoint: Endpoint, target: str, compared: ComparedTable, fields: Sequence[tuple[str, Field]],
        run_id: str,
    ) -> Reconciliation:  # fmt: skip
        """Holds what a destination has against the table here, right behind what was sent."""
        found = compare_destination(endpoint, target, compared, fields, self.connection)
        note_reconciliation(self.connection, found, run_id)
        self._log.info(
            "reconciled", flow=compared.flow, source_rows=found.source_rows, table_rows=found.table_rows,
            breaches=found.breaches, days=list(found.days),
        )  # fmt: skip
        return found

    def is_destination_due(self, flow: str, every_seconds: float) -> bool:
        """Whether it was not looked at for that long, or differed when it was."""
        age = seconds_since_reconciliation(self.connection, flow)
        return age is None or age >= every_seconds or last_breaches(self.connection, flow) > 0

    def _repairing(self, watched: Watched, run_id: str) -> Callable[[SourceSide, list[Key]], int]:
        def repair(side: SourceSide, keys: list[Key]) -> int:
            assert watched.raw is not None
            loader = RawLoader(self.connection, watched.raw, f"{watched.name}_late", run_id)
            try:
                return sum(self._land(watched, loader, rows) for rows in side.fetch(keys))
            finally:
                loader.close()

        return repair

    def _land(self, watched: Watched, loader: RawLoader, rows: Rows) -> int:
        made = watched.transformer.transform_rows(rows).rows if watched.transformer is not None else rows
        batch = Batch(made, uuid.uuid4().hex, f"{watched.table}, committed late")
        return loader.load(batch, datetime.now(UTC).isoformat())

    def set_aside_changes(self, name: str, raw: str, bad: Mapping[str, str], letters: str, run_id: str) -> int:
        """Changes of a log that can't be read as their columns say: from the raw table to the dead letters, once each.

        `bad` is by table of the source the condition under which a change of it can't be read. Clean tables leave such
        changes out, so that they stop nothing.
        """
        after = int(place_of(self.connection, name) or 0)
        newest = self.connection.execute(f"SELECT MAX(change_number) FROM {raw}").fetchone()[0]
        if newest is None or int(newest) <= after:
            return 0
        known = f"SELECT 1 FROM {letters} WHERE flow = {literal(name)} AND source_position = _position"
        before = self._count(letters, name)
        for table, condition in bad.items():
            position = "'change ' || change_number"
            self.connection.execute(
                f"INSERT INTO {letters} (flow, reason, record, origin, source_position, run_id, loaded_at) "
                f"SELECT {literal(name)}, 'a value is not of the type of its column', record, origin, _position, "
                f"{literal(run_id)}, CURRENT_TIMESTAMP() FROM ("
                f"SELECT COALESCE(after, before) AS record, table_name AS origin, {position} AS _position FROM {raw} "
                f"WHERE change_number > {after} AND change_number <= {newest} AND table_name = {literal(table)} "
                f"AND operation <> 'TRUNCATE' AND ({condition}) ORDER BY change_number LIMIT {_MOST_LETTERS}"
                f") WHERE NOT EXISTS ({known})"
            )
        note_heartbeats(self.connection, {name: str(newest)}, run_id)
        return self._count(letters, name) - before

    def _count(self, letters: str, name: str) -> int:
        query = f"SELECT COUNT(*) FROM {letters} WHERE flow = {literal(name)}"
        return int(self.connection.execute(query).fetchone()[0])


def _compared(watched: Watched, reader: Extractor) -> ComparedTable:
    """Without sums of columns that the source no longer has, or that hold no numbers there any more."""
    assert watched.compared is not None
    given: dict[str, Any] = dict(watched.compared)
    given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    compared = ComparedTable(flow=watched.name, **given)
    if not isinstance(reader, DatabaseExtractor):
        return compared
    there = {column.name: column.type for column in reader.reflected().columns}
    summed = tuple(name for name in compared.sums if isinstance(there.get(name), Integer | Numeric))
    return replace(compared, sums=summed, day=compared.day if compared.day in there else None)


def _side(compared: ComparedTable, watched: Watched, reader: Extractor) -> SourceSide:
    if isinstance(reader, DatabaseExtractor):
        return DatabaseSide(compared, reader)
    return RecordsSide(compared, reader, watched.transformer)
