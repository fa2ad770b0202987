"""Carrying a change out with Spark's own commands: when rows are many, or the table is not ours to rewrite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.rewriting import commands, queries
from snowmelt.runtime.rewriting.local import ChangedCounts
from snowmelt.runtime.rewriting.plan import ChangePlan, has_subquery
from snowmelt.runtime.rewriting.sides import one_row, spark_sides, spark_source
from snowmelt.runtime.sequences import numbered
from snowmelt.sql.dialect import identifier, to_spark_sql
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_NONDETERMINISTIC = errors.nondeterministic_merge().code


@dataclass(frozen=True, slots=True)
class SparkChange:
    run: Run
    plan: ChangePlan
    pending: PendingTable

    @property
    def path(self) -> str:
        return self.run.account.store.root.uri_of(self.plan.definition.location)

    def apply(self) -> ChangedCounts:
        if self._direct:
            try:
                return self._execute(commands.direct_command(self.plan, self.path, spark_source(self.run, self.plan)))
            except SnowmeltError as error:
                # Delta refuses some matches that are no ambiguity in Snowflake: decide them one by one.
                if error.code != _NONDETERMINISTIC:
                    raise
        return self._run_staged()

    @property
    def _direct(self) -> bool:
        """Whether Delta's command for it can be used: it takes no subqueries in conditions, and no NEXTVAL."""
        plan = self.plan
        if self.run.sequences:
            return False
        conditions = [*plan.conjuncts, *(clause.condition for clause in plan.clauses if clause.condition is not None)]
        if plan.source is None:
            conditions += [tree for clause in plan.clauses for tree in clause.trees()]
        return not any(has_subquery(tree) for tree in conditions)

    # -- rows decided first, applied then -------------------------------------------------------------------------

    def _run_staged(self) -> ChangedCounts:
        """Works the touched rows out into a table of their own, looks for ambiguities, and merges it in."""
        run, plan = self.run, self.plan
        sides = spark_sides(run, plan, self.pending)
        old = [column.name for column in plan.definition.columns]
        tree = numbered(run, queries.touched(plan, sides, range(len(plan.clauses)), old=old))
        # Named and tagged like a table: what a crash leaves, the next start removes, as any table never published.
        name = plan.table.name
        location = run.account.store.root.new_location(name.database, name.schema, f"{name.name}_changes")
        path = run.account.store.root.uri_of(location)
        tag = run.transaction.tag(run.query_id)
        try:
            run.account.engine.append(
                to_spark_sql(tree), list(run.tables.values()), path, user_metadata=tag.user_metadata(), tag=run.tag,
                pool=run.pool, inputs=run.inputs,
            )  # fmt: skip
            reached("changes-staged")
            staged = exp.Table(this=identifier(path), db=identifier("delta"))
            several, conflicting = one_row(run, commands.several_changes(plan, staged))
            if conflicting and not plan.picks:
                raise errors.nondeterministic_merge()
            outcome = self._execute(commands.merge_staged(plan, self.path, staged))
            return ChangedCounts(outcome.inserted, outcome.updated, outcome.deleted, int(several))
        finally:
            run.account.store.remove(location)

    # -- running --------------------------------------------------------------------------------------------------

    def _execute(self, command: exp.Expr) -> ChangedCounts:
        run, plan = self.run, self.plan
        run.check_cancelled()
        store, location = run.account.store, plan.definition.location
        tag = run.transaction.tag(run.query_id)
        reached("before-commit")
        metrics = run.account.engine.execute(
            to_spark_sql(command), list(run.tables.values()), user_metadata=tag.user_metadata(), tag=run.tag,
            pool=run.pool, inputs=run.inputs,
        )  # fmt: skip
        reached("after-commit")
        outcome = _outcome(plan, metrics.to_pylist()[0])
        latest = store.latest_version(location)
        if latest != self.pending.version:
            result = CommitResult(
                version=latest,
                rows_inserted=outcome.inserted,
                rows_updated=outcome.updated,
                rows_deleted=outcome.deleted,
                bytes_delta=store.files(location, latest).total_bytes - self.pending.bytes,
            )
            run.account.transactions.wrote(self.pending, result, plan.operation, run.query_id)
        return outcome


def _outcome(plan: ChangePlan, metrics: dict[str, Any]) -> ChangedCounts:
    if "num_updated_rows" in metrics:
        return ChangedCounts(
            int(metrics["num_inserted_rows"]), int(metrics["num_updated_rows"]), int(metrics["num_deleted_rows"])
        )
    changed = int(metrics["num_affected_rows"])
    return ChangedCounts(deleted=changed) if plan.operation == "DELETE" else ChangedCounts(updated=changed)
