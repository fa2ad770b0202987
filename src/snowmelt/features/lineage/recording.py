"""What statements wrote: recorded when they commit, in the transaction that makes their rows visible."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import structlog

from snowmelt.features.lineage.catalog import LineageCatalog
from snowmelt.features.lineage.keeping import LineageRecords
from snowmelt.features.lineage.records import RecordedDataset, RecordedSource, WriteRecord
from snowmelt.features.lineage.tracing import edges_of_write
from snowmelt.features.lineage.writes import writes_rows
from snowmelt.govern.lineage.flows import Influence
from snowmelt.govern.lineage.graph import Dataset, Edge, LineageDomain, LineageLink, Process
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_log = structlog.get_logger(__name__)
_AGAIN_AFTER = timedelta(minutes=10)
"""A statement that runs every few seconds is written down this often: enough to say when it last ran."""
_REMEMBERED = 1_000


class WriteRecorder:
    """Looks at each repeated statement once in a while, and never at statements that only read."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._recent: OrderedDict[Hashable, tuple[datetime, tuple[Edge, ...]]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, run: Run, statement: Statement) -> tuple[Edge, ...]:
        """What the statement leads to, which will be known once it commits. Never raises."""
        if not writes_rows(statement):
            return ()
        mark = _mark(run)
        known = self._recently(mark, run.now)
        if known is not None:
            return tuple(replace(edge, process=replace(edge.process, query_id=run.query_id)) for edge in known)
        try:
            edges = self._edges(run, statement)
            if edges:
                self._store(run, edges, mark)
        except Exception as error:
            # The statement did what it was to do; only how can't be said. Not even a defect here may undo it.
            _log.warning("lineage_not_recorded", query_id=run.query_id, error=str(error))
            return ()
        return edges

    def _edges(self, run: Run, statement: Statement) -> tuple[Edge, ...]:
        task = run.session.task
        process = Process("TASK", str(task.name), run.query_id) if task is not None else None
        with self._account.state.read() as state:
            catalog = LineageCatalog(run, state, run.session.database, run.session.schema)
            found = edges_of_write(catalog, statement, process or Process("QUERY", None, run.query_id))
            if isinstance(statement, CreateTable) and found and not _made_by(run, catalog, found[0].target):
                return ()
        return tuple(found)

    def _store(self, run: Run, edges: tuple[Edge, ...], mark: Hashable) -> None:
        records = [_record(run, target, list(found)) for target, found in groupby(edges, key=lambda edge: edge.target)]

        def store(state: StateTransaction) -> None:
            for record in records:
                state[LineageRecords].put(record)

        transaction = run.open_transaction
        if transaction is None:
            # DDL has committed by itself.
            with self._account.state.begin() as state:
                store(state)
            return
        transaction.at_commit.append(store)
        transaction.after_commit.append(lambda: self._remember(mark, run.now, edges))

    def _recently(self, mark: Hashable, now: datetime) -> tuple[Edge, ...] | None:
        with self._lock:
            at, edges = self._recent.get(mark, (None, ()))
        return edges if at is not None and now - at < _AGAIN_AFTER else None

    def _remember(self, mark: Hashable, now: datetime, edges: tuple[Edge, ...]) -> None:
        with self._lock:
            self._recent[mark] = (now, edges)
            self._recent.move_to_end(mark)
            while len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)


def _made_by(run: Run, catalog: LineageCatalog, target: Dataset) -> bool:
    """Whether the table is the statement's: IF NOT EXISTS leaves one that was there as it is."""
    made = catalog.state.catalog.by_id(target.id)
    return made is not None and made.created_on >= run.now


def _mark(run: Run) -> Hashable:
    """The same for statements that say the same about the same tables. A table that was replaced is another one."""
    session = run.session
    read = frozenset(reference.rpartition("_")[0] for reference in run.tables)
    written = frozenset(run.open_transaction.pending) if run.open_transaction is not None else frozenset([run.query_id])
    return run.sql.text, session.database, session.schema, session.role, read, written


def _record(run: Run, target: Dataset, edges: Sequence[Edge]) -> WriteRecord:
    sources = tuple(
        RecordedSource(
            dataset=_dataset(edge.source),
            links=tuple(
                (link.source_column, link.target_column, tuple(sorted(link.influences))) for link in edge.links
            ),
        )
        for edge in edges
    )
    process = edges[0].process
    return WriteRecord(
        target=_dataset(target), digest=_digest(process.kind, process.name, sources), operation=process.kind,
        process=process.name, query_id=run.query_id, written_at=run.now, sources=sources,
    )  # fmt: skip


def _digest(kind: str, process: str | None, sources: Sequence[RecordedSource]) -> str:
    # By name: a source that is made anew every time, such as a temporary table, is still the same source.
    said = [(source.dataset.name, source.links) for source in sources]
    return hashlib.sha256(repr((kind, process, said)).encode()).hexdigest()[:32]


def forget(state: StateTransaction, item: CatalogObject) -> None:
    """Nobody asks any more how it was filled."""
    state[LineageRecords].delete_for(item.id)


def column_renamed(state: StateTransaction, table_id: str, old: str, new: str) -> None:
    """What was written into a column, or read from it, stays known under its new name."""

    def named(column: str | None, id: str) -> str | None:
        return new if id == table_id and column == old else column

    for record in state[LineageRecords].about(table_id):
        sources = tuple(
            source.model_copy(
                update={
                    "links": tuple(
                        (named(column, source.dataset.id), named(target, record.target.id), influences)
                        for column, target, influences in source.links
                    )
                }
            )
            for source in record.sources
        )
        digest = _digest(record.operation, record.process, sources)
        state[LineageRecords].exchange(record, record.model_copy(update={"sources": sources, "digest": digest}))


def _dataset(dataset: Dataset) -> RecordedDataset:
    return RecordedDataset(
        id=dataset.id, domain=dataset.domain, name=dataset.name, belongs_to=dataset.belongs_to
    )  # fmt: skip


def recorded_edges(record: WriteRecord) -> list[Edge]:
    process = Process(record.operation, record.process, record.query_id)
    return [
        Edge(
            _known(source.dataset), _known(record.target), process,
            tuple(
                LineageLink(column, target, frozenset(map(Influence, influences)))
                for column, target, influences in source.links
            ),
        )
        for source in record.sources
    ]  # fmt: skip


def _known(dataset: RecordedDataset) -> Dataset:
    return Dataset(dataset.id, LineageDomain(dataset.domain), dataset.name, dataset.belongs_to)
