"""A MERGE as delta-rs takes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties

from snowmelt.core.errors import internal
from snowmelt.storage.commits import MergeBranch, MergeSpec


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
    spec = with_plain_delete(spec)
    merger = table.merge(
        source,
        spec.predicate,
        source_alias=spec.source_alias,
        target_alias=spec.target_alias,
        commit_properties=commit,
        post_commithook_properties=hooks,
    )
    for clause in spec.clauses:
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


def with_plain_delete(spec: MergeSpec) -> MergeSpec:
    """A MERGE that only deletes, with its conditions moved into the join.

    Several source rows that all delete one target row are deterministic in Snowflake; delta-rs accepts them
    only for a single clause without a condition. A MERGE that deletes conditionally and also inserts keeps
    its form, since there the join decides what is inserted: delta-rs then refuses such source rows.
    """
    if not all(clause.when == "matched" and clause.action == "delete" for clause in spec.clauses):
        return spec
    conditions = [clause.condition for clause in spec.clauses]
    predicate = spec.predicate
    if not any(condition is None for condition in conditions):
        predicate = f"({predicate}) AND ({' OR '.join(f'({condition})' for condition in conditions)})"
    return replace(spec, predicate=predicate, clauses=(MergeBranch("matched", "delete"),))


def quoted(column: str) -> str:
    """A column name as DataFusion reads it with its case kept."""
    return '"' + column.replace('"', '""') + '"'
