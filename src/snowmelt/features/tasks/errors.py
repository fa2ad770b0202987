"""Errors of tasks."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError


def root_not_suspended(root: str) -> SnowmeltError:
    return SnowmeltError(
        "091421", "22000",
        f"Unable to update graph with root task {root} since that root task is not suspended.",
        hint=f"Run ALTER TASK {root} SUSPEND first.",
    )  # fmt: skip


def task_timed_out(milliseconds: int) -> SnowmeltError:
    return SnowmeltError(
        "000630", "57014",
        f"Task reached its timeout of {milliseconds} millisecond(s) and was canceled.",
        hint="Set USER_TASK_TIMEOUT_MS to a larger value, or make the task's body do less.",
    )  # fmt: skip
