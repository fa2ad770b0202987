"""From a parsed UPDATE, DELETE or MERGE to a plan: names resolved, values cast and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import quote
from snowmelt.runtime.constants import UNKNOWN
from snowmelt.runtime.literal_rows import literal_value
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.rewriting.plan import (
    NUMBER,
    SOURCE,
    TARGET,
    Act,
    ChangePlan,
    PlannedSource,
    RewriteClause,
    SourceColumnRef,
    all_of,
    bare,
    column,
    named,
)
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql import constraints, policies, quiet
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Bound, FromItem, Scope, SourceColumn
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.sources import SourceBinder
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.dml import (
    Assignment,
    DeleteStatement,
    MatchedDelete,
    MatchedUpdate,
    MergeStatement,
    NotMatchedInsert,
    UpdateStatement,
)
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, Column, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_FROM = "SELECT 1 FROM "


def plan_update(run: Run, environment: Environment, table: CatalogObject, statement: UpdateStatement) -> ChangePlan:
    binder = _ChangeBinder(run, environment, table, statement.alias)
    source = binder.source(statement.from_) if statement.from_ is not None else None
    return binder.guarded(ChangePlan(
        operation="UPDATE",
        table=table,
        source=source,
        conjuncts=binder.conjuncts(statement.where),
        clauses=(binder.update(None, statement.assignments),),
        picks=not run.session.parameter("ERROR_ON_NONDETERMINISTIC_UPDATE"),
    ))  # fmt: skip


def plan_delete(run: Run, environment: Environment, table: CatalogObject, statement: DeleteStatement) -> ChangePlan:
    binder = _ChangeBinder(run, environment, table, statement.alias)
    source = binder.source(statement.using) if statement.using is not None else None
    return binder.guarded(ChangePlan(
        operation="DELETE",
        table=table,
        source=source,
        conjuncts=binder.conjuncts(statement.where),
        clauses=(RewriteClause(Act.DELETE),),
    ))  # fmt: skip


def plan_merge(run: Run, environment: Environment, table: CatalogObject, statement: MergeStatement) -> ChangePlan:
    binder = _ChangeBinder(run, environment, table, statement.alias)
    source = binder.source(statement.source)
    if source.items != 1:
        raise errors.unsupported("MERGE with several tables in USING", hint="Join them in a subquery.")
    conjuncts = binder.conjuncts(statement.on)
    clauses: list[RewriteClause] = []
    for clause in statement.clauses:
        if isinstance(clause, MatchedUpdate):
            if clause.all_by_name:
                clauses.append(binder.update_by_name(clause.condition))
            else:
                clauses.append(binder.update(clause.condition, clause.assignments))
        elif isinstance(clause, MatchedDelete):
            clauses.append(RewriteClause(Act.DELETE, binder.condition(clause.condition)))
        elif isinstance(clause, NotMatchedInsert):
            clauses.append(binder.insert(clause))
    _refuse_unreachable(clauses)
    return binder.guarded(ChangePlan(
        operation="MERGE",
        table=table,
        source=source,
        conjuncts=conjuncts,
        clauses=tuple(clauses),
        picks=not run.session.parameter("ERROR_ON_NONDETERMINISTIC_MERGE"),
        numbered=tuple(sorted(binder.numbered)),
    ))  # fmt: skip


def _refuse_unreachable(clauses: Sequence[RewriteClause]) -> None:
    """A clause without a condition must be the last of its kind: nothing is left for those behind it."""
    closed: set[bool] = set()
    for number, clause in enumerate(clauses, 1):
        kind = clause.act is Act.INSERT
        if kind in closed:
            words = "NOT MATCHED" if kind else "MATCHED"
            raise errors.compilation(
                "001038", "42601", f"Unreachable clause {number} of MERGE: a WHEN {words} without AND stands before it."
            )
        if clause.condition is None:
            closed.add(kind)


class _ChangeBinder:
    """Binds the pieces of one statement. The source comes first: it decides what the other pieces can see."""

    def __init__(self, run: Run, environment: Environment, table: CatalogObject, alias: str | None) -> None:
        assert isinstance(table.definition, TableDefinition)
        self.definition: TableDefinition = table.definition
        self.queries = QueryBinder(environment)
        self.environment = environment
        self.writer = RowWriter(run, table)
        self.numbered: set[str] = set()
        self.stored = FromItem(
            alias=alias or table.name.name,
            columns=tuple(SourceColumn(c.name, c.type, column(TARGET, c.name)) for c in self.definition.columns),
            qualified=() if alias is not None else (table.name.database, table.name.schema, table.name.name),
        )
        """The columns of the target as they are stored."""
        self.visible: exp.Expr | None = None
        """The rows of the target that policies show; None for all."""
        self.target = self._shown(table)
        """The columns as the statement sees them."""
        self._sources: list[FromItem] = []
        self._merged: dict[str, Bound] = {}

    # -- what can be seen -----------------------------------------------------------------------------------------

    def _shown(self, table: CatalogObject) -> FromItem:
        relations = self.environment.relations
        assert isinstance(relations, StatementCatalog)
        protection = relations.protection_of(table)
        if protection is None:
            return self.stored
        # How many rows a statement changed says whether there are such rows.
        if constraints.constraints(self._in(Scope()), protection):
            raise errors.unsupported(
                f"{table.name} as the target of a role that its projection or aggregation policy constrains",
                hint="INSERT works. A role that the policies exempt can change and delete rows.",
            )
        bound = policies.bind_protection(self._in(Scope()), self.stored, protection)
        self.visible = bound.condition
        columns = [replace(item, tree=bound.values.get(item.name, item.tree)) for item in self.stored.columns]
        return replace(self.stored, columns=tuple(columns))

    def source(self, text: SqlText) -> PlannedSource:
        """Binds FROM or USING as a query of its own, whose columns the rest of the statement sees."""
        select = _parse(text, _FROM)
        assert isinstance(select, exp.Select)
        scope = Scope()
        tree = exp.Select()
        SourceBinder(self.queries, scope, self._in(scope)).bind(select, tree)
        columns: list[SourceColumnRef] = []

        def taken(value: exp.Expr, type_: types.DataType) -> exp.Expr:
            # A bare NULL has no type that could travel; as text it still fits everywhere.
            bound = Bound(value, type_)
            if type_.kind is types.Kind.NULL:
                bound = self._in(scope).cast(bound, types.VARCHAR)
            key = f"c{len(columns)}"
            columns.append(SourceColumnRef(key, bound.type))
            tree.append("expressions", named(bound.tree.copy(), key))
            return column(SOURCE, key)

        for found in scope.sources:
            seen = tuple(replace(item, tree=taken(item.tree, item.type)) for item in found.columns)
            self._sources.append(replace(found, columns=seen))
        for name, value in scope.merged.items():
            self._merged[name] = replace(value, tree=taken(value.tree, value.type))
        if not columns:
            tree.append("expressions", named(exp.true(), "c0"))
        constraints.refuse(tree, "FROM and USING")
        return PlannedSource(tree, tuple(columns), len(scope.sources))

    def _in(self, scope: Scope) -> ExpressionBinder:
        return ExpressionBinder(self.environment, scope, self.queries)

    @property
    def _both(self) -> ExpressionBinder:
        return self._in(Scope(sources=[self.target, *self._sources], merged=self._merged))

    @property
    def _source_only(self) -> ExpressionBinder:
        """What INSERT sees: there is no target row yet."""
        return self._in(Scope(sources=self._sources, merged=self._merged))

    def guarded(self, plan: ChangePlan) -> ChangePlan:
        """The plan for the rows that policies show: others match nothing, and no condition is computed on them."""
        visible = self.visible
        if visible is None:
            return plan
        conditions = [*plan.conjuncts, *(one.condition for one in plan.clauses if one.condition is not None)]
        if all(quiet.is_quiet_condition(tree) for tree in conditions):
            return replace(plan, conjuncts=(visible, *plan.conjuncts))
        clauses = [
            replace(clause, condition=_only(visible, clause.condition))
            if clause.condition is not None and clause.act is not Act.INSERT
            else clause
            for clause in plan.clauses
        ]
        match = _only(visible, all_of(plan.conjuncts)) if plan.conjuncts else visible
        return replace(plan, conjuncts=(match,), clauses=tuple(clauses))

    # -- pieces ---------------------------------------------------------------------------------------------------

    def conjuncts(self, text: SqlText | None) -> tuple[exp.Expr, ...]:
        """The parts of a condition that AND joins, with what Snowflake lets stand for a BOOLEAN cast."""
        tree = self.condition(text)
        if tree is None:
            return ()
        found: list[exp.Expr] = []
        pending = [tree]
        while pending:
            node = bare(pending.pop())
            if isinstance(node, exp.And):
                pending += [node.expression, node.this]
            else:
                found.append(node)
        return tuple(found)

    def condition(self, text: SqlText | None, *, source_only: bool = False) -> exp.Expr | None:
        if text is None:
            return None
        return self._checked((self._source_only if source_only else self._both).boolean(_parse(text))).tree

    def update(self, condition: SqlText | None, assignments: Sequence[Assignment]) -> RewriteClause:
        given: dict[str, Bound] = {}
        for reference, text in assignments:
            target = self._target_column(reference)
            if target.name in given:
                raise errors.duplicate_column(target.name)
            given[target.name] = self._value(target, text, self._both, inserting=False)
        return replace(self._update(condition, given), constants=self._constants(assignments))

    def _constants(self, assignments: Sequence[Assignment]) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        for reference, text in assignments:
            target = self._target_column(reference)
            value = literal_value(self.writer.run, _parse(text), target.type)
            if value is UNKNOWN or (value is None and not target.nullable):
                return None
            found[target.name] = value
        return None if self.definition.checks else found

    def update_by_name(self, condition: SqlText | None) -> RewriteClause:
        return self._update(condition, self._by_name())

    def _update(self, condition: SqlText | None, given: Mapping[str, Bound]) -> RewriteClause:
        old = {item.name: Bound(item.tree, item.type) for item in self.stored.columns}
        values = {c.name: self._stored(c, given[c.name]) for c in self.definition.columns if c.name in given}
        check = self.writer.check(self._both, {**old, **given})
        return RewriteClause(Act.UPDATE, self.condition(condition), values, check=check)

    def insert(self, clause: NotMatchedInsert) -> RewriteClause:
        columns = self.definition.columns
        given = self._by_name() if clause.all_by_name else self._listed(clause)
        values = {c.name: given[c.name] if c.name in given else self._default(c, inserting=True) for c in columns}
        return RewriteClause(
            Act.INSERT,
            self.condition(clause.condition, source_only=True),
            {c.name: self._stored(c, values[c.name]) for c in columns},
            check=self.writer.check(self._source_only, values),
        )

    def _listed(self, clause: NotMatchedInsert) -> dict[str, Bound]:
        if clause.columns is None:
            targets = list(self.definition.columns)
        else:
            targets = [self._target_column(reference) for reference in clause.columns]
        if len(targets) != len(clause.values):
            raise errors.value_list_mismatch(len(targets), len(clause.values))
        given: dict[str, Bound] = {}
        for target, text in zip(targets, clause.values, strict=True):
            if target.name in given:
                raise errors.duplicate_column(target.name)
            given[target.name] = self._value(target, text, self._source_only, inserting=True)
        return given

    def _by_name(self) -> dict[str, Bound]:
        """ALL BY NAME: both sides have the same columns, in whatever order."""
        (source,) = self._sources
        known = {target.name for target in self.definition.columns}
        offered = {item.name: Bound(item.tree.copy(), item.type) for item in source.columns}
        missing = sorted(known - offered.keys()) or sorted(offered.keys() - known)
        if missing:
            raise errors.compilation(
                "000904", "42000", f"invalid identifier '{missing[0]}'",
                hint="ALL BY NAME needs a source with exactly the columns of the target.",
            )  # fmt: skip
        return offered

    def _target_column(self, reference: NameRef) -> Column:
        *qualifier, name = reference.parts
        known = {target.name: target for target in self.definition.columns}
        if name not in known or (qualifier and not self.target.answers_to(tuple(qualifier))):
            raise errors.invalid_identifier(".".join(map(quote, reference.parts)), reference.line, reference.position)
        return known[name]

    # -- values ---------------------------------------------------------------------------------------------------

    def _value(self, target: Column, text: SqlText, binder: ExpressionBinder, *, inserting: bool) -> Bound:
        if text.text.strip().upper() == "DEFAULT":
            return self._default(target, inserting=inserting)
        return self._checked(binder.bind(_parse(text)))

    def _checked(self, value: Bound) -> Bound:
        """Queries inside of it are looked at in no other place."""
        if self.queries.guards.used:
            constraints.refuse(value.tree, "a subquery of UPDATE, DELETE or MERGE")
        return value

    def _default(self, target: Column, *, inserting: bool) -> Bound:
        if target.identity is not None:
            if not inserting:
                raise errors.unsupported(f"DEFAULT for the AUTOINCREMENT column '{target.name}' in UPDATE")
            self.numbered.add(target.name)
            return Bound(column(SOURCE, NUMBER + target.name), types.INTEGER)
        if target.default is not None:
            return self._in(Scope()).bind(parse_snowflake(target.default))
        return Bound(exp.Null(), types.NULL)

    def _stored(self, target: Column, value: Bound) -> exp.Expr:
        if isinstance(value.tree, exp.Column) and value.tree.name.startswith(NUMBER):
            # The number may come only after the query, which must not take its absence for a NULL.
            return self._both.cast(value, target.type).tree
        return self.writer.stored_value(self._both, target, value)


def _only(visible: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """The condition, computed only where it may be; a CASE is computed in its order."""
    return exp.Case(ifs=[exp.If(this=visible.copy(), true=condition.copy())], default=exp.false())


def _parse(text: SqlText, prefix: str = "") -> exp.Expr:
    """The tree of a piece of the statement, behind a prefix, with every position in it as in the statement."""
    if text.line > 1:
        padded = f"{prefix}{chr(10) * (text.line - 1)}{' ' * text.column}{text.text}"
    else:
        padded = f"{' ' * (text.column - len(prefix))}{prefix}{text.text}"
    return parse_snowflake(padded)
