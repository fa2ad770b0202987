"""What an account noted about itself: freshness over time, drift of sources, alerts and messages."""

from __future__ import annotations

from datetime import datetime

from snowmelt.core.names import ObjectName
from snowmelt.state.record import Record


class FreshnessSpan(Record):
    """A time in which a table or data product had one status."""

    object_id: str
    kind: str
    name: ObjectName
    status: str
    since: datetime
    until: datetime | None = None
    """None while it lasts."""
    limit: float | None = None
    tier: int | None = None


class SchemaDrift(Record):
    """Columns that a source changed without anybody here asking for it."""

    id: str
    object_id: str
    name: ObjectName
    """Of the table here."""
    source: str
    """What changed: a table of a connector's source, or another writer of the table."""
    found_at: datetime
    added: tuple[str, ...] = ()
    """Name and type."""
    removed: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    """Name, the type before and the one after."""

    def diff(self) -> str:
        lines = [*(f"+ {each}" for each in self.added), *(f"- {each}" for each in self.removed)]
        return "\n".join([*lines, *(f"~ {each}" for each in self.retyped)])


class AlertStanding(Record):
    """Where a rule stands for one thing that it watches."""

    key: str
    """The rule and what it is about: one message about both, however often it is looked at."""
    rule: str
    severity: str
    summary: str
    since: datetime
    """When the condition began to hold."""
    firing_since: datetime | None = None
    """When it had held for long enough; None while it has not."""
    told_at: datetime | None = None
    escalated_at: datetime | None = None
    silenced_until: datetime | None = None
    owed: tuple[str, ...] = ()
    """Channels that a message could not reach yet, while it reached others."""
    owed_title: str | None = None
    """Which message that is."""


class Notification(Record):
    """A message that left, or could not."""

    id: str
    sent_at: datetime
    channel: str
    title: str
    body: str
    about: str = ""
    """The alert or statement that sent it."""
    error: str | None = None
    """Why it did not leave. Never holds an address: that is a secret."""
