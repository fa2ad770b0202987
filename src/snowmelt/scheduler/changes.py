"""Which tables a commit concerns, directly or through other dynamic tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from snowmelt.scheduler.graph import DynamicTable
from snowmelt.scheduler.periods import micros
from snowmelt.scheduler.topology import Topology


def stands_at(table: DynamicTable) -> int:
    """What the table shows once a refresh under way has succeeded."""
    return max(micros(at) for at in (table.data_timestamp, table.refreshing) if at is not None)


def unseen_commits(shape: Topology, commits: Mapping[str, datetime]) -> dict[str, int]:
    """The newest commit to anything a table is computed from, for each table that does not show it yet."""
    newest: dict[str, int] = {}
    unseen: dict[str, int] = {}
    if not commits:
        return unseen
    for id_ in shape.order:
        found = [micros(commits[base]) for base in _bases(shape, id_) if base in commits]
        found += [newest[read] for read in shape.upstream[id_] if read in newest]
        if not found:
            continue
        newest[id_] = max(found)
        table = shape.tables[id_]
        if table.data_timestamp is not None and newest[id_] > stands_at(table):
            unseen[id_] = newest[id_]
    return unseen


def openings(shape: Topology, opens: Mapping[str, int]) -> dict[str, int]:
    """For each base table, the earliest of the instants of the tables that are computed from it."""
    earliest: dict[str, int] = {}
    found: dict[str, int] = {}
    for id_ in reversed(shape.order):
        wishes = [earliest[reader] for reader in shape.consumers[id_] if reader in earliest]
        if id_ in opens:
            wishes.append(opens[id_])
        if not wishes:
            continue
        earliest[id_] = min(wishes)
        for base in _bases(shape, id_):
            found[base] = min(earliest[id_], found.get(base, earliest[id_]))
    return found


def _bases(shape: Topology, id_: str) -> Iterator[str]:
    """What a table reads and is not refreshed together with."""
    table = shape.tables[id_]
    yield from table.sources
    yield from table.beyond
    yield from (read for read in table.upstream if read not in shape.upstream[id_])
