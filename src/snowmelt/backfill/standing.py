"""Where backfills stand: folds over their journals."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from snowmelt.backfill.model import AFTER, BackfillPlan
from snowmelt.playbooks.journal import Event, read_events, run_ids

BEGAN = "backfill"


class BackfillState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    UNDOING = "undoing"
    UNDONE = "undone"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Left:
    """What a chunk left in the table."""

    digest: str
    at: str
    """When the chunk was committed, by the server's clock."""


@dataclass(slots=True)
class BackfillStanding:
    plan: BackfillPlan
    account: str
    state: BackfillState = BackfillState.RUNNING
    saved: bool = False
    begun: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    restored: set[int] = field(default_factory=set)
    left: dict[int, Left] = field(default_factory=dict)
    forced: bool = False
    over: frozenset[str] = frozenset()
    """Backfills that it was undone over by force: the clone stays until they are settled."""

    def take(self, event: Event) -> None:
        match event["event"]:
            case "saved":
                self.saved = True
            case "chunk":
                self.begun.add(event["chunk"])
            case "chunk_done":
                self.done.add(event["chunk"])
            case "left":
                self.left |= {int(chunk): Left(*counts) for chunk, counts in event["chunks"].items()}
            case "restored":
                self.restored.add(event["chunk"])
            case "forced":
                self.forced, self.over = True, frozenset(event["over"])
            case "state":
                self.state = BackfillState(event["state"])

    def take_claims(self, claims: list[str]) -> None:
        """What was committed, also where a process died before it wrote that down."""
        for claim in claims:
            kind, _, rest = claim.partition("/")
            if kind == AFTER:
                chunk, digest, at = rest.split("/", 2)
                self.left[int(chunk)] = Left(digest, at)
            elif kind == "restore":
                self.restored.add(int(rest))


def standing_of(events: list[Event]) -> BackfillStanding:
    standing = BackfillStanding(BackfillPlan.from_json(events[0]["plan"]), events[0]["account"])
    for event in events[1:]:
        standing.take(event)
    return standing


def backfills_in(folder: Path) -> list[list[Event]]:
    """The journals of all backfills, the oldest first."""
    found = (read_events(folder, run) for run in run_ids(folder))
    began = [events for events in found if events[0]["event"] == BEGAN]
    return sorted(began, key=lambda events: str(events[0]["at"]))
