"""What a commit says about itself: who made it, what it did, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_TAG = "snowmelt"


@dataclass(frozen=True, slots=True)
class CommitTag:
    """The transaction, and the statement in it, that made a commit.

    It is JSON text in the commit's `userMetadata`, the one field that both delta-rs and Spark can set.
    """

    transaction_id: str
    query_id: str | None = None
    offsets: Mapping[str, str] | None = field(default=None, compare=False)
    """The offset tokens of the channels whose rows the commit holds, for who reads the log. Nobody here does."""

    def user_metadata(self) -> str:
        """The value of the option `userMetadata`, for Spark writers."""
        info: dict[str, Any] = {"transaction": self.transaction_id, "query": self.query_id}
        return json.dumps({_TAG: info | {"offsets": dict(self.offsets)} if self.offsets else info})

    @classmethod
    def parse(cls, commit_info: Mapping[str, Any]) -> CommitTag | None:
        """The tag in a commitInfo action; None when somebody else made the commit."""
        text = commit_info.get("userMetadata")
        if not isinstance(text, str) or _TAG not in text:
            return None
        try:
            tag = json.loads(text)[_TAG]
            return cls(str(tag["transaction"]), tag.get("query"))
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class AppTransaction:
    """A Delta `txn` action: `version` of the application `app_id` is in the table from this commit on."""

    app_id: str
    version: int


@dataclass(frozen=True, slots=True)
class CommitInfo:
    version: int
    timestamp: int
    """Milliseconds since 1970, as the writer's clock had it."""
    operation: str
    metrics: Mapping[str, Any]
    tag: CommitTag | None
    app_transactions: tuple[AppTransaction, ...] = ()
    data_change: bool = True
    """False when the commit only moved rows between files (OPTIMIZE) or changed nothing but metadata."""
    schema_change: bool = False


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What one write did. `version` is the version before it when nothing matched and so nothing was
    committed."""

    version: int
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files_added: int = 0
    files_removed: int = 0
    bytes_delta: int = 0
    """Growth of the live data files; negative when they shrank."""
    committed: bool = True


@dataclass(frozen=True, slots=True)
class MergeBranch:
    """One WHEN of a MERGE. Expressions are DataFusion SQL over the two aliases of the `MergeSpec`."""

    when: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    condition: str | None = None
    assignments: Mapping[str, str] = field(default_factory=dict)
    """Target column, as stored, to expression; for update and insert."""


@dataclass(frozen=True, slots=True)
class MergeSpec:
    predicate: str
    clauses: tuple[MergeBranch, ...]
    source_alias: str = "s"
    target_alias: str = "t"
