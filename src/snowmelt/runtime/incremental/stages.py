"""Running the stages of a refresh plan on Spark.

A stage that reads only changes and other stages is part of the queries that use it. One that reads a source is run
once and its rows are kept here: they are few, and Spark then knows how few.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from snowmelt.engine.model import Lane, TableFiles
from snowmelt.engine.quick.lane import Translations
from snowmelt.ivm.rendering import Lookup, Stage
from snowmelt.runtime.incremental.lookups import Lookups
from snowmelt.sql.dialect import identifier

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

QUICK_ROWS = 500_000
"""Given rows that the quick lane takes at most: it joins so many while Spark still takes them in."""
_TINY_ROWS = 50_000
"""Given rows that Spark computes in one task, at most."""
ROWS = "rows of the table"
"""What plans call the query that is no stage."""
_Form = tuple["tuple[str, _Form]", ...]
"""The names in a query and, for those that stand for a query themselves, the names in that."""
_GIVEN: _Form = (("", ()),)
"""Of rows that are given as they are."""


@dataclass(frozen=True, slots=True)
class StageCost:
    """What one query of a plan took. A stage that runs inside of others has none."""

    name: str
    began: float
    """By the monotonic clock."""
    seconds: float
    rows: int


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A query over what the engine knows."""

    tree: exp.Select
    names: frozenset[str]
    """Of the relations in it."""
    form: _Form | None
    """How the plan's names were resolved; None where files are read, whose names change with every version."""
    translations: Translations = field(default_factory=dict)


class KnownQueries:
    """What the queries of one plan were resolved and translated to, for refreshes that follow the same plan.

    One refresh at a time uses it: whoever refreshes a table holds it.
    """

    def __init__(self) -> None:
        self.prefix = f"r{uuid.uuid4().hex[:12]}_"
        self.names: dict[str, frozenset[str]] = {}
        """The relations in a query as the plan has it, by what the query is called."""
        self.resolved: dict[tuple[str, _Form], _Resolved] = {}


class StageRunner:
    """`relations` says what Spark calls the sides of each source; `changes` are the changes of those that changed, and
    `inputs` the ones that Spark takes as they are. `known` are queries of the same plan, from refreshes before."""

    def __init__(
        self,
        run: Run,
        relations: Mapping[str, exp.Expr],
        inputs: Mapping[str, pa.Table],
        changes: Mapping[str, pa.Table],
        lookups: Lookups,
        known: KnownQueries | None = None,
    ) -> None:
        self._run = run
        self._changes = changes
        self._lookups = lookups
        self._known = known or KnownQueries()
        self._prefix = self._known.prefix
        self._relations = dict(relations)
        self._forms: dict[str, _Form] = {}
        """How names were resolved, but for those of files."""
        self._inputs: dict[str, pa.Table] = {}
        for name, data in inputs.items():
            self.keep(name, data)
        self._inline: dict[str, _Resolved] = {}
        self._asked: set[str] = set()
        """Sources that were given as they are, if they are small."""
        self.jobs = 0
        self.costs: list[StageCost] = []
        """In the order of running."""

    def run(self, stages: Sequence[Stage], kept: frozenset[str]) -> None:
        """Runs those that must be run now; `kept` are wanted here whatever they read."""
        for stage in stages:
            began = time.monotonic()
            if stage.lookup is not None and self._found(stage.name, stage.lookup):
                self._spent(stage.name, began, self.rows_of(stage.name))
                continue
            if stage.name not in kept and not self._reads_sources(stage):
                query = self._resolved(stage.query, stage.name)
                self._inline[stage.name] = query
                self._relations[stage.name] = exp.Subquery(this=query.tree)
                if query.form is not None:
                    self._forms[stage.name] = query.form
                continue
            with self._run.account.tracing.span(f"stage {stage.name}"):
                self.keep(stage.name, self.fetch(stage.query, stage.name))

    def _found(self, name: str, lookup: Lookup) -> bool:
        if lookup.relation in self._inline:
            # Its rows are the keys to look for, so they are needed here after all.
            began = time.monotonic()
            self.keep(lookup.relation, self._fetch(self._inline.pop(lookup.relation)))
            self._spent(lookup.relation, began, self.rows_of(lookup.relation))
        keys = self._inputs.get(self._prefix + lookup.relation)
        keys = self._changes.get(lookup.relation) if keys is None else keys
        rows = self._lookups.find(lookup, keys) if keys is not None else None
        if rows is None:
            return False
        self.keep(name, rows)
        return True

    def keep(self, name: str, rows: pa.Table) -> None:
        self._inputs[self._prefix + name] = rows
        self._relations[name] = exp.Table(this=identifier(self._prefix + name))
        self._forms[name] = _GIVEN

    def rows_of(self, stage: str) -> pa.Table:
        return self._inputs[self._prefix + stage]

    def fetch(self, query: exp.Select, name: str) -> pa.Table:
        """The rows of a query over the sides of the sources and the stages. `name` is what the plan calls it."""
        began = time.monotonic()
        rows = self._fetch(self._resolved(query, name))
        self._spent(name, began, rows)
        return rows

    def _spent(self, name: str, began: float, rows: pa.Table) -> None:
        """Notes what a query took, without what was noted of others meanwhile."""
        inside = sum(cost.seconds for cost in self.costs if cost.began >= began)
        self.costs.append(StageCost(name, began, max(time.monotonic() - began - inside, 0.0), rows.num_rows))

    def names_in(self, query: exp.Select, name: str) -> frozenset[str]:
        """The relations in a query of the plan, which calls it by this name."""
        if name not in self._known.names:
            self._known.names[name] = frozenset(table.name for table in query.find_all(exp.Table))
        return self._known.names[name]

    def _resolved(self, query: exp.Select, name: str) -> _Resolved:
        """The query over what Spark knows; small sources are given with it."""
        names = self.names_in(query, name)
        for source in names - self._asked:
            self._asked.add(source)
            rows = self._lookups.whole(source)
            if rows is not None:
                self.keep(source, rows)
        form: _Form | None = None
        if names <= self._forms.keys():
            form = tuple((one, self._forms[one]) for one in sorted(names))
            if (name, form) in self._known.resolved:
                return self._known.resolved[name, form]
        tree = resolved(query, self._relations)
        found = _Resolved(tree, frozenset(table.name for table in tree.find_all(exp.Table)), form)
        if form is not None:
            self._known.resolved[name, form] = found
        return found

    def _reads_sources(self, stage: Stage) -> bool:
        return any(name.endswith(("__old", "__new")) for name in self.names_in(stage.query, stage.name))

    def _fetch(self, query: _Resolved) -> pa.Table:
        run = self._run
        run.check_cancelled()
        self.jobs += 1
        names = query.names
        tables = [table for name, table in run.tables.items() if name in names]
        inputs = {name: data for name, data in {**run.inputs, **self._inputs}.items() if name in names}
        rows, size = sum(data.num_rows for data in inputs.values()), sum(table.bytes for table in tables)
        small = size <= run.account.settings.small_query_bytes
        lane = _lane(rows, tables, small=small)
        return run.account.engine.to_arrow(
            query.tree, tables, lane=lane, tag=run.tag, pool=run.pool, inputs=inputs, few=small and rows <= QUICK_ROWS,
            for_spark=_in_one_task if lane is Lane.TINY else None,
            known=query.translations if query.form is not None and not tables else None,
        )  # fmt: skip


