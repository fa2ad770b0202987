"""Streams on views: the change of the view's rows, through the rules that refresh dynamic tables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.engine.model import TableFiles
from snowmelt.features.streams import errors as stream_errors
from snowmelt.features.streams.changes import EXTRA, TableChanges, field, stream_rows
from snowmelt.features.streams.netting import UPDATE
from snowmelt.ivm.algebra import IDENTITY, WEIGHT, table_name
from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.expressions import View
from snowmelt.ivm.identity import identified
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.operators.scan import Scan
from snowmelt.ivm.plan import ApplyKind, RefreshPlanner
from snowmelt.ivm.reasons import NoIdentityError, NotIncrementalError
from snowmelt.runtime import past_shapes, staged_rows
from snowmelt.runtime.incremental import definitions
from snowmelt.runtime.incremental.definitions import BoundDefinition
from snowmelt.runtime.incremental.lookups import Lookups
from snowmelt.runtime.incremental.planning import tables_of
from snowmelt.runtime.incremental.stages import ROWS, StageRunner, resolved
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.writing import stored
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import identifier, spark
from snowmelt.sql.relations import ChangeSpan, RelationColumn
from snowmelt.state.dynamic_model import DynamicDefinition
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.change_files import SIGN
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW
from snowmelt.storage.rewrite import FILE, ROW

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_ROW_IDENTITY = spark("concat(_0, ':', cast(_1 as string))", field(FILE), field(ROW))


@dataclass(frozen=True, slots=True)
class BoundView:
    """A view over certain versions of its tables."""

    bound: BoundDefinition
    plain: View
    identified: View
    identities: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns as the view's query calls them."""
        return tuple(Column(name=column.key, type=column.type) for column in self.bound.query.columns)

    @property
    def scanned(self) -> dict[str, CatalogObject]:
        """The tables by what the query calls them."""
        references = {node.table for node in self.plain.root.walk() if isinstance(node, Scan)}
        return {
            reference: table
            for reference in sorted(references)
            for table in self.bound.sources.values()
            if reference.startswith(f"t_{table.id}_")
        }

    @property
    def fingerprint(self) -> str:
        """Changes whenever the view, or one that it reads, means something else."""
        parts = sorted((item.object_id, item.fingerprint) for item in self.bound.dependencies if item.fingerprint)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def bind(catalog: StatementCatalog, view: CatalogObject, at: datetime, versions: Mapping[str, int] | None) -> BoundView:
    """The view at these versions of its tables (or the newest ones). Raises for what has no changes row by row."""
    return bind_query(catalog, view.name, f"SELECT * FROM {view.name}", at, versions)


def bind_query(
    catalog: StatementCatalog, name: ObjectName, text: str, at: datetime, versions: Mapping[str, int] | None
) -> BoundView:
    """The query of a view of that name, which need not be there yet."""

    def choose(table: CatalogObject) -> int:
        if versions is None:
            assert isinstance(table.definition, TableDefinition)
            return catalog.version(table, table.definition, None)
        if table.id not in versions:
            raise stream_errors.stream_stale(str(name))
        return versions[table.id]

    query = DynamicDefinition(query=text, database=name.database, schema=name.schema, warehouse="")
    nobody = ObjectName(name.database, name.schema, "")
    bound = definitions.bind(catalog.run, catalog.state, nobody, query, at, choose, authority=catalog.authority)
    try:
        plain = lower(bound.query.tree, tables_of(bound))
        with_identity, names = identified(plain)
        RefreshPlanner(plain)
    except NoIdentityError as error:
        raise stream_errors.no_change_tracking_on(error.feature, view=str(name)) from error
    except NotIncrementalError as error:
        raise stream_errors.no_change_tracking_on(error.operator, view=str(name)) from error
    return BoundView(bound, plain, with_identity, names)


