"""VALIDATION_MODE: what a COPY would do, without doing it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.copy_statements import CopyOnError
from snowmelt.features.loading.loader import StagedFilesLoader
from snowmelt.features.loading.outcomes import ERROR_COLUMNS, error_rows
from snowmelt.features.loading.requests import CopyRequest
from snowmelt.features.loading.selection import Selection
from snowmelt.features.loading.streams import not_found
from snowmelt.runtime.pii_at_ingest import Protection
from snowmelt.runtime.results import Result, ResultColumn, table_result
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.variant import decode, to_json

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_ROWS = re.compile(r"RETURN_(\d+)_ROWS\Z")


@dataclass(slots=True)
class _First:
    """Keeps the first rows, as they would be kept."""

    most: int
    protection: Protection
    tables: list[pa.Table] = field(default_factory=list)
    count: int = 0

    def add(self, file: int, rows: pa.Table) -> None:
        if self.count < self.most:
            self.tables.append(self.protection.applied(rows.slice(0, self.most - self.count)))
            self.count += self.tables[-1].num_rows

    def settle(self, file: int, *, keep: bool) -> None:
        """Nothing is dropped: the first problem ends the statement."""


def validated(run: Run, table: CatalogObject, request: CopyRequest, selection: Selection, mode: str) -> Result:
    """The answer of a COPY with a VALIDATION_MODE."""
    found = _ROWS.match(mode)
    if found is None and mode != "RETURN_ROWS":
        return _errors(run, table, request, selection)
    if selection.missing:
        raise not_found(request.stage, selection.missing[0])
    return _first_rows(run, table, request, selection, int(found[1]) if found is not None else 10)


def _errors(run: Run, table: CatalogObject, request: CopyRequest, selection: Selection) -> Result:
    loader = StagedFilesLoader(run, table, request, selection.files, CopyOnError("CONTINUE"), collect=True)
    loader.run()
    missing = [(name, not_found(request.stage, name, reported=True)) for name in selection.missing]
    return table_result(ERROR_COLUMNS, error_rows(loader.outcomes, missing), statement_type="COPY")


def _first_rows(run: Run, table: CatalogObject, request: CopyRequest, selection: Selection, count: int) -> Result:
    """The first rows as they would be loaded. Raises when a record before the last of them can't be."""
    first = _First(count, Protection.of(run.account, table))
    loader = StagedFilesLoader(run, table, request, selection.files, CopyOnError("CONTINUE"), first, collect=True)
    loader.most_rows = count
    loader.run()
    seen = 0
    for outcome in loader.outcomes:
        if outcome.broken is not None and seen < count:
            raise outcome.broken
        for problem in sorted(outcome.problems, key=lambda item: item.row):
            # Every record before the first problem is a row.
            if seen + problem.row - 1 < count:
                raise SnowmeltError(problem.code, problem.sqlstate, problem.text(outcome.file.path))
            break
        seen += outcome.converted
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    rows = [row for rows in first.tables for row in rows.to_pylist()]
    columns = [ResultColumn(column.name, column.type) for column in definition.columns]
    values = [[_shown(row.get(column.name), column.type.is_semi_structured) for column in columns] for row in rows]
    return table_result(columns, values, statement_type="COPY")


def _shown(value: object, variant: bool) -> object:
    if variant and isinstance(value, dict):
        return to_json(decode(value["metadata"], value["value"]))
    return value
