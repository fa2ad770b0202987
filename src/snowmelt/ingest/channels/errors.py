"""What can become of a channel. Codes are those of Snowflake's ingest clients."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core.errors import SnowmeltError

_REOPEN = "Open the channel again and send what comes after its latest committed offset token."


class ChannelInvalidError(SnowmeltError):
    """The channel takes nothing more; what was sent and not committed is gone. Opening it again helps."""

    CODE = "0013"

    def __init__(self, message: str, *, hint: str | None = _REOPEN) -> None:
        super().__init__(self.CODE, "55000", message, hint=hint)


def fenced(channel: str, sequencer: int) -> SnowmeltError:
    """The client sequencer is not the channel's any more."""
    return ChannelInvalidError(
        f"Channel '{channel}' is invalid: another writer has opened it since (client sequencer {sequencer} is stale)."
    )


def not_open(channel: str) -> SnowmeltError:
    return ChannelInvalidError(f"Channel '{channel}' is not open: it was closed, or the server was started anew.")


def table_gone(channel: str, table: str) -> SnowmeltError:
    return ChannelInvalidError(
        f"Channel '{channel}' is invalid: its table '{table}' was dropped, replaced, or may not be written any more.",
        hint="Open a channel on a table that exists and that the role may INSERT into.",
    )


def refused_by_checks(channel: str, why: str) -> SnowmeltError:
    return ChannelInvalidError(
        f"Channel '{channel}' is invalid: {why}",
        hint=f"Fix the rows or the check first. {_REOPEN} Checks with ON_FAILURE = QUARANTINE let other rows through.",
    )


def out_of_order(channel: str, number: int, expected: int) -> SnowmeltError:
    return ChannelInvalidError(
        f"Channel '{channel}' is invalid: batch {number} came where batch {expected} was expected."
    )


def closed(channel: str) -> SnowmeltError:
    return SnowmeltError("0014", "55000", f"Channel '{channel}' is closed.", hint=_REOPEN)


def client_closed(client: str) -> SnowmeltError:
    return SnowmeltError("0015", "55000", f"The ingest client '{client}' is closed.", hint="Make another one.")


def queue_full(table: str, seconds: float) -> SnowmeltError:
    return SnowmeltError(
        "0007", "53000",
        f"Too many rows wait to be committed to table '{table}', and none was in {seconds:g} seconds.",
        hint="Send the batch again later; SHOW LOCKS tells whether a transaction holds the table.", transient=True,
    )  # fmt: skip


def no_channel(channel: str, table: str) -> SnowmeltError:
    return SnowmeltError("002003", "02000", f"Channel '{channel}' on table '{table}' does not exist or not authorized.")


def row_refused(row: int, column: str | None, code: str, sqlstate: str, message: str) -> SnowmeltError:
    """ON_ERROR = ABORT: the first bad row of a batch."""
    where = f"row {row}" if column is None else f"row {row}, column {column}"
    return SnowmeltError(
        code, sqlstate, f"{message} ({where})",
        hint="Nothing of the batch was taken. Fix the row, or open the channel with on_error = CONTINUE.",
    )  # fmt: skip


def unreadable(detail: str) -> SnowmeltError:
    return SnowmeltError("0004", "22000", f"The rows can't be read: {detail.splitlines()[0][:300]}")


def extra_columns(names: Sequence[str]) -> SnowmeltError:
    return SnowmeltError(
        "0004", "22000",
        f"Extra columns: [{', '.join(names)}]. Columns that the table does not have can't be given values.",
        hint="Add the columns to the table, or open the channel with schema_evolution = True.",
    )  # fmt: skip