@dataclass(frozen=True, slots=True)
class ViewChanges:
    """The changes of a view between two states of its tables."""

    catalog: StatementCatalog
    view: CatalogObject
    after: Mapping[str, int]
    after_at: datetime
    upto: Mapping[str, int]
    upto_at: datetime
    fingerprint: str
    inserts: bool = False

    @property
    def run(self) -> Run:
        return self.catalog.run

    def read(self, *, initial: bool = False) -> tuple[tuple[RelationColumn, ...], exp.Query]:
        """The view's columns, and a query for them and the METADATA$ ones.

        `initial`: all rows of the view where the stream begins, as if they had just been inserted.
        """
        bound = self._bound(self.after_at, self.after) if initial else self._bound(self.upto_at, self.upto)
        columns = tuple(RelationColumn(c.name, c.type, key=c.key) for c in bound.bound.query.columns)
        return columns, self._whole(bound) if initial else self._changed(bound)

    def _changed(self, bound: BoundView) -> exp.Query:
        rows = self._changes(bound)
        names = [column.name for column in bound.columns]
        if rows is None:
            return self._whole(bound).where(exp.false())
        reference = staged_rows.readable(self.run, rows, (*bound.columns, *EXTRA))
        selected = exp.select(*(field(name) for name in rows.column_names)).from_(exp.Table(this=identifier(reference)))
        return stream_rows(selected, names, _ROW_IDENTITY)

    def _bound(self, at: datetime, versions: Mapping[str, int]) -> BoundView:
        bound = bind(self.catalog, self.view, at, versions)
        if bound.fingerprint != self.fingerprint:
            raise stream_errors.stream_stale(str(self.view.name))
        return bound

    def _whole(self, bound: BoundView) -> exp.Select:
        """All rows of the view as it was bound."""
        names = [column.name for column in bound.columns]
        relations = {
            table_name(reference, "new"): identified_rows(self.catalog, table, bound.bound.versions[table.id])
            for reference, table in bound.scanned.items()
        }
        rows = resolved(RefreshPlanner(bound.identified).full(bound.bound.environment.context.now), relations)
        inserted = exp.select(
            *(field(name) for name in names),
            exp.alias_(spark("cast(1 as bigint)"), SIGN),
            exp.alias_(exp.false(), UPDATE),
            exp.alias_(_joined(bound.identities), identifier(FILE)),
            exp.alias_(spark("cast(0 as bigint)"), ROW),
        ).from_(exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier("__view"))))
        return stream_rows(inserted, names, _ROW_IDENTITY)

    # -- changes --------------------------------------------------------------------------------------------------

    def _changes(self, bound: BoundView) -> pa.Table | None:
        """Rows in stored form with `__sign`, `__update` and what identifies them; None when nothing changed."""
        sides = _Sides(self, bound)
        if not sides.changes:
            return None
        planner = RefreshPlanner(bound.identified)
        plan = planner.plan(
            {name: TableChange(inserts_only=self.inserts) for name in sides.changes},
            before=self.after_at,
            after=self.upto_at,
        )
        if plan.apply.kind is ApplyKind.NOTHING:
            return None
        assert plan.apply.kind in (ApplyKind.APPEND, ApplyKind.BAG) and plan.apply.rows is not None
        runner = StageRunner(self.run, sides.relations, {}, {}, Lookups(self.run.account.store, {}, {}))
        runner.run(plan.stages, frozenset())
        return _signed(runner.fetch(self._fetched(bound, plan.apply.rows), ROWS), sides.identified)

    def _fetched(self, bound: BoundView, rows: exp.Select) -> exp.Select:
        """In stored form, with one text for the identities and one for the content."""
        names = [column.name for column in bound.columns]
        content = exp.Anonymous(this="struct", expressions=[field(name) for name in names])
        return exp.select(
            *(exp.alias_(stored(field(column.name), column.type), identifier(column.name)) for column in bound.columns),
            field(WEIGHT),
            exp.alias_(_joined(bound.identities), identifier(IDENTITY)),
            exp.alias_(spark("sha1(to_json(_0))", content), identifier(FILE)),
        ).from_(exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier("__rows"))))


def changes_of_view(catalog: StatementCatalog, view: CatalogObject, span: ChangeSpan) -> ViewChanges:
    """CHANGES on a view: those of its tables between two points in time, as the view is defined now."""
    run = catalog.run
    bound = bind(catalog, view, run.now, None)
    after: dict[str, int] = {}
    upto: dict[str, int] = {}
    instants: dict[bool, list[datetime]] = {True: [], False: []}
    for table in bound.bound.sources.values():
        definition = table.definition
        assert isinstance(definition, TableDefinition)
        if not definition.change_tracking:
            raise errors.change_tracking_missing(str(table.name))
        start = catalog.version_at(table, span.start)
        after[table.id] = start.version
        upto[table.id] = max(start.version, catalog.version(table, definition, span.end))
        for first, version in ((True, after[table.id]), (False, upto[table.id])):
            known = catalog.state.versions.upto(table.id, version)
            if known is not None:
                instants[first].append(known.committed_at)
    began, ended = max(instants[True], default=run.now), max(instants[False], default=run.now)
    return ViewChanges(catalog, view, after, began, upto, ended, bound.fingerprint, span.append_only)


