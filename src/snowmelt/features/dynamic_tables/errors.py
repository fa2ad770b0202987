"""Errors of dynamic tables."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError, compilation


def refresh_failed(trigger: str, data_timestamp: int, cause: str) -> SnowmeltError:
    """`data_timestamp` in milliseconds since 1970."""
    return compilation(
        "002742", "22000",
        f"Failed to refresh dynamic table with refresh_trigger {trigger} at data_timestamp {data_timestamp} because of "
        f"the error: {cause}",
    )  # fmt: skip


def inputs_failed(tables: str) -> SnowmeltError:
    return compilation("002753", "22000", f"Some inputs failed to refresh: [{tables}].")


def user_required(table: str) -> SnowmeltError:
    return compilation(
        "002773", "22000", f"Dynamic Table '{table}' has REQUIRE USER and can't be refreshed by the system.",
        hint="Refresh it with ALTER DYNAMIC TABLE … REFRESH COPY SESSION.",
    )  # fmt: skip


def refresh_in_transaction() -> SnowmeltError:
    return compilation(
        "002743", "25001", "A dynamic table can't be refreshed inside a transaction.", hint="COMMIT or ROLLBACK first."
    )
