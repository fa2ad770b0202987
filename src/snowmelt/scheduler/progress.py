"""How far a round is: which tables may start, and what becomes of those whose inputs failed. No threads, no clock."""

from __future__ import annotations

from snowmelt.scheduler.graph import Member, Round
from snowmelt.scheduler.ports import RefreshEnd


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

    def first(self) -> list[Member]:
        """The tables that may start right away."""
        return [self._members[table] for table, missing in self._missing.items() if not missing]

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
