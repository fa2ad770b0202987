"""Refreshes that a process left behind when it ended."""

from __future__ import annotations

from snowmelt.state.dynamic_model import RefreshState
from snowmelt.state.store import StateStore

_INTERRUPTED = "000605"


def end_refreshes(state_store: StateStore) -> None:
    """Refreshes that ran when the process ended: what they wrote is undone, and their history says that they failed."""
    with state_store.read() as reader:
        running = reader.dynamic.executing()
    if not running:
        return
    with state_store.begin() as state:
        for refresh in running:
            state.dynamic.record_refresh(
                refresh.model_copy(
                    update={
                        "state": RefreshState.FAILED,
                        "state_code": _INTERRUPTED,
                        "state_message": "The process ended during the refresh.",
                        "ended_at": state.now,
                    }
                )
            )
