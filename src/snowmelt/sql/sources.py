"""Binding of FROM: tables, views, subqueries, VALUES, table functions and joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.names import quote, split_name
from snowmelt.core.types import DataType
from snowmelt.sql import routines, table_calls
from snowmelt.sql.binders import BindsExpressions, BindsQueries
from snowmelt.sql.bound import Bound, BoundQuery, FromItem, Scope, SourceColumn, fold_identifier, position_of
from snowmelt.sql.clauses import ON
from snowmelt.sql.dialect import identifier
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.relations import Relation, ScalarRoutine
from snowmelt.sql.rows import bind_rows
from snowmelt.sql.source_clauses import (
    LiftedColumns,
    change_span,
    named_arguments,
    parts_of,
    time_travel,
    ungrouped,
    with_variants,
)
from snowmelt.sql.using import bind_using, shared_names

with lazy_imports():
    from snowmelt.sql import code_calls, code_partitions, pivots, policies, samples
    from snowmelt.sql.asof_joins import bind_asof
    from snowmelt.sql.match_recognize import bind_matches


class SourceBinder:
    """Binds the FROM clause of one SELECT into its scope."""

    def __init__(self, queries: BindsQueries, scope: Scope, expressions: BindsExpressions) -> None:
        self.queries = queries
        self.scope = scope
        self.expressions = expressions
        self.target = exp.Select()

    def bind(self, select: exp.Select, target: exp.Select) -> None:
        """Adds FROM and JOINs to `target`, and their sources to the scope."""
        from_ = select.args.get("from_")
        if from_ is None:
            return
        first, joins = ungrouped(from_.this)
        self._join_all(first, [*joins, *(select.args.get("joins") or [])], target)

    def _join_all(self, first: exp.Expr, joins: list[exp.Join], target: exp.Select) -> None:
        self.target = target
        target.set("from_", exp.From(this=self._item(first)))
        for join in joins:
            target.append("joins", self._join(join))

    def _grouped(self, first: exp.Expr, joins: list[exp.Join]) -> exp.Expr:
        """`(a JOIN b ON …)` on the right of a join: rows of their own, whose tables keep their names."""
        scope = self.scope.below()
        inner = SourceBinder(self.queries, scope, self.expressions.in_scope(scope))
        target = exp.Select()
        inner._join_all(first, joins, target)
        if scope.merged:
            # A column of that name outside would be taken for the merged one.
            raise errors.unsupported("USING or NATURAL in a join in parentheses", hint="Write ON, or a subquery.")
        alias = self.scope.spark_alias(None)
        lifted = LiftedColumns(alias)
        for source in scope.sources:
            columns = [replace(column, tree=lifted(column.tree, column.type)) for column in source.columns]
            self._add(replace(source, columns=tuple(columns), key=alias))
        target.set("expressions", lifted.projections)
        return exp.Subquery(this=target, alias=exp.TableAlias(this=identifier(alias)))

    # -- items ----------------------------------------------------------------------------------------------------

    def _item(self, node: exp.Expr) -> exp.Expr:
        for part, bind in (("match", self._matched), ("pivots", self._pivoted), ("sample", self._sampled)):
            if node.args.get(part):
                return bind(node)
        if isinstance(node, exp.Table):
            return self._table(node)
        if isinstance(node, exp.Subquery):
            return self._subquery(node)
        if isinstance(node, exp.Values):
            return self._values(node)
        if isinstance(node, exp.Lateral):
            return self._lateral(node)
        raise errors.unsupported(f"{errors.words_of(type(node))} in FROM")

    def _pivoted(self, node: exp.Expr) -> exp.Expr:
        """PIVOT and UNPIVOT, one behind the other, each over what stands before it."""
        source: exp.Expr = node.copy()
        source.set("pivots", None)
        source.set("joins", None)
        alias = node.args.get("alias")
        query = exp.select("*").from_(source)
        for pivot in node.args["pivots"]:
            columns = self._apart(query).columns
            query = pivots.rewritten(pivot, query.args["from_"].this, columns, self._values_of)
            alias = pivot.args.get("alias") or alias
            if pivot is not node.args["pivots"][-1]:
                named = exp.TableAlias(this=identifier("__pivoted"), columns=alias.columns if alias else [])
                query = exp.select("*").from_(exp.Subquery(this=query, alias=named))
        bound = self._apart(query)
        if alias is not None and not node.args["pivots"][-1].args.get("alias"):
            alias = exp.TableAlias(this=alias.this.copy())
        return self._derived(exp.Subquery(this=bound.tree), bound, exp.Subquery(alias=alias), parts_of(node))

    def _matched(self, node: exp.Expr) -> exp.Expr:
        """MATCH_RECOGNIZE over what stands before it."""
        bound, clause = bind_matches(self.queries, self.scope.below(), node)
        return self._derived(exp.Subquery(this=bound.tree), bound, exp.Subquery(alias=clause.args.get("alias")), ())

    def _sampled(self, node: exp.Expr) -> exp.Expr:
        source = node.copy()
        source.set("sample", None)
        source.set("alias", None)
        source.set("joins", None)
        bound = self._apart(exp.select("*").from_(source))
        tree = samples.sampled(self.expressions, node.args["sample"], bound)
        return self._derived(exp.Subquery(this=tree), bound, node, parts_of(node))

    def _apart(self, query: exp.Expr) -> BoundQuery:
        """A query that stands in FROM, and sees nothing of what stands beside it."""
        return self.queries.bind(query, self.scope.below())

    def _values_of(self, query: exp.Expr) -> Sequence[exp.Expr]:
        bound = self._apart(query)
        if len(bound.columns) != 1:
            raise errors.compilation("001789", "42601", "the subquery of PIVOT must return one column")
        return self.queries.environment.relations.distinct_values(bound)

    def _table(self, node: exp.Table) -> exp.Expr:
        this = node.this
        if isinstance(this, exp.Var) or (isinstance(this, exp.Literal) and this.name.startswith("@")):
            only(node, "this", "alias", "joins", "format", "pattern")
            return self._staged(node)
        if isinstance(this, exp.Values):
            only(node, "this", "alias", "joins")
            return self._values(exp.Values(expressions=this.expressions, alias=node.args.get("alias")))
        only(node, "this", "db", "catalog", "alias", "joins", "when", "changes")
        if isinstance(this, exp.Anonymous):
            if this.name.upper() == "TABLE" and len(this.expressions) == 1:
                return self._table_function(this.expressions[0], node)
            if this.name.upper() == "IDENTIFIER":
                return self._named(self._identifier_parts(this), node)
            return self._table_function(this, node)
        if isinstance(this, exp.Dot):
            return self._table_function(this, node)
        return self._named(tuple(fold_identifier(part) for part in node.parts), node)

    def _identifier_parts(self, call: exp.Anonymous) -> tuple[str, ...]:
        bound = self.expressions.bind(call.expressions[0])
        text = str(bound.tree.this) if isinstance(bound.tree, exp.Literal) else ""
        parts = split_name(text)
        if parts is None:
            where = position_of(call)
            raise errors.invalid_identifier(text, where.line, where.position)
        return parts

    def _named(self, parts: tuple[str, ...], node: exp.Expr) -> exp.Expr:
        if node.args.get("changes"):
            only(node, "this", "db", "catalog", "alias", "joins", "changes")
        span = change_span(node)
        if span is not None:
            return self._relation(self.queries.environment.relations.changes(parts, span), node, parts)
        when = time_travel(node.args.get("when"))
        if len(parts) == 1 and when is None:
            cte = self.scope.cte(parts[0])
            if cte is not None:
                return self._derived(exp.Table(this=identifier(cte.key)), cte.query, node, parts)
        if parts == ("DUAL",) and when is None:
            return self._dual(node)
        relation = self.queries.environment.relations.relation(parts, when)
        return self._relation(relation, node, parts)

    def _dual(self, node: exp.Expr) -> exp.Expr:
        """One row. A table of that name counts more, as it does in Snowflake."""
        try:
            relation = self.queries.environment.relations.relation(("DUAL",), None)
        except errors.SnowmeltError:
            rows = exp.select(exp.alias_(exp.Var(this="0L"), identifier(table_calls.SEQUENCE_COLUMN)))
            return self.aliased(exp.Subquery(this=rows), [], node, ("DUAL",))
        return self._relation(relation, node, ("DUAL",))

    def _relation(self, relation: Relation, node: exp.Expr, parts: tuple[str, ...]) -> exp.Expr:
        reference, columns = self._read(relation)
        if relation.protection is not None:
            self.queries.guards.used = True
            reference = policies.guarded(self.expressions, reference, columns, relation.protection)
        return self.aliased(reference, columns, node, parts)

    def _read(self, relation: Relation) -> tuple[exp.Expr, list[tuple[str, str, DataType]]]:
        """What stands in FROM for it, and its columns: name, name in Spark, type."""
        if relation.view is not None:
            bound = self.queries.view(relation)
            return exp.Subquery(this=bound.tree), [(item.name, item.key, item.type) for item in bound.columns]
        reference: exp.Expr = exp.Table(this=identifier(relation.reference or relation.name))
        if relation.query is not None:
            reference = exp.Subquery(this=relation.query.copy())
        columns = [(column.name, column.key or column.name, column.type) for column in relation.columns]
        return with_variants(reference, columns) if relation.json_text else reference, columns

    def _staged(self, node: exp.Table) -> exp.Expr:
        """`@stage/path (FILE_FORMAT => f, PATTERN => '…')`."""
        select = node.find_ancestor(exp.Select)
        if select is None or any(isinstance(item, exp.Star) or item.is_star for item in select.expressions):
            raise errors.unsupported("SELECT * FROM a stage", hint="Name the columns: $1, $2, …")
        numbers = [int(item.name) for item in select.find_all(exp.Parameter) if item.name.isdigit()]
        format_name, pattern = node.args.get("format"), node.args.get("pattern")
        relation = self.queries.environment.relations.staged(
            node.this.name,
            format_name.sql() if isinstance(format_name, exp.Table) else (format_name.name if format_name else None),
            pattern.name if pattern is not None else None,
            max(numbers, default=1),
        )
        return self._relation(relation, node, ())

    def _subquery(self, node: exp.Subquery) -> exp.Expr:
        bound = self.queries.bind(node, self.scope.below())
        return self._derived(exp.Subquery(this=bound.tree), bound, node, ())

    def _derived(self, tree: exp.Expr, bound: BoundQuery, node: exp.Expr, parts: tuple[str, ...]) -> exp.Expr:
        columns = [(column.name, column.key, column.type) for column in bound.columns]
        return self.aliased(tree, columns, node, parts)

    def aliased(
        self,
        tree: exp.Expr,
        columns: list[tuple[str, str, DataType]],
        node: exp.Expr,
        parts: tuple[str, ...],
    ) -> exp.Expr:
        """Names a source in Spark and in the scope. `columns` are (visible name, Spark name, type)."""
        alias = node.args.get("alias")
        visible: str | None = parts[-1] if parts else None
        renamed: list[str] = []
        if isinstance(alias, exp.TableAlias):
            visible = fold_identifier(alias.this) if alias.this is not None else visible
            renamed = [fold_identifier(column) for column in alias.columns]
        if len(renamed) > len(columns):
            raise errors.compilation("002057", "42601", f"{visible} has {len(columns)} column(s), not {len(renamed)}")
        spark_alias = self.scope.spark_alias(visible)
        source = FromItem(
            alias=visible,
            columns=tuple(
                SourceColumn(
                    name=renamed[index] if index < len(renamed) else name,
                    type=type_,
                    tree=typed(exp.column(identifier(key), table=identifier(spark_alias)), type_),
                )
                for index, (name, key, type_) in enumerate(columns)
            ),
            qualified=parts if not isinstance(alias, exp.TableAlias) else (),
            key=spark_alias,
        )
        self._add(source)
        tree.set("alias", exp.TableAlias(this=identifier(spark_alias)))
        return tree

    def _add(self, source: FromItem) -> None:
        self.scope.sources.append(source)

    def _values(self, node: exp.Values) -> exp.Expr:
        only(node, "expressions", "alias", "joins")
        query, columns = bind_rows(self.expressions, node)
        return self.aliased(exp.Subquery(this=query), columns, node, ())

    # -- table functions ------------------------------------------------------------------------------------------

    def _lateral(self, node: exp.Lateral) -> exp.Expr:
        inner = node.this
        if isinstance(inner, exp.Subquery):
            bound = self.queries.subquery(inner, self.scope)
            tree = self._derived(exp.Subquery(this=bound.tree), bound, node, ())
            alias = tree.args.pop("alias")
            return exp.Lateral(this=tree, alias=alias)
        return self._table_function(inner, node)

    def _table_function(self, call: exp.Expr, node: exp.Expr) -> exp.Expr:
        parts: list[str] = []
        while isinstance(call, exp.Dot):
            path = call.this.flatten() if isinstance(call.this, exp.Dot) else (call.this,)
            parts = [fold_identifier(part) for part in path]
            call = call.expression
        window = call if isinstance(call, exp.Window) else None
        call = window.this if window is not None else call
        if isinstance(call, exp.Parameter | exp.Literal | exp.Column):
            return self._named(self._identifier_parts(exp.Anonymous(this="IDENTIFIER", expressions=[call])), node)
        if not isinstance(call, exp.Anonymous):
            raise errors.unsupported(f"{errors.words_of(type(call))} in TABLE(…)")
        only(node, "this", "alias", "joins")
        name = call.name.upper()
        if window is not None:
            found = self.queries.environment.relations.routine((*parts, name))
            if not found:
                raise errors.unsupported(f"OVER behind TABLE({name}(…))")
            return code_partitions.rows(self, *self._chosen(found, call), window, node)
        arguments = named_arguments(call)
        if name == "FLATTEN":
            return table_calls.flatten(self, arguments, node)
        if name == "GENERATOR":
            return table_calls.generator(self, arguments, node)
        if name in ("SPLIT_TO_TABLE", "STRTOK_SPLIT_TO_TABLE"):
            return table_calls.split_to_table(self, name, call, node)
        found = self.queries.environment.relations.routine((*parts, name))
        if found:
            return self._routine(found, call, node)
        relation = self.queries.environment.relations.table_function(".".join(map(quote, (*parts, name))), arguments)
        return self._relation(relation, node, ())

    def _routine(self, found: list[ScalarRoutine], call: exp.Anonymous, node: exp.Expr) -> exp.Expr:
        routine, given = self._chosen(found, call)
        assert routine.returns_table is not None
        if routine.code is not None:
            return code_calls.rows(self, routine, given, node)
        bound = routines.inline_table(self.queries, routine, given, self.scope)
        declared = [
            (column.name, produced.key, column.type)
            for column, produced in zip(routine.returns_table, bound.columns, strict=True)
        ]
        tree = self.aliased(exp.Subquery(this=bound.tree), declared, node, ())
        alias = tree.args.pop("alias")
        return exp.Lateral(this=tree, alias=alias)

    def _chosen(self, found: list[ScalarRoutine], call: exp.Anonymous) -> tuple[ScalarRoutine, dict[str, Bound]]:
        routine, given = routines.match(self.expressions, found, call)
        if routine.returns_table is None:
            raise errors.compilation("002143", "42601", f"{routine.name} is not a table function")
        return routine, given

    # -- joins ----------------------------------------------------------------------------------------------------

    def _join(self, join: exp.Join) -> exp.Join:
        method = str(join.args.get("method") or "").upper()
        if method == "ASOF":
            return self._asof_join(join)
        only(join, "this", "on", "side", "kind", "using", "method")
        if method == "NATURAL":
            only(join, "this", "side", "kind", "method")
        before = list(self.scope.sources)
        first, nested = ungrouped(join.this)
        tree = self._grouped(first, nested) if nested else self._item(first)
        added = self.scope.sources[len(before) :]
        side = str(join.args.get("side") or "").upper()
        kind = str(join.args.get("kind") or "").upper()
        bound = exp.Join(this=tree, side=side or None, kind=kind if kind not in ("", "INNER", "OUTER") else None)
        using = join.args.get("using") or []
        names = [fold_identifier(part) for part in using]
        if method == "NATURAL":
            names = shared_names(before, added)
        if names:
            bound.set("on", bind_using(self.expressions, names, before, added, side))
        elif join.args.get("on") is not None:
            bound.set("on", self.expressions.in_clause(ON).boolean(join.args["on"]).tree)
        elif side and not isinstance(tree, exp.Lateral):
            bound.set("on", exp.true())
        if not side and bound.args.get("on") is None:
            # FROM a, b is an inner join whose condition stands in WHERE. Spark has rules for inner joins that it does
            # not apply to cross joins, such as filtering the larger side by the smaller one's keys while running.
            bound.set("kind", "CROSS" if kind == "CROSS" or isinstance(tree, exp.Lateral) else "INNER")
        return bound

    def _asof_join(self, join: exp.Join) -> exp.Join:
        only(join, "this", "on", "using", "method", "match_condition", "side")
        before = list(self.scope.sources)
        scope = self.scope.below()
        inner = SourceBinder(self.queries, scope, self.expressions.in_scope(scope))
        target = exp.Select()
        inner._join_all(*ungrouped(join.this), target)
        names = [fold_identifier(part) for part in join.args.get("using") or []]
        clause = self.expressions.in_clause(ON)
        asof = bind_asof(clause, join, inner.expressions.in_clause(ON), before, names)
        alias = self.scope.spark_alias(None)
        lifted = LiftedColumns(alias)
        for source in scope.sources:
            columns = [replace(column, tree=lifted(column.tree, column.type)) for column in source.columns]
            hidden = source.hidden | frozenset(names)
            self._add(replace(source, columns=tuple(columns), key=alias, hidden=hidden))
        keys = [lifted(key.tree, key.type) for _, key in asof.keys]
        value = lifted(asof.right.tree, asof.right.type)
        neighbour = lifted(asof.neighbour(), asof.right.type)
        for name, (left, _) in zip(names, asof.keys[len(asof.keys) - len(names) :], strict=True):
            self.scope.merged.setdefault(name, left)
        target.set("expressions", lifted.projections)
        target.set("where", exp.Where(this=asof.known()))
        right = exp.Subquery(this=target, alias=exp.TableAlias(this=identifier(alias)))
        return exp.Join(this=right, side="LEFT", on=asof.condition(value, neighbour, keys))
