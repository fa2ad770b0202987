"""One commit's actions, read as what happened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from snowmelt.storage.commits import AppTransaction, CommitInfo, CommitResult, CommitTag
from snowmelt.storage.log import Action


def commit_info(version: int, actions: Sequence[Action]) -> CommitInfo:
    """A writer may leave out commitInfo altogether: then the operation is unknown and the tag is None."""
    info: Mapping[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    file_actions = [found for action in actions if (found := action.get("add") or action.get("remove"))]
    return CommitInfo(
        version=version,
        timestamp=int(info.get("inCommitTimestamp") or info.get("timestamp") or 0),
        operation=str(info.get("operation", "UNKNOWN")),
        metrics={key: _number(value) for key, value in (info.get("operationMetrics") or {}).items()},
        tag=CommitTag.parse(info),
        app_transactions=tuple(
            AppTransaction(action["txn"]["appId"], action["txn"]["version"]) for action in actions if "txn" in action
        ),
        data_change=any(described.get("dataChange", True) for described in file_actions),
        schema_change=any("metaData" in action for action in actions),
    )


def commit_result(version: int, actions: Sequence[Action], rows: Mapping[str, int]) -> CommitResult:
    """`rows` has the counts under `inserted`, `updated` and `deleted`; one that is missing is 0."""
    added = [action["add"] for action in actions if "add" in action]
    removed = [action["remove"] for action in actions if "remove" in action]
    grown = sum(add["size"] for add in added) - sum(remove.get("size") or 0 for remove in removed)
    return CommitResult(
        version,
        rows_inserted=rows.get("inserted", 0),
        rows_updated=rows.get("updated", 0),
        rows_deleted=rows.get("deleted", 0),
        files_added=len(added),
        files_removed=len(removed),
        bytes_delta=grown,
    )


def _number(value: Any) -> Any:
    """Spark writes every metric as text, delta-rs as a number or as JSON in text."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
