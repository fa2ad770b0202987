"""A MERGE as delta-rs takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties

from snowmelt.core.errors import internal
from snowmelt.storage.commits import MergeClause, MergeSpec


def run_merge(
    table: DeltaTable,
    source: pa.Table,
    spec: MergeSpec,
    commit: CommitProperties,
    hooks: PostCommitHookProperties,
) -> dict[str, Any]:
    """Carry out the MERGE and return delta-rs' metrics.

    delta-rs itself refuses a target row that several source rows would update, or update and delete.
    """
    merger = table.merge(
        source,
        spec.predicate,
        source_alias=spec.source_alias,
        target_alias=spec.target_alias,
        commit_properties=commit,
        post_commithook_properties=hooks,
    )
    for clause in joined_deletes(spec.clauses):
        assignments = {quoted(column): expression for column, expression in clause.assignments.items()}
        match clause.when, clause.action:
            case "matched", "update":
                merger = merger.when_matched_update(assignments, clause.condition)
            case "matched", "delete":
                merger = merger.when_matched_delete(clause.condition)
            case "not_matched", "insert":
                merger = merger.when_not_matched_insert(assignments, clause.condition)
            case "not_matched_by_source", "update":
                merger = merger.when_not_matched_by_source_update(assignments, clause.condition)
            case "not_matched_by_source", "delete":
                merger = merger.when_not_matched_by_source_delete(clause.condition)
            case _:
                raise internal(f"a MERGE clause that no SQL can state: {clause}")
    return merger.execute()


def joined_deletes(clauses: Sequence[MergeClause]) -> Iterator[MergeClause]:
    """Adjacent WHEN MATCHED … DELETE clauses as one.

    Two source rows that both delete a target row are deterministic in Snowflake, whichever clauses they meet;
    delta-rs accepts that only within a single clause.
    """
    pending: MergeClause | None = None
    for clause in clauses:
        is_delete = clause.when == "matched" and clause.action == "delete"
        if pending is not None and is_delete:
            condition = (
                f"({pending.condition}) OR ({clause.condition})"
                if pending.condition is not None and clause.condition is not None
                else None
            )
            pending = MergeClause("matched", "delete", condition)
            continue
        if pending is not None and clause.when == "matched":
            yield pending
            pending = None
        if is_delete:
            pending = clause
        else:
            yield clause
    if pending is not None:
        yield pending


def quoted(column: str) -> str:
    """A column name as DataFusion reads it with its case kept."""
    return '"' + column.replace('"', '""') + '"'
