"""Carrying a backfill out, resuming it, undoing it, and letting go of the old version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from snowmelt.backfill.model import Plan
from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.core.names import ObjectName
from snowmelt.playbooks.claims import Claims, Execute
from snowmelt.playbooks.journal import Event, Journal, read_events, run_ids

BEGAN = "backfill"
Clock = Callable[[], float]
Announce = Callable[[str], None]


class State(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    UNDOING = "undoing"
    UNDONE = "undone"
    ACCEPTED = "accepted"


@dataclass(slots=True)
class Standing:
    """Where a backfill stands: a fold over its journal."""

    plan: Plan
    account: str
    state: State = State.RUNNING
    saved: bool = False
    begun: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    restored: set[int] = field(default_factory=set)

    def take(self, event: Event) -> None:
        match event["event"]:
            case "saved":
                self.saved = True
            case "chunk":
                self.begun.add(event["chunk"])
            case "chunk_done":
                self.done.add(event["chunk"])
            case "restored":
                self.restored.add(event["chunk"])
            case "state":
                self.state = State(event["state"])


def standing_of(events: list[Event]) -> Standing:
    standing = Standing(Plan.from_json(events[0]["plan"]), events[0]["account"])
    for event in events[1:]:
        standing.take(event)
    return standing


def backfills_in(folder: Path) -> list[list[Event]]:
    """The journals of all backfills, the oldest first."""
    found = (read_events(folder, run) for run in run_ids(folder))
    return [events for events in found if events[0]["event"] == BEGAN]


def begin(journal: Journal, plan: Plan, account: str) -> None:
    journal.append(BEGAN, run=plan.run, table=str(plan.name), account=account, plan=plan.as_json())


class Backfill:
    """Works on a run; every method goes on where the journal says it is."""

    def __init__(self, execute: Execute, journal: Journal, announce: Announce, clock: Clock) -> None:
        self._execute = execute
        self._journal = journal
        self._announce = announce
        self._clock = clock
        self.standing = standing_of(journal.events)
        plan = self.standing.plan
        claims = f"SNOWMELT_CLAIMS_{plan.run}".upper().replace("-", "_")
        self._claims = Claims(execute, ObjectName(plan.name.database, plan.name.schema, claims))

    def go_on(self) -> None:
        """To the end of the last chunk, and of what is downstream."""
        standing, plan = self.standing, self.standing.plan
        if standing.state is State.FINISHED:
            return
        self._must_be("resumed", State.RUNNING)
        if not standing.saved:
            self._execute(f"CREATE TABLE IF NOT EXISTS {plan.saved} CLONE {plan.name}")
            self._note("saved")
        for chunk in range(len(plan.chunks)):
            if chunk not in standing.done:
                self._replace(chunk)
        self._refresh()
        self._claims.drop()
        self._note("state", state=State.FINISHED.value)

    def undo(self) -> None:
        """Brings the old rows of every chunk back that may have been replaced."""
        standing, plan = self.standing, self.standing.plan
        if standing.state is State.UNDONE:
            return
        self._must_be("undone", State.RUNNING, State.FINISHED, State.UNDOING)
        if standing.state is not State.UNDOING:
            self._note("state", state=State.UNDOING.value)
        for chunk in sorted(standing.begun - standing.restored):
            if chunk not in standing.done:
                # A chunk that a server is still about to begin for a process that died finds its claim taken.
                self._claims.once(f"chunk/{chunk}", ())
            self._claims.once(f"restore/{chunk}", plan.restoring(chunk))
            reached("backfill restored")
            self._note("restored", chunk=chunk)
            self._announce(f"chunk {chunk + 1} of {len(plan.chunks)} is as it was")
        self._refresh()
        self._claims.drop()
        self._execute(f"DROP TABLE IF EXISTS {plan.saved}")
        self._note("state", state=State.UNDONE.value)

    def accept(self) -> None:
        """Lets go of the old version."""
        if self.standing.state is State.ACCEPTED:
            return
        self._must_be("accepted", State.FINISHED)
        self._execute(f"DROP TABLE IF EXISTS {self.standing.plan.saved}")
        self._note("state", state=State.ACCEPTED.value)

    def _replace(self, chunk: int) -> None:
        plan = self.standing.plan
        self._note("chunk", chunk=chunk)
        began = self._clock()
        reached("backfill chunk")
        rows = self._claims.once(f"chunk/{chunk}", plan.replacing(chunk))
        reached("backfill chunk done")
        seconds = round(self._clock() - began, 3)
        self._note("chunk_done", chunk=chunk, rows=rows, seconds=seconds)
        told = "was done before" if rows is None else f"{rows} rows deleted and inserted"
        self._announce(f"chunk {chunk + 1} of {len(plan.chunks)}: {told} ({plan.chunks[chunk]})")

    def _refresh(self) -> None:
        for name in self.standing.plan.leaves:
            self._execute(f"ALTER DYNAMIC TABLE {name} REFRESH")
            self._announce(f"refreshed {name}")

    def _must_be(self, what: str, *states: State) -> None:
        if self.standing.state not in states:
            raise errors.backfill(
                f"The backfill {self.standing.plan.run} is {self.standing.state}: it can't be {what}."
            )

    def _note(self, event: str, **values: Any) -> None:
        self.standing.take(self._journal.append(event, **values))