def _lane(rows: int, tables: Sequence[TableFiles], *, small: bool) -> Lane:
    """Spark's way with so many given rows and these tables, which are `small` or not."""
    if rows > _TINY_ROWS:
        return Lane.CHANGES
    if not tables:
        return Lane.TINY
    return Lane.LIGHT if small else Lane.CHANGES


def _in_one_task(query: exp.Expr) -> exp.Expr:
    """The query with joins that one task carries out alone: each table of rows is built where it is joined, and what
    comes of it is one partition. By itself Spark would broadcast each small input, by a job of its own."""
    tree = query.copy()
    for select in list(tree.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        if not joins or not all(join.this.alias for join in joins):
            continue
        if not any(column.table for column in select.find_all(exp.Column)):
            while len(joins) > 1:
                _nest(select)
                joins = select.args["joins"]
            _hint(select)
    return tree


def _nest(select: exp.Select) -> None:
    """Puts the first join below the others."""
    first, *others = select.args["joins"]
    inner = exp.select("*")
    inner.set("from_", select.args["from_"])
    inner.set("joins", [first])
    _hint(inner)
    alias = exp.TableAlias(this=identifier(f"{first.this.alias}_joined"))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    select.set("joins", others)


def _hint(select: exp.Select) -> None:
    aliases = [identifier(join.this.alias) for join in select.args["joins"]]
    hints = {"SHUFFLE_HASH": aliases, "COALESCE": [exp.Literal.number(1)]}
    called = [exp.Anonymous(this=name, expressions=given) for name, given in hints.items()]
    select.set("hint", exp.Hint(expressions=called))


def resolved(query: exp.Select, relations: Mapping[str, exp.Expr]) -> exp.Select:
    """The query with what the plan's names stand for; every table in a plan has an alias."""
    tree = query.copy()
    for table in list(tree.find_all(exp.Table)):
        known = relations.get(table.name)
        if known is not None:
            found = known.copy()
            found.set("alias", table.args.get("alias"))
            table.replace(found)
    return tree
