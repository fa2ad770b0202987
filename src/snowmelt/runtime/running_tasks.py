"""What a session works for, when nobody opened it: the runtime's side of a task that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from snowmelt.core.names import ObjectName
from snowmelt.state.store import StateTransaction


class RunningTask(Protocol):
    @property
    def purpose(self) -> Literal["TASK", "ALERT"]: ...
    @property
    def name(self) -> ObjectName: ...
    @property
    def id(self) -> str: ...
    @property
    def at_commit(self) -> Callable[[StateTransaction], None] | None:
        """Set where the body is one statement: what must become true at the same moment as its rows."""
        ...
