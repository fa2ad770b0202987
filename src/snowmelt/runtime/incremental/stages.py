"""Running the stages of a refresh plan on Spark.

A stage that reads only changes and other stages is part of the queries that use it. One that reads a source is run
once and its rows are kept here: they are few, and Spark then knows how few.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from snowmelt.engine.model import Lane, TableFiles
from snowmelt.ivm.rendering import Lookup, Stage
from snowmelt.runtime.incremental.lookups import Lookups
from snowmelt.sql.dialect import identifier

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_LIGHT_BYTES = 4 * 1024 * 1024
"""Beyond, reading in batches is worth the code that Spark has to generate for it."""
_TINY_ROWS = 50_000


class StageRunner:
    """`relations` says what Spark calls the sides of each source; `changes` are the changes of those that changed, and
    `inputs` the ones that Spark takes as they are."""

    def __init__(
        self,
        run: Run,
        relations: Mapping[str, exp.Expr],
        inputs: Mapping[str, pa.Table],
        changes: Mapping[str, pa.Table],
        lookups: Lookups,
    ) -> None:
        self._run = run
        self._changes = changes
        self._lookups = lookups
        self._prefix = f"r{uuid.uuid4().hex[:12]}_"
        self._relations = dict(relations)
        self._inputs = {self._prefix + name: data for name, data in inputs.items()}
        for name in inputs:
            self._relations[name] = exp.Table(this=identifier(self._prefix + name))
        self._inline: dict[str, exp.Select] = {}
        self._asked: set[str] = set()
        """Sources that were given as they are, if they are small."""
        self.jobs = 0

    def run(self, stages: Sequence[Stage], kept: frozenset[str]) -> None:
        """Runs those that must be run now; `kept` are wanted here whatever they read."""
        for stage in stages:
            if stage.lookup is not None and self._found(stage.name, stage.lookup):
                continue
            if stage.name not in kept and not self._reads_sources(stage.query):
                query = self._resolved(stage.query)
                self._inline[stage.name] = query
                self._relations[stage.name] = exp.Subquery(this=query)
                continue
            with self._run.account.tracing.span(f"stage {stage.name}"):
                self.keep(stage.name, self.fetch(stage.query))

    def _found(self, name: str, lookup: Lookup) -> bool:
        if lookup.relation in self._inline:
            # Its rows are the keys to look for, so they are needed here after all.
            self.keep(lookup.relation, self._fetch(self._inline.pop(lookup.relation)))
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

    def rows_of(self, stage: str) -> pa.Table:
        return self._inputs[self._prefix + stage]

    def fetch(self, query: exp.Select) -> pa.Table:
        """The rows of a query over the sides of the sources and the stages."""
        return self._fetch(self._resolved(query))

    def _resolved(self, query: exp.Select) -> exp.Select:
        """The query over what Spark knows; small sources are given with it."""
        for name in {table.name for table in query.find_all(exp.Table)} - self._asked:
            self._asked.add(name)
            rows = self._lookups.whole(name)
            if rows is not None:
                self.keep(name, rows)
        return resolved(query, self._relations)

    def _reads_sources(self, query: exp.Select) -> bool:
        return any(table.name.endswith(("__old", "__new")) for table in query.find_all(exp.Table))

    def _fetch(self, query: exp.Select) -> pa.Table:
        run = self._run
        run.check_cancelled()
        self.jobs += 1
        names = {table.name for table in query.find_all(exp.Table)}
        tables = [table for name, table in run.tables.items() if name in names]
        inputs = {**run.inputs, **{name: data for name, data in self._inputs.items() if name in names}}
        lane = _lane(tables, inputs)
        return run.account.engine.to_arrow(
            query, tables, lane=lane, tag=run.tag, pool=run.pool, inputs=inputs,
            for_spark=_in_one_task if lane is Lane.TINY else None,
        )  # fmt: skip


def _lane(tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table]) -> Lane:
    few = sum(data.num_rows for data in inputs.values()) <= _TINY_ROWS
    if few and not tables:
        return Lane.TINY
    return Lane.LIGHT if few and sum(table.bytes for table in tables) <= _LIGHT_BYTES else Lane.CHANGES


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
