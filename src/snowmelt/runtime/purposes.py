"""What a statement ran for, as its record in the history says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.runtime import correlation

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def newest_change(run: Run) -> str | None:
    """The id of the newest change that the statement consumed."""
    read = {id: version for window in run.streams.values() for id, version in window.upto.items()}
    with run.state.read() as state:
        return correlation.of_versions(run.account.journal, state, read)


def served(run: Run) -> dict[str, object]:
    """What the statement ran for, when not for a user."""
    task = run.session.task
    if run.refreshes is not None:
        return {"purpose": "REFRESH", "target": str(run.refreshes), "target_id": run.refreshed_id}
    if task is not None:
        return {"purpose": task.purpose, "target": str(task.name), "target_id": task.id}
    return {}
