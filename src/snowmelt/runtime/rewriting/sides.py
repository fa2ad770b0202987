"""The target and the source of a change as Spark reads them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.engine.model import TableFiles
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.rewriting import queries
from snowmelt.runtime.rewriting.plan import ChangePlan
from snowmelt.runtime.sequences import numbered
from snowmelt.sql.dialect import identifier
from snowmelt.storage.snapshot import FileList

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def spark_sides(run: Run, plan: ChangePlan, pending: PendingTable) -> queries.Sides:
    files = run.account.store.files(plan.definition.location, pending.version)
    return queries.Sides(target=scanned_target(run, plan, files), source=spark_source(run, plan))


def scanned_target(run: Run, plan: ChangePlan, files: FileList) -> exp.Expr:
    """The rows of the target with their positions."""
    definition = plan.definition
    reference = f"t_{plan.table.id}_{files.version}_rows"
    plain = files.plain and not definition.spark_only
    run.tables[reference] = TableFiles(
        reference=reference,
        columns=definition.columns,
        files=files.uris,
        delta_path=None if plain else run.account.store.root.uri_of(definition.location),
        version=files.version,
        positions=True,
        bytes=files.total_bytes,
    )
    run.input_bytes += files.total_bytes
    return exp.Table(this=identifier(reference))


def spark_source(run: Run, plan: ChangePlan) -> exp.Expr | None:
    """The source, with a number for each row, and with those that AUTOINCREMENT columns get."""
    if plan.source is None:
        return None
    tree = numbered(run, plan.source.tree)
    if not plan.numbered:
        return queries.source_subquery(tree, plan, {})
    count = exp.select(exp.Count(this=exp.Star())).from_(exp.Subquery(this=tree, alias="__c"))
    rows = int(one_row(run, count)[0])
    numbers = {name: _numbers(run, plan, name, rows) for name in plan.numbered}
    return queries.source_subquery(tree, plan, numbers)


def _numbers(run: Run, plan: ChangePlan, name: str, count: int) -> tuple[int, int]:
    """The first of the numbers for inserted rows, and the step between them."""
    identity = next(column.identity for column in plan.definition.columns if column.name == name)
    assert identity is not None
    with run.state.begin() as state:
        first = state.counters.take(plan.table.id, name, max(count, 1), identity.start, identity.step)
    return first, identity.step


def one_row(run: Run, tree: exp.Select) -> list[Any]:
    """The one row of a query."""
    data = run.account.engine.to_arrow(tree, list(run.tables.values()), tag=run.tag, pool=run.pool, inputs=run.inputs)
    return [column[0].as_py() for column in data.columns]
