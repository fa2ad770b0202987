"""Plans in the names of tables, for people: EXPLAIN before a refresh, and what each stage took after one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from snowmelt.ivm.plan import RefreshPlan
from snowmelt.runtime.incremental.stages import ROWS, StageRunner
from snowmelt.sql.dialect import identifier, to_spark_sql
from snowmelt.state.model import CatalogObject

_REFERENCE = re.compile(r"\bt_([0-9A-Za-z-]+?)_\d+(__\w+)?\b")
"""A version of a table, with the side of it that is meant."""
Sources = Mapping[str, CatalogObject]
"""By id, the tables that a plan reads."""


def readable_text(sources: Sources, text: str) -> str:
    """What a plan says of a stage, with the names of tables in place of those of their versions."""

    def named(found: re.Match[str]) -> str:
        source = sources.get(found[1])
        return found[0] if source is None else f"{source.name}{found[2] or ''}"

    return _REFERENCE.sub(named, text)


def readable_query(sources: Sources, query: exp.Expr) -> str:
    """Spark SQL, likewise."""
    tree = query.copy()
    for node in tree.find_all(exp.Table):
        name = readable_text(sources, node.name)
        if name != node.name:
            node.set("this", identifier(name))
    return to_spark_sql(tree)


def costs_to_json(
    sources: Sources, plan: RefreshPlan, rows: exp.Select | None, runner: StageRunner
) -> list[dict[str, Any]]:
    """The stages of a plan that ran, in its order: what each is, reads and took. One without `ms` ran inside of those
    that read it."""
    spent: dict[str, dict[str, int]] = {}
    for cost in runner.costs:
        spent[cost.name] = {"ms": round(cost.seconds * 1000), "rows": cost.rows}
    stages = [(stage.name, stage.purpose, stage.query) for stage in plan.stages]
    if rows is not None:
        stages.append((ROWS, ROWS, rows))
    return [
        {
            "stage": name,
            "what": readable_text(sources, purpose),
            "reads": sorted(readable_text(sources, read) for read in runner.names_in(query, name)),
            **spent.get(name, {}),
        }
        for name, purpose, query in stages
    ]