class _Sides:
    """The tables of a view before, after, and what changed, each with the identity of its rows."""

    def __init__(self, changes: ViewChanges, bound: BoundView) -> None:
        self._of = changes
        self._run = changes.run
        self.relations: dict[str, exp.Expr] = {}
        self.changes: set[str] = set()
        self.identified = True
        found: dict[str, tuple[CatalogObject, pa.Table]] = {}
        for reference, table in bound.scanned.items():
            old, new = changes.after[table.id], changes.upto[table.id]
            self.relations[table_name(reference, "new")] = identified_rows(changes.catalog, table, new)
            if old == new:
                continue
            rows, known = TableChanges(changes.catalog, table, old, new, changes.inserts).rows()
            self.relations[table_name(reference, "old")] = identified_rows(changes.catalog, table, old)
            if rows.num_rows:
                found[reference] = table, rows
                self.identified = self.identified and known
        for reference, (table, rows) in found.items():
            self.changes.add(reference)
            self.relations[table_name(reference, "change")] = self._changed(table, rows)
        if not self.identified:
            self._forget_identities()

    def _changed(self, table: CatalogObject, rows: pa.Table) -> exp.Expr:
        definition = table.definition
        assert isinstance(definition, TableDefinition)
        data = rows.select([column.name for column in definition.columns])
        data = data.append_column(SIGN, rows.column(SIGN).cast(pa.int64())).append_column(UPDATE, rows.column(UPDATE))
        data = data.append_column(FILE, rows.column(ORIGIN_FILE).cast(pa.string()))
        data = data.append_column(ROW, rows.column(ORIGIN_ROW))
        reference = staged_rows.readable(self._run, data, (*definition.columns, *EXTRA))
        return _named(definition, reference, exp.alias_(field(SIGN), identifier(WEIGHT)))

    def _forget_identities(self) -> None:
        """Somebody rewrote files: the same row is another one on each side, so only content counts."""
        for relation in self.relations.values():
            for alias in relation.find_all(exp.Alias):
                if alias.alias == IDENTITY:
                    alias.set("this", exp.Literal.string(""))


def identified_rows(catalog: StatementCatalog, table: CatalogObject, version: int) -> exp.Expr:
    """One version of a table, with where its rows were born."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    run, store = catalog.run, catalog.run.account.store
    files = store.files(definition.location, version)
    shape = catalog.state.shapes.at(table.id, version)
    sources = None
    reference = f"identified_{table.id}_{version}"
    if shape is not None:
        sources = past_shapes.column_sources(Environment(catalog, run.context), definition, shape)
        reference = f"{reference}_{past_shapes.fingerprint(sources)}"
    run.tables[reference] = TableFiles(
        reference=reference, columns=definition.columns, files=files.uris,
        delta_path=None if files.plain else store.root.uri_of(definition.location), version=version,
        positions=True, origins=True, sources=sources, bytes=files.total_bytes,
    )  # fmt: skip
    return _named(definition, reference)


def _named(definition: TableDefinition, reference: str, *extra: exp.Expr) -> exp.Expr:
    columns = [field(column.name) for column in definition.columns]
    select = exp.select(*columns, exp.alias_(_ROW_IDENTITY.copy(), identifier(IDENTITY)), *extra)
    return exp.Subquery(this=select.from_(exp.Table(this=identifier(reference))))


def _joined(identities: Sequence[str]) -> exp.Expr:
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string("/"), *(field(name) for name in identities)])


def _signed(rows: pa.Table, identified: bool) -> pa.Table:
    """One row for each that came or went. Both under one identity are an update."""
    weights = rows.column(WEIGHT).cast(pa.int64()).to_pylist()
    indexes = [index for index, weight in enumerate(weights) for _ in range(abs(weight))]
    copies = [copy for weight in weights for copy in range(abs(weight))]
    rows = rows.take(pa.array(indexes, pa.int64()))
    signs = pc.sign(rows.column(WEIGHT)).cast(pa.int64())
    if identified:
        identity = rows.column(IDENTITY).combine_chunks()
        went = identity.filter(pc.less(signs, 0).combine_chunks())
        came = identity.filter(pc.greater(signs, 0).combine_chunks())
        update = pc.and_(pc.is_in(identity, value_set=went), pc.is_in(identity, value_set=came))
        files: pa.Array | pa.ChunkedArray = identity
    else:
        update = pa.repeat(pa.scalar(False), rows.num_rows)
        files = rows.column(FILE)
    data = rows.drop_columns([WEIGHT, IDENTITY, FILE]).append_column(SIGN, signs).append_column(UPDATE, update)
    return data.append_column(FILE, files).append_column(ROW, pa.array(copies, pa.int64()))
