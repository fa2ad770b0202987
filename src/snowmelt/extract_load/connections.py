"""What runs SQL for a flow: a connection to Snowmelt or to anything that takes SQL."""

from __future__ import annotations

from typing import Any, Protocol


class SqlConnection(Protocol):
    def execute(self, sql: str, /) -> Any: ...
