"""How far a round is: which tables may start, and what becomes of those whose inputs failed. No threads, no clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from snowmelt.scheduler.graph import Member, Round
from snowmelt.scheduler.ports import RefreshEnd

_PATIENCE = 16
"""A table waits for a worker for this part of its lag; then what waits gets a newer data timestamp."""


class RoundProgress:
    """One round under way. A table starts when all tables it reads have succeeded; independent ones side by side."""

    def __init__(self, round_: Round) -> None:
        self.data_timestamp = round_.data_timestamp
        self._members = {member.table: member for member in round_.members}
        self._missing = {member.table: set(member.upstream) for member in round_.members}
        self._readers: dict[str, list[str]] = {table: [] for table in self._members}
        for member in round_.members:
            for read in member.upstream:
                self._readers[read].append(member.table)
        self.unfinished = set(self._members)
        self._begun: set[str] = set()
        """Of each table that began, and of those that it reads or that read it: they stay at this data timestamp."""

    def first(self) -> list[Member]:
        """The tables that may start right away."""
        return [self._members[table] for table, missing in self._missing.items() if not missing]

    def begin(self, table: str) -> None:
        """Its refresh starts. What it is joined with by reading, over any number of steps, is bound to this round."""
        if table not in self._begun:
            self._begun |= self._joined(table)

    def patience(self, table: str) -> timedelta | None:
        """How long the table may wait for a worker at this data timestamp; None for as long as it takes."""
        lag = self._members[table].lag
        return None if lag is None else lag / _PATIENCE

    def waits(self, table: str) -> bool:
        """Whether neither the table nor anything that it is joined with has begun."""
        return table in self.unfinished and table not in self._begun

    def split(self, data_timestamp: datetime) -> Round | None:
        """Takes what still waits out of the round, as a round with another data timestamp; None when nothing may go."""
        waiting = [table for table in self._members if self.waits(table)]
        for table in waiting:
            if self._members[table].bound:
                self.begin(table)
        going = tuple(self._members.pop(table) for table in waiting if self.waits(table))
        self.unfinished.difference_update(member.table for member in going)
        return Round(data_timestamp, going) if going else None

    def _joined(self, table: str) -> set[str]:
        found, open_ends = {table}, [table]
        while open_ends:
            current = open_ends.pop()
            for other in (*self._members[current].upstream, *self._readers[current]):
                if other not in found:
                    found.add(other)
                    open_ends.append(other)
        return found

    def succeeded(self, table: str) -> list[Member]:
        """The tables that may start now that `table` is refreshed."""
        self.unfinished.discard(table)
        ready = []
        for reader in self._readers[table]:
            self._missing[reader].discard(table)
            if reader in self.unfinished and not self._missing[reader]:
                ready.append(self._members[reader])
        return ready

    def not_succeeded(self, table: str) -> list[str]:
        """The tables that can't be refreshed in this round because `table` was not, upstream ones first."""
        self.unfinished.discard(table)
        lost: list[str] = []
        open_ends = [table]
        for current in open_ends:
            for reader in self._readers[current]:
                if reader in self.unfinished:
                    self.unfinished.discard(reader)
                    lost.append(reader)
                    open_ends.append(reader)
        return lost


def state_of_readers(state: RefreshEnd) -> RefreshEnd:
    """What the readers of a table that ended so did: only a failure is a failure to them."""
    return RefreshEnd.UPSTREAM_FAILED if state is RefreshEnd.FAILED else state
