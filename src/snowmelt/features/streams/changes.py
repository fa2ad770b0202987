"""The changes of one table between two versions as a relation: its columns, and what happened to each row.

Where rows only came, the relation is the files they came in, and Spark reads them as it reads the table. Otherwise the
changes are read and netted here, and Spark gets the result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.engine.model import TableFiles, are_few
from snowmelt.features.streams import errors as stream_errors
from snowmelt.features.streams import foreign
from snowmelt.features.streams.netting import UPDATE, net_changes
from snowmelt.runtime import past_shapes, staged_rows
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import identifier, parse_snowflake, spark
from snowmelt.sql.relations import RelationColumn
from snowmelt.state.model import CatalogObject, Column, TableDefinition, TableShape
from snowmelt.storage.change_files import ORDER, SIGN, ChangedRows, CommitFiles
from snowmelt.storage.evolution import converted
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW, ORIGINS
from snowmelt.storage.rewrite import FILE, ROW

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

ACTION, IS_UPDATE, ROW_ID = "METADATA$ACTION", "METADATA$ISUPDATE", "METADATA$ROW_ID"
METADATA_COLUMNS = (
    RelationColumn(ACTION, types.VARCHAR),
    RelationColumn(IS_UPDATE, types.BOOLEAN),
    RelationColumn(ROW_ID, types.VARCHAR),
)
_SIDE = "__changes"
_LEAST_BYTES = 8
"""The least bytes of a row in a file, which bounds the number of rows."""
EXTRA = (
    Column(name=SIGN, type=types.INTEGER),
    Column(name=UPDATE, type=types.BOOLEAN),
    Column(name=FILE, type=types.VARCHAR),
    Column(name=ROW, type=types.INTEGER),
)


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The changes of a table after one version, up to another."""

    catalog: StatementCatalog
    table: CatalogObject
    after: int
    upto: int
    inserts: bool = False
    """Only rows that were inserted, whatever became of them."""

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    @property
    def run(self) -> Run:
        return self.catalog.run

    def read(self, *, initial: bool = False) -> tuple[tuple[RelationColumn, ...], exp.Query]:
        """The table's columns, and a query for them and the METADATA$ ones.

        `initial`: all rows of the first version, as if they had just been inserted.
        """
        columns = tuple(RelationColumn(c.name, c.type) for c in self.definition.columns)
        return columns, self._initial() if initial else self._changes()

    def _changes(self) -> exp.Query:
        if not self.definition.change_feed:
            raise errors.change_tracking_missing(str(self.table.name))
        if not self._plain:
            return self._selected([self._computed(self.rows()[0])])
        with self._kept():
            return self._selected(self._sides(self._commits()))

    def rows(self) -> tuple[pa.Table, bool]:
        """The changes in stored form, with `__sign`, `__update` and birthplaces; and whether these identify rows."""
        if not self.definition.change_feed:
            raise errors.change_tracking_missing(str(self.table.name))
        if self._plain:
            with self._kept():
                found = self._read(self._commits())
        else:
            found = foreign.changed_rows(self.run, self.definition, self._ranges(), inserts=self.inserts)
        return _marked(found.rows) if self.inserts else net_changes(found), found.identified

    @property
    def _plain(self) -> bool:
        """Whether the files of the table can be read here."""
        store, location = self.run.account.store, self.definition.location
        return store.root.is_readable(location) and store.files(location, self.upto).plain

    def _ranges(self) -> list[tuple[int, int]]:
        return self.catalog.state.versions.change_ranges(self.table.id, self.after, self.upto)

    def _commits(self) -> list[CommitFiles]:
        return self.run.account.store.commit_files(self.definition.location, self._ranges())

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Another tool may have removed what a stream still needs."""
        try:
            yield
        except FileNotFoundError as error:
            raise stream_errors.changes_missing(str(self.table.name)) from error

    def _initial(self) -> exp.Query:
        store = self.run.account.store
        files = store.files(self.definition.location, self.after)
        shape = self.catalog.state.shapes.at(self.table.id, self.after)
        delta = None if files.plain else store.root.uri_of(self.definition.location)
        return self._selected([self._inserted(files.uris, files.total_bytes, shape, "initial", delta)])

    # -- where the rows are ---------------------------------------------------------------------------------------

    def _sides(self, commits: Sequence[CommitFiles]) -> list[exp.Select]:
        if self.inserts or all(commit.inserts_only for commit in commits):
            sides = [
                self._inserted(
                    tuple(uri for commit in group for uri in commit.added),
                    sum(commit.added_bytes for commit in group), shape, str(number), None,
                )
                for number, (shape, group) in enumerate(self._by_shape(commits))
            ]  # fmt: skip
            images = [commit for commit in commits if commit.images]
            if images:
                sides.append(self._computed(_marked(self._read(images).rows)))
            return sides or [self._inserted((), 0, None, "none", None)]
        return [self._computed(net_changes(self._read(commits)))]

    def _by_shape(self, commits: Sequence[CommitFiles]) -> list[tuple[TableShape | None, list[CommitFiles]]]:
        """Runs of commits that were made while the table had the same columns."""
        shapes = self.catalog.state.shapes
        found = [(shapes.at(self.table.id, commit.version), commit) for commit in commits]
        grouped = groupby(found, key=lambda pair: pair[0].last_version if pair[0] is not None else None)
        listed = [list(pairs) for _, pairs in grouped]
        return [(pairs[0][0], [commit for _, commit in pairs]) for pairs in listed]

    def _inserted(
        self, uris: tuple[str, ...], size: int, shape: TableShape | None, part: str, delta_path: str | None
    ) -> exp.Select:
        """Rows of whole files."""
        sources = None
        if shape is not None:
            environment = Environment(self.catalog, self.run.context)
            sources = past_shapes.column_sources(environment, self.definition, shape)
        mark = hashlib.sha256(repr((self.definition.columns, sources)).encode()).hexdigest()[:12]
        kind = "a" if self.inserts else "d"
        reference = f"changes_{kind}_{self.table.id}_{self.after}_{self.upto}_{part}_{mark}"
        self.run.tables[reference] = TableFiles(
            reference=reference, columns=self.definition.columns, files=uris, delta_path=delta_path, version=self.upto,
            positions=True, origins=True, sources=sources, bytes=size,
            in_order=are_few(len(uris), size // _LEAST_BYTES),
        )  # fmt: skip
        self.run.input_bytes += size
        extra = [exp.alias_(spark("cast(1 as bigint)"), SIGN), exp.alias_(exp.false(), UPDATE)]
        return self._side(reference, extra)

    def _computed(self, rows: pa.Table) -> exp.Select:
        """Rows that were read here."""
        files = rows.column(ORIGIN_FILE).cast(pa.string())
        data = rows.select([column.name for column in self.definition.columns])
        data = data.append_column(SIGN, rows.column(SIGN).cast(pa.int64())).append_column(UPDATE, rows.column(UPDATE))
        data = data.append_column(FILE, files).append_column(ROW, rows.column(ORIGIN_ROW))
        reference = staged_rows.readable(self.run, data, (*self.definition.columns, *EXTRA))
        return self._side(reference, [field(SIGN), field(UPDATE)])

    def _side(self, reference: str, extra: Sequence[exp.Expr]) -> exp.Select:
        columns = [field(item.name) for item in self.definition.columns]
        return exp.select(*columns, *extra, field(FILE), field(ROW)).from_(exp.Table(this=identifier(reference)))

    def _selected(self, sides: Sequence[exp.Select]) -> exp.Query:
        rows: exp.Query = sides[0]
        for side in sides[1:]:
            rows = exp.Union(this=rows, expression=side, distinct=False)
        identity = spark("concat(_0, ':', cast(_1 as string))", field(FILE), field(ROW))
        return stream_rows(rows, [item.name for item in self.definition.columns], identity)

    # -- reading them here ----------------------------------------------------------------------------------------

    def _read(self, commits: Sequence[CommitFiles]) -> ChangedRows:
        parts: list[pa.Table] = []
        identified = True
        # Versions may have passed in which no row changed, such as one that was taken back.
        for shape, group in list(self._by_shape(commits)) or [(None, [])]:
            version = self.upto if shape is None else min(shape.last_version, self.upto)
            found = self.run.account.store.changed_rows(
                self.definition.location, version, group, inserts=self.inserts
            )  # fmt: skip
            identified = identified and found.identified
            parts.append(self._as_today(found.rows, shape))
        return ChangedRows(pa.concat_tables(parts), identified)

    def _as_today(self, rows: pa.Table, shape: TableShape | None) -> pa.Table:
        """The rows under the columns that the table has now."""
        now = self.run.account.store.files(self.definition.location, self.upto).metadata.arrow_schema
        past = {column.name: column for column in shape.columns} if shape is not None else {}
        arrays: dict[str, pa.ChunkedArray] = {}
        for column in self.definition.columns:
            target = now.field(column.name).type
            found = past.get(column.name)
            stored = column.name if shape is None else found.stored if found is not None else None
            if stored is not None:
                arrays[column.name] = converted(rows.column(stored), target)
                continue
            fill = found.fill if found is not None else None
            value = self.run.evaluate(parse_snowflake(fill)).value if fill is not None else None
            arrays[column.name] = pa.chunked_array([pa.repeat(pa.scalar(value, target), rows.num_rows)])
        return pa.table(arrays | {name: rows.column(name) for name in (*ORIGINS, SIGN, ORDER)})


def _marked(rows: pa.Table) -> pa.Table:
    """Rows of which none is half of an update."""
    return rows.append_column(UPDATE, pa.repeat(pa.scalar(False), rows.num_rows))


def stream_rows(rows: exp.Query, names: Sequence[str], identity: exp.Expr) -> exp.Select:
    """The columns and the METADATA$ ones, from rows with `__sign` and `__update`. `identity` is a text."""
    came = spark("if(_0 > 0, 'INSERT', 'DELETE')", field(SIGN))
    return exp.select(
        *(field(name) for name in names),
        exp.alias_(came, identifier(ACTION)),
        exp.alias_(field(UPDATE), identifier(IS_UPDATE)),
        exp.alias_(spark("sha1(_0)", identity), identifier(ROW_ID)),
    ).from_(exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier(_SIDE))))


def field(name: str) -> exp.Column:
    return exp.column(identifier(name))
