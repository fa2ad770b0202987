"""Binding of FROM: tables, views, subqueries, VALUES, table functions, FLATTEN, and joins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import split_name
from snowmelt.core.types import DataType
from snowmelt.sql import flatten as flattening
from snowmelt.sql import routines
from snowmelt.sql.bound import Bound, BoundQuery, Scope, Source, SourceColumn, fold_identifier, position_of
from snowmelt.sql.dialect import identifier, spark
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.relations import ChangeSpan, Relation, ScalarRoutine, TimeTravel
from snowmelt.sql.rows import rows_relation
from snowmelt.sql.variants import from_result_text

if TYPE_CHECKING:
    from snowmelt.sql.expressions import ExpressionBinder
    from snowmelt.sql.queries import QueryBinder

FLATTEN_COLUMNS: tuple[tuple[str, DataType], ...] = (
    ("SEQ", types.INTEGER),
    ("KEY", types.VARCHAR),
    ("PATH", types.VARCHAR),
    ("INDEX", types.INTEGER),
    ("VALUE", types.VARIANT),
    ("THIS", types.VARIANT),
)
SEQUENCE_COLUMN = "__seq"
"""Row numbers of a GENERATOR, from 0: what SEQ4() and its like read."""


class SourceBinder:
    """Binds the FROM clause of one SELECT into its scope."""

    def __init__(self, queries: QueryBinder, scope: Scope, expressions: ExpressionBinder) -> None:
        self.queries = queries
        self.scope = scope
        self.expressions = expressions
        self.target = exp.Select()

    def bind(self, select: exp.Select, target: exp.Select) -> None:
        """Adds FROM and JOINs to `target`, and their sources to the scope."""
        from_ = select.args.get("from_")
        if from_ is None:
            return
        first, joins = _ungrouped(from_.this)
        self._join_all(first, [*joins, *(select.args.get("joins") or [])], target)

    def _join_all(self, first: exp.Expr, joins: list[exp.Join], target: exp.Select) -> None:
        self.target = target
        target.set("from_", exp.From(this=self._item(first)))
        bound = [self._join(join) for join in joins]
        if bound:
            target.set("joins", bound)

    def _grouped(self, first: exp.Expr, joins: list[exp.Join]) -> exp.Expr:
        """`(a JOIN b ON …)` on the right of a join: rows of their own, whose tables keep their names."""
        scope = Scope(parent=_only_ctes(self.scope))
        inner = SourceBinder(self.queries, scope, self.expressions.in_scope(scope))
        target = exp.Select()
        inner._join_all(first, joins, target)
        if scope.merged:
            # A column of that name outside would be taken for the merged one.
            raise errors.unsupported("USING or NATURAL in a join in parentheses", hint="Write ON, or a subquery.")
        alias = self.scope.spark_alias(None)
        projections: list[exp.Expr] = []

        def lifted(tree: exp.Expr, type_: DataType) -> exp.Expr:
            key = f"c{len(projections) + 1}"
            projections.append(typed(exp.alias_(tree.copy(), identifier(key)), type_))
            return typed(exp.column(identifier(key), table=identifier(alias)), type_)

        for source in scope.sources:
            columns = [replace(column, tree=lifted(column.tree, column.type)) for column in source.columns]
            self._add(replace(source, columns=tuple(columns), key=alias))
        target.set("expressions", projections)
        return exp.Subquery(this=target, alias=exp.TableAlias(this=identifier(alias)))

    # -- items ----------------------------------------------------------------------------------------------------

    def _item(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table):
            return self._table(node)
        if isinstance(node, exp.Subquery):
            return self._subquery(node)
        if isinstance(node, exp.Values):
            return self._values(node)
        if isinstance(node, exp.Lateral):
            return self._lateral(node)
        raise errors.unsupported(f"{type(node).__name__} in FROM")

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
        span = _change_span(node)
        if span is not None:
            return self._relation(self.queries.environment.relations.changes(parts, span), node, parts)
        when = _time_travel(node.args.get("when"))
        if len(parts) == 1 and when is None:
            cte = self.scope.cte(parts[0])
            if cte is not None:
                return self._derived(exp.Table(this=identifier(cte.key)), cte.query, node, parts)
        relation = self.queries.environment.relations.relation(parts, when)
        return self._relation(relation, node, parts)

    def _relation(self, relation: Relation, node: exp.Expr, parts: tuple[str, ...]) -> exp.Expr:
        if relation.view is not None:
            bound = self.queries.view(relation)
            return self._derived(exp.Subquery(this=bound.tree), bound, node, parts)
        reference: exp.Expr = exp.Table(this=identifier(relation.reference or relation.name))
        if relation.query is not None:
            reference = exp.Subquery(this=relation.query.copy())
        columns = [(column.name, column.key or column.name, column.type) for column in relation.columns]
        if relation.json_text:
            reference = _with_variants(reference, columns)
        return self._aliased(reference, columns, node, parts)

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
        bound = self.queries.bind(node, Scope(parent=_only_ctes(self.scope)))
        return self._derived(exp.Subquery(this=bound.tree), bound, node, ())

    def _derived(self, tree: exp.Expr, bound: BoundQuery, node: exp.Expr, parts: tuple[str, ...]) -> exp.Expr:
        columns = [(column.name, column.key, column.type) for column in bound.columns]
        return self._aliased(tree, columns, node, parts)

    def _aliased(
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
        source = Source(
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

    def _add(self, source: Source) -> None:
        self.scope.sources.append(source)

    def _values(self, node: exp.Values) -> exp.Expr:
        only(node, "expressions", "alias", "joins")
        rows = [
            [self.expressions.bind(cell) for cell in (row.expressions if isinstance(row, exp.Tuple) else [row])]
            for row in node.expressions
        ]
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            raise errors.compilation("001969", "42601", "all rows of VALUES must have the same number of columns")
        cells: list[list[exp.Expr]] = [[] for _ in rows]
        columns: list[tuple[str, str, DataType]] = []
        for index in range(width):
            casted, type_ = self.expressions.same_type([row[index] for row in rows])
            for row, cell in enumerate(casted):
                cells[row].append(cell.tree)
            columns.append((f"COLUMN{index + 1}", f"COLUMN{index + 1}", type_))
        names = [key for _, key, _ in columns]
        inner = exp.select(*[exp.column(identifier(name)) for name in names]).from_(rows_relation(cells, names))
        return self._aliased(exp.Subquery(this=inner), columns, node, ())

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
            parts = (
                [part.name.upper() for part in call.this.flatten()]
                if isinstance(call.this, exp.Dot)
                else [fold_identifier(call.this)]
            )
            call = call.expression
        if isinstance(call, exp.Parameter | exp.Literal | exp.Column):
            return self._named(self._identifier_parts(exp.Anonymous(this="IDENTIFIER", expressions=[call])), node)
        if not isinstance(call, exp.Anonymous):
            raise errors.unsupported(f"{type(call).__name__} in TABLE(…)")
        only(node, "this", "alias", "joins")
        name = call.name.upper()
        arguments = _named_arguments(call)
        if name == "FLATTEN":
            return self._flatten(arguments, node)
        if name == "GENERATOR":
            return self._generator(arguments, node)
        if name in ("SPLIT_TO_TABLE", "STRTOK_SPLIT_TO_TABLE"):
            return self._split_to_table(name, call, node)
        found = self.queries.environment.relations.routine((*parts, name))
        if found:
            return self._routine(found, call, node)
        relation = self.queries.environment.relations.table_function(".".join((*parts, name)), arguments)
        return self._relation(relation, node, ())

    def _flatten(self, arguments: dict[str, exp.Expr], node: exp.Expr) -> exp.Expr:
        given = _by_name("FLATTEN", arguments, ("INPUT", "PATH", "OUTER", "RECURSIVE", "MODE"))
        if "INPUT" not in given:
            raise errors.not_enough_arguments("FLATTEN", 1, 0)
        value = self.expressions.bind(given["INPUT"])
        value = value if value.type.is_semi_structured else self.expressions.cast(value, types.VARIANT)
        path_text = self._constant("PATH", given.get("PATH"))
        recursive = self._flag("RECURSIVE", given.get("RECURSIVE"))
        wanted = _flatten_columns(node, recursive=recursive)
        rows = flattening.flatten(
            value.tree,
            path=path_text,
            outer=self._flag("OUTER", given.get("OUTER")),
            recursive=recursive,
            mode=(self._constant("MODE", given.get("MODE")) or "BOTH").upper(),
            columns=wanted,
        )
        fields = [(name, type_) for name, type_ in FLATTEN_COLUMNS if name in wanted]
        number = self._row_number() if _mentions(node, "SEQ") else None
        tree = self._inline(rows, fields, node)
        source = self.scope.sources[-1]
        columns = {column.name: column for column in source.columns}
        if number is not None:
            columns["SEQ"] = replace(columns["SEQ"], tree=number)
        if "THIS" not in columns:
            # The same in every row: added here, where it costs nothing unless it is used.
            this = flattening.flattened_value(value.tree, path_text)
            columns["THIS"] = SourceColumn("THIS", types.VARIANT, this)
        ordered = tuple(columns[name] for name, _ in FLATTEN_COLUMNS if name in columns)
        self.scope.sources[-1] = replace(source, columns=ordered)
        return tree

    def _constant(self, name: str, node: exp.Expr | None) -> str | None:
        """The text of an argument that must be a constant or a variable; None when it is left out."""
        if node is None:
            return None
        tree = self.expressions.bind(node).tree
        if not isinstance(tree, exp.Literal) or not tree.is_string:
            raise errors.invalid_value(node.sql(dialect="snowflake"), f"{name}: a text constant")
        return str(tree.this)

    def _flag(self, name: str, node: exp.Expr | None) -> bool:
        if node is None:
            return False
        tree = self.expressions.boolean(node).tree
        if not isinstance(tree, exp.Boolean):
            raise errors.invalid_value(node.sql(dialect="snowflake"), f"{name}: TRUE or FALSE")
        return bool(tree.this)

    def _row_number(self) -> exp.Expr | None:
        """A number for each row that is flattened, for SEQ; None when there is only one, which is number 1."""
        if not self.scope.sources:
            return None
        first = self.target.args["from_"].this if self.target.args.get("from_") is not None else None
        if len(self.scope.sources) > 1 or not isinstance(first, exp.Table | exp.Subquery):
            raise errors.unsupported("SEQ of a FLATTEN behind a join", hint="Flatten one table in a subquery first.")
        alias = first.args["alias"].copy()
        number = exp.alias_(spark("monotonically_increasing_id() + 1"), identifier("__row"))
        inner = exp.select(exp.Star(), number).from_(first.copy())
        first.replace(exp.Subquery(this=inner, alias=alias))
        return exp.column(identifier("__row"), table=identifier(alias.this.name))

    def _inline(self, rows: exp.Expr, columns: list[tuple[str, DataType]], node: exp.Expr) -> exp.Expr:
        """A lateral join with the rows of an ARRAY<STRUCT<…>>."""
        named = self._aliased(exp.Table(this=identifier("x")), [(n, n, t) for n, t in columns], node, ())
        alias = named.args["alias"].this.name
        inner = exp.Anonymous(this="inline", expressions=[rows])
        names = [typed(identifier(name), type_) for name, type_ in columns]
        return exp.Lateral(this=inner, alias=exp.TableAlias(this=identifier(alias), columns=names))

    def _split_to_table(self, name: str, call: exp.Anonymous, node: exp.Expr) -> exp.Expr:
        if len(call.expressions) != 2:
            raise errors.not_enough_arguments(name, 2, len(call.expressions))
        text, separator = (self.expressions.cast(self.expressions.bind(a), types.VARCHAR) for a in call.expressions)
        template = (
            "split(_0, concat('\\\\Q', _1, '\\\\E'), -1)"
            if name == "SPLIT_TO_TABLE"
            else "filter(split(_0, concat('[', regexp_replace(_1, '([\\\\[\\\\]\\\\\\\\^-])', '\\\\\\\\$1'), ']')), "
            "p -> p <> '')"
        )
        parts = spark(template, text.tree, separator.tree)
        rows = spark(
            "transform(_0, (x, i) -> named_struct('SEQ', 1L, 'INDEX', cast(i + 1 as bigint), 'VALUE', x))",
            parts,
        )
        columns = [("SEQ", types.INTEGER), ("INDEX", types.INTEGER), ("VALUE", types.VARCHAR)]
        return self._inline(rows, columns, node)

    def _generator(self, arguments: dict[str, exp.Expr], node: exp.Expr) -> exp.Expr:
        given = _by_name("GENERATOR", arguments, ("ROWCOUNT", "TIMELIMIT"))
        count = given.get("ROWCOUNT")
        if count is None or "TIMELIMIT" in given:
            raise errors.unsupported("GENERATOR with TIMELIMIT or without ROWCOUNT")
        bound = self.expressions.bind(count)
        bound = bound if bound.type.int64 else self.expressions.cast(bound, types.INTEGER)
        rows = exp.Table(this=exp.Anonymous(this="range", expressions=[bound.tree]))
        inner = exp.select(exp.alias_(exp.column("id"), SEQUENCE_COLUMN)).from_(rows)
        return self._aliased(exp.Subquery(this=inner), [], node, ())

    def _routine(self, found: list[ScalarRoutine], call: exp.Anonymous, node: exp.Expr) -> exp.Expr:
        routine, given = routines.match(self.expressions, found, call)
        if routine.returns_table is None:
            raise errors.compilation("002143", "42601", f"{routine.name} is not a table function")
        bound = routines.inline_table(self.queries, routine, given, self.scope)
        declared = [
            (column.name, produced.key, column.type)
            for column, produced in zip(routine.returns_table, bound.columns, strict=True)
        ]
        tree = self._aliased(exp.Subquery(this=bound.tree), declared, node, ())
        alias = tree.args.pop("alias")
        return exp.Lateral(this=tree, alias=alias)

    # -- joins ----------------------------------------------------------------------------------------------------

    def _join(self, join: exp.Join) -> exp.Join:
        method = str(join.args.get("method") or "").upper()
        if method == "NATURAL":
            only(join, "this", "side", "kind", "method")
        before = list(self.scope.sources)
        first, nested = _ungrouped(join.this)
        tree = self._grouped(first, nested) if nested else self._item(first)
        added = self.scope.sources[len(before) :]
        side = str(join.args.get("side") or "").upper()
        kind = str(join.args.get("kind") or "").upper()
        bound = exp.Join(this=tree, side=side or None, kind=kind if kind not in ("", "INNER", "OUTER") else None)
        using = join.args.get("using") or []
        names = [fold_identifier(part) for part in using]
        if method == "NATURAL":
            names = _shared_names(before, added)
        if names:
            bound.set("on", self._using(names, before, added, side))
        elif join.args.get("on") is not None:
            bound.set("on", self.expressions.boolean(join.args["on"]).tree)
        elif side and not isinstance(tree, exp.Lateral):
            bound.set("on", exp.true())
        if not side and bound.args.get("on") is None:
            # FROM a, b is an inner join whose condition stands in WHERE. Spark has rules for inner joins that it does
            # not apply to cross joins, such as filtering the larger side by the smaller one's keys while running.
            bound.set("kind", "CROSS" if kind == "CROSS" or isinstance(tree, exp.Lateral) else "INNER")
        return bound

    def _using(self, names: list[str], before: list[Source], added: list[Source], side: str) -> exp.Expr:
        conditions: list[exp.Expr] = []
        for name in names:
            left = self._one_side(name, before)
            right = self._one_side(name, added)
            conditions.append(self.expressions.compare(exp.EQ, left, right).tree)
            merged = {"RIGHT": right, "FULL": None}.get(side, left)
            if merged is None:
                values, type_ = self.expressions.same_type([left, right])
                merged = Bound(spark("coalesce(_0, _1)", values[0].tree, values[1].tree), type_)
            self.scope.merged[name] = merged
            self._hide(name, added if side != "RIGHT" else before)
        return exp.and_(*conditions)

    def _one_side(self, name: str, sources: list[Source]) -> Bound:
        if name in self.scope.merged and any(
            name in s.hidden or any(c.name == name for c in s.columns) for s in sources
        ):
            first = self.scope.sources[0]
            if sources and sources[0] == first:
                return self.scope.merged[name]
        found = [c for s in sources for c in s.columns if c.name == name and name not in s.hidden]
        if not found:
            raise errors.invalid_identifier(name, 1, 0)
        return Bound(found[0].tree.copy(), found[0].type)

    def _hide(self, name: str, sources: list[Source]) -> None:
        for index, source in enumerate(self.scope.sources):
            if any(source is hidden or source == hidden for hidden in sources):
                self.scope.sources[index] = replace(source, hidden=source.hidden | {name})


def _ungrouped(node: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """The first item of a FROM clause or of a join in parentheses, and the joins behind it."""
    joins: list[exp.Join] = list(node.args.get("joins") or [])
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery | exp.Values | exp.Lateral):
        only(node, "this", "joins")
        first, inner = _ungrouped(node.this)
        return first, [*inner, *joins]
    return node, joins


def _with_variants(reference: exp.Expr, columns: list[tuple[str, str, DataType]]) -> exp.Expr:
    """The relation with its JSON texts parsed."""
    projections = []
    for _, key, type_ in columns:
        value = exp.column(identifier(key))
        parsed = from_result_text(value) if type_.is_semi_structured else value
        projections.append(exp.alias_(parsed, identifier(key)))
    return exp.Subquery(this=exp.select(*projections).from_(reference))


def _mentions(node: exp.Expr, name: str) -> bool:
    """Whether the statement names such a column anywhere."""
    return any(column.name.upper() == name for column in node.root().find_all(exp.Column))


def _flatten_columns(node: exp.Expr, *, recursive: bool) -> list[str]:
    """What the flattened rows must carry; THIS makes them several times dearer."""
    wanted = [name for name, _ in FLATTEN_COLUMNS if name != "THIS"]
    has_star = any(not isinstance(star.parent, exp.Anonymous) for star in node.root().find_all(exp.Star))
    return [*wanted, "THIS"] if recursive and (has_star or _mentions(node, "THIS")) else wanted


def _only_ctes(scope: Scope) -> Scope:
    """What a derived table may see of the scope around it: common table expressions, and outer scopes."""
    return Scope(parent=scope.parent, ctes=scope.ctes, arguments=scope.arguments)


def _shared_names(before: list[Source], added: list[Source]) -> list[str]:
    right = {column.name for source in added for column in source.columns}
    return list(dict.fromkeys(c.name for s in before for c in s.columns if c.name in right))


def _change_span(node: exp.Expr) -> ChangeSpan | None:
    changes = node.args.get("changes")
    if changes is None:
        return None
    information = changes.args["information"].name.upper()
    start = _time_travel(changes.args.get("at_before"))
    if information not in ("DEFAULT", "APPEND_ONLY"):
        raise errors.invalid_value(information, "INFORMATION")
    if start is None:
        raise errors.compilation("001003", "42000", "CHANGES needs AT or BEFORE behind it.")
    return ChangeSpan(information == "APPEND_ONLY", start, _time_travel(changes.args.get("end")))


def _time_travel(when: exp.Expr | None) -> TimeTravel | None:
    if when is None:
        return None
    return TimeTravel(
        before=str(when.this).upper() == "BEFORE",
        kind=str(when.args["kind"]).upper(),
        expression=when.expression,
    )


def _named_arguments(call: exp.Anonymous) -> dict[str, exp.Expr]:
    arguments: dict[str, exp.Expr] = {}
    for index, argument in enumerate(call.expressions):
        if isinstance(argument, exp.Kwarg | exp.PropertyEQ):
            arguments[argument.this.name.upper()] = argument.expression
        else:
            arguments[str(index)] = argument
    return arguments


def _by_name(function: str, arguments: dict[str, exp.Expr], names: tuple[str, ...]) -> dict[str, exp.Expr]:
    """The arguments of a table function by its names for them; an error for one that it does not have."""
    found: dict[str, exp.Expr] = {}
    for key, value in arguments.items():
        name = names[int(key)] if key.isdigit() and int(key) < len(names) else key
        if name not in names:
            raise errors.compilation("001044", "42P13", f"{function} has no argument {name}.")
        found[name] = value
    return found
