"""Errors of streams."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError, StatementConflictError, compilation


class StreamMovedError(StatementConflictError):
    """Somebody else consumed the stream after the statement looked at it."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"Another transaction consumed the stream '{stream}' at the same time.")


def stream_consumed(stream: str) -> SnowmeltError:
    """A transaction reads the same changes from its beginning to its end, and these are somebody else's by now."""
    return SnowmeltError(
        "000625",
        "40001",
        f"Another transaction consumed the stream '{stream}' after this one read it.",
        hint="Roll back and run the transaction again.",
        transient=True,
    )


def stream_stale(stream: str) -> SnowmeltError:
    return compilation(
        "091931", "2F003",
        f"Stream '{stream}' has become stale: the changes since its offset are no longer kept.",
        hint="Create the stream again with CREATE OR REPLACE STREAM.",
    )  # fmt: skip


def stream_base_dropped(kind: str, name: str) -> SnowmeltError:
    return compilation(
        "091932", "2F003", f"Base {kind} {name} dropped, cannot read from stream on it.",
        hint="Bring it back with UNDROP, or create the stream again.",
    )  # fmt: skip


def changes_missing(table: str) -> SnowmeltError:
    """Another tool removed files that hold them."""
    return compilation(
        "091931", "2F003", f"The changes of table '{table}' are no longer kept: streams on it have become stale.",
        hint="Create the stream again with CREATE OR REPLACE STREAM.",
    )  # fmt: skip


def no_change_tracking_on(feature: str, *, view: str | None = None) -> SnowmeltError:
    inside = f" (inside view '{view}')." if view is not None else "."
    return compilation("002707", "0A000", f"Change tracking is not supported on queries with {feature}{inside}")
