"""Running the files of a COPY through: read, convert, collect, and decide what becomes of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.batches import SegmentBatch
from snowmelt.features.loading.compression import UnreadableError
from snowmelt.features.loading.conversion import Converted, Converter, Failure
from snowmelt.features.loading.copy_statements import CopyOnError
from snowmelt.features.loading.outcomes import FileOutcome
from snowmelt.features.loading.records import RecordProblem, SourceField
from snowmelt.features.loading.requests import CopyRequest
from snowmelt.features.loading.stage_folders import Digests, StagedFile
from snowmelt.features.loading.streams import opened
from snowmelt.features.loading.transformation import metadata_columns
from snowmelt.runtime.pii_at_ingest import HIDDEN, Protection
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


class Taker(Protocol):
    """Where converted rows go."""

    def add(self, file: int, rows: pa.Table) -> None:
        """Rows of a file that may still be dropped."""
        ...

    def settle(self, file: int, *, keep: bool) -> None:
        """The file has been read, and this is what becomes of its rows."""
        ...


class StagedFilesLoader:
    """Reads the files of one statement, one after the other, in batches that may span files."""

    def __init__(
        self, run: Run, table: CatalogObject, request: CopyRequest, files: Sequence[StagedFile], on_error: CopyOnError,
        taker: Taker | None = None, *, collect: bool = False,
    ) -> None:  # fmt: skip
        """`collect`: remember every problem, with its position, for VALIDATION_MODE."""
        self._run = run
        self._table = table
        assert isinstance(table.definition, TableDefinition)
        self._definition = table.definition
        self._request = request
        self._files = files
        self._on_error = on_error
        self._protected = bool(Protection.of(run.account, table))
        self._collect = collect
        self._batch = SegmentBatch()
        self._finished: list[int] = []
        self._converters: dict[tuple[SourceField, ...], Converter] = {}
        self._fields: tuple[SourceField, ...] = ()
        self.outcomes = [FileOutcome(file, request.stage.shown + file.path) for file in files]
        self._taker = taker
        self.most_rows: int | None = None
        """Reading may stop when so many rows have been converted."""

    def run(self) -> None:
        """Fills the outcomes and hands rows on. With ABORT_STATEMENT raises the first problem."""
        for index in range(len(self._files)):
            self._file(index)
            if self._batch.full or len(self._finished) > 1000:
                self._flush()
            if self._is_enough():
                break
        self._flush()

    def _is_enough(self) -> bool:
        return self.most_rows is not None and sum(item.converted for item in self.outcomes) >= self.most_rows

    # -- reading --------------------------------------------------------------------------------------------------

    def _file(self, index: int) -> None:
        outcome, file = self.outcomes[index], self._files[index]
        request = self._request
        try:
            with opened(
                request.stage, file, request.format, request.csv, self._run.account.services[Digests]
            ) as source:
                if source.records.fields != self._fields:
                    self._flush()
                    self._fields = source.records.fields
                for segment in source.records.segments():
                    self._run.check_cancelled()
                    outcome.parsed += segment.parsed
                    self._batch.add(index, segment)
                    if self._batch.full:
                        self._flush()
                        if self._is_enough():
                            return
                outcome.digest = source.digest()
        except UnreadableError as unreadable:
            # What came before in this file may have problems of its own, which come first.
            self._flush()
            if self._aborts:
                raise _in_file(unreadable.error, file.path) from None
            outcome.break_off(unreadable.error)
        self._finished.append(index)

    @property
    def _aborts(self) -> bool:
        return self._on_error.action == "ABORT_STATEMENT"

    # -- converting -----------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        batch, self._batch = self._batch, SegmentBatch()
        if batch.segments:
            converted = self._converted(batch)
            self._note(batch, converted)
            self._collect_rows(batch, converted)
        for index in self._finished:
            self._settle(index)
        self._finished = []

    def _converted(self, batch: SegmentBatch) -> Converted:
        request = self._request
        converter = self.converter()
        metadata = (
            metadata_columns(batch, self._files, request.stage, self._run.now)
            if request.plan(self._fields).query is not None
            else {}
        )
        if batch.rows == 0:
            return converter.nothing()
        return converter.convert(batch, metadata)

    def converter(self) -> Converter:
        found = self._converters.get(self._fields)
        if found is None:
            found = Converter(self._run, self._table, self._request.plan(self._fields))
            self._converters[self._fields] = found
        return found

    def _note(self, batch: SegmentBatch, converted: Converted) -> None:
        """Counts problems; finds out where the first of each file is, or all if asked to."""
        problems: dict[int, list[RecordProblem | Failure]] = {}
        for index, segment in batch.segments:
            problems.setdefault(index, []).extend(segment.problems)
        for failure in converted.failures:
            problems.setdefault(batch.file_of(failure.row), []).append(failure)
        for index, found in problems.items():
            if not found:
                continue
            found.sort(key=lambda item: item.row if isinstance(item, RecordProblem) else batch.number_of(item.row))
            located = self._located(batch, found if self._collect else found[:1])
            if self._protected:
                located = [_hidden(item) for item in located]
            self.outcomes[index].fail(len(found), located[0])
            if self._collect:
                self.outcomes[index].problems += located
            if self._aborts:
                first = located[0]
                raise SnowmeltError(first.code, first.sqlstate, first.text(self._files[index].path))

    def _located(self, batch: SegmentBatch, found: Sequence[RecordProblem | Failure]) -> list[RecordProblem]:
        failures = [item for item in found if isinstance(item, Failure)]
        plan = self._request.plan(self._fields)
        columns = [column.name for column in self._definition.columns]
        wanted = [
            (failure.row, plan.direct.get(columns[failure.column]) if failure.column is not None else None)
            for failure in failures
        ]
        positions = iter(batch.positions(wanted))
        located: list[RecordProblem] = []
        for item in found:
            if isinstance(item, RecordProblem):
                located.append(item)
                continue
            label = self._label(columns[item.column]) if item.column is not None else None
            located.append(
                RecordProblem(
                    item.code,
                    item.sqlstate,
                    item.message,
                    batch.number_of(item.row),
                    next(positions),
                    label,
                    "conversion",
                )
            )
        return located

    def _label(self, name: str) -> str:
        names = self._request.names
        return names.column(names.columns.index(name)) if name in names.columns else f'"{names.table}"["{name}"]'

    def _collect_rows(self, batch: SegmentBatch, converted: Converted) -> None:
        files = batch.files()
        if len(files) == 1:
            self._add(files[0], converted.rows)
            return
        for index in files:
            masks = [
                pc.and_(pc.greater_equal(converted.origins, start), pc.less(converted.origins, end))
                for start, end in batch.spans(index)
            ]
            mask = masks[0]
            for other in masks[1:]:
                mask = pc.or_(mask, other)
            self._add(index, converted.rows.filter(mask))

    def _add(self, index: int, rows: pa.Table) -> None:
        self.outcomes[index].converted += rows.num_rows
        if self._taker is not None:
            self._taker.add(index, rows)

    def _settle(self, index: int) -> None:
        if self._taker is not None:
            self._taker.settle(index, keep=not self.outcomes[index].is_dropped(self._on_error))


def _hidden(problem: RecordProblem) -> RecordProblem:
    """Where and what kind, without the value or the record: both end in histories, results and events."""
    return replace(problem, message=HIDDEN, position=replace(problem.position, record=None))


def _in_file(error: SnowmeltError, path: str) -> SnowmeltError:
    return SnowmeltError(error.code, error.sqlstate, f"{error.message}\n  File '{path}'", hint=error.hint)
