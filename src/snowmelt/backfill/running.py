"""Carrying a backfill out, resuming it, undoing it, and letting go of the old version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from snowmelt.backfill import errors as backfill_errors
from snowmelt.backfill.losses import Losses, refusal
from snowmelt.backfill.model import CHANGED, BackfillPlan
from snowmelt.backfill.standing import BEGAN, BackfillStanding, BackfillState, standing_of
from snowmelt.core.faults import reached
from snowmelt.core.names import ObjectName
from snowmelt.playbooks.claims import Claims, Execute
from snowmelt.playbooks.journal import Journal

Clock = Callable[[], float]
Announce = Callable[[str], None]


def begin(journal: Journal, plan: BackfillPlan, account: str) -> None:
    journal.append(BEGAN, run=plan.run, table=str(plan.name), account=account, plan=plan.as_json())


class Backfill:
    """Works on a run; every method goes on where the journal says it is."""

    def __init__(
        self, execute: Execute, journal: Journal, others: Sequence[BackfillStanding], announce: Announce, clock: Clock
    ) -> None:
        """`others`: all backfills in the folder, the oldest first; this one may be among them."""
        self._execute = execute
        self._journal = journal
        self._announce = announce
        self._clock = clock
        self.standing = standing_of(journal.events)
        plan = self.standing.plan
        runs = [other.plan.run for other in others]
        index = runs.index(plan.run) if plan.run in runs else len(runs)
        self._others = [other for other in others if other.plan.run != plan.run]
        self._later = others[index + 1 :]
        claims = f"SNOWMELT_CLAIMS_{plan.run}".upper().replace("-", "_")
        self._claims = Claims(execute, ObjectName(plan.name.database, plan.name.schema, claims))

    def go_on(self) -> None:
        """To the end of the last chunk, and of what is downstream."""
        standing, plan = self.standing, self.standing.plan
        if standing.state is BackfillState.FINISHED:
            return
        self._must_be("resumed", BackfillState.RUNNING)
        if not standing.saved:
            self._execute(f"CREATE TABLE IF NOT EXISTS {plan.saved} CLONE {plan.name}")
            self._note("saved")
        for chunk in range(len(plan.chunks)):
            if chunk not in standing.done:
                self._replace(chunk)
        self._note_left()
        self._refresh()
        self._claims.drop()
        self._note("state", state=BackfillState.FINISHED.value)

    def undo(self, *, force: bool = False) -> None:
        """Brings the old rows of every chunk back that was replaced.

        Refused when rows that came after it would be lost, unless forced; then the table is cloned first.
        """
        standing, plan = self.standing, self.standing.plan
        if standing.state is BackfillState.UNDONE:
            return
        self._must_be("undone", BackfillState.RUNNING, BackfillState.FINISHED, BackfillState.UNDOING)
        self._block_chunks()
        if not standing.forced:
            self._check_losses(force)
        if standing.state is not BackfillState.UNDOING:
            self._note("state", state=BackfillState.UNDOING.value)
        for chunk in sorted(standing.begun - standing.restored):
            self._restore(chunk)
        self._refresh()
        self._claims.drop()
        if standing.over:
            self._announce(f"{plan.saved} is kept until {', '.join(sorted(standing.over))} is undone or accepted.")
        else:
            self._execute(f"DROP TABLE IF EXISTS {plan.saved}")
        self._note("state", state=BackfillState.UNDONE.value)
        if not standing.forced:
            self._let_go()

    def accept(self) -> None:
        """Lets go of the old version."""
        if self.standing.state is BackfillState.ACCEPTED:
            return
        self._must_be("accepted", BackfillState.FINISHED)
        self._execute(f"DROP TABLE IF EXISTS {self.standing.plan.saved}")
        self._note("state", state=BackfillState.ACCEPTED.value)
        self._let_go()

    def _replace(self, chunk: int) -> None:
        plan = self.standing.plan
        self._note("chunk", chunk=chunk)
        began = self._clock()
        reached("backfill chunk")
        answer = self._claims.script(f"chunk/{chunk}", plan.replacing(chunk, self._claims.table))
        reached("backfill chunk done")
        seconds = round(self._clock() - began, 3)
        deleted, inserted = _counts(answer)
        rows = None if answer is None else deleted + inserted
        self._note("chunk_done", chunk=chunk, rows=rows, seconds=seconds)
        what = "was done before" if answer is None else f"{deleted} rows deleted, {inserted} inserted"
        self._announce(f"chunk {chunk + 1} of {len(plan.chunks)}: {what} ({plan.chunks[chunk]})")

    def _note_left(self) -> None:
        """What the claims say about the chunks outlives them."""
        self.standing.take_claims(self._claims.taken())
        left = {chunk: (item.digest, item.at) for chunk, item in self.standing.left.items()}
        self._note("left", chunks=left)

    def _block_chunks(self) -> None:
        """A chunk that a server is still about to begin for a process that died finds its claim taken."""
        for chunk in sorted(self.standing.begun - self.standing.done):
            self._claims.once(f"chunk/{chunk}", ())
        self.standing.take_claims(self._claims.taken())

    def _check_losses(self, force: bool) -> None:
        plan, losses = self.standing.plan, Losses(self._execute, self.standing, self._later)
        found = losses.found()
        if not found:
            return
        if not force:
            raise refusal(plan.run, found)
        kept = plan.saved.replace("_BEFORE_", "_LOST_")
        self._execute(f"CREATE TABLE IF NOT EXISTS {kept} CLONE {plan.name}")
        over = [other.plan.run for other in losses.later_backfills() if other.state is not BackfillState.ACCEPTED]
        self._note("forced", over=over)
        for loss in found:
            self._announce(f"lost: {loss}")
        self._announce(f"{plan.name} as it was until now is {kept}.")

    def _restore(self, chunk: int) -> None:
        standing, plan = self.standing, self.standing.plan
        left = standing.left.get(chunk)
        if left is None and chunk not in standing.done:
            # It never began: there is nothing to bring back, and others may have written there.
            self._note("restored", chunk=chunk)
            return
        expected = None if standing.forced or left is None else left.digest
        answer = self._claims.script(f"restore/{chunk}", plan.restoring(chunk, expected))
        if answer == CHANGED:
            raise refusal(plan.run, [f"rows that came to {plan.chunks[chunk]} while it was being undone"])
        reached("backfill restored")
        self._note("restored", chunk=chunk)
        deleted, inserted = _counts(answer)
        what = "" if answer is None else f": {deleted} rows deleted, {inserted} inserted"
        self._announce(f"chunk {chunk + 1} of {len(plan.chunks)} is as it was{what}")

    def _let_go(self) -> None:
        """Drops clones that were kept for this backfill and for others, once all of these are settled."""
        settled = {
            other.plan.run for other in self._others
            if other.state is BackfillState.ACCEPTED or (other.state is BackfillState.UNDONE and not other.forced)
        } | {self.standing.plan.run}  # fmt: skip
        for other in self._others:
            if other.state is BackfillState.UNDONE and self.standing.plan.run in other.over and other.over <= settled:
                self._execute(f"DROP TABLE IF EXISTS {other.plan.saved}")

    def _refresh(self) -> None:
        for name in self.standing.plan.leaves:
            self._execute(f"ALTER DYNAMIC TABLE {name} REFRESH")
            self._announce(f"refreshed {name}")

    def _must_be(self, what: str, *states: BackfillState) -> None:
        if self.standing.state not in states:
            raise backfill_errors.backfill(
                f"The backfill {self.standing.plan.run} is {self.standing.state}: it can't be {what}."
            )

    def _note(self, event: str, **values: Any) -> None:
        self.standing.take(self._journal.append(event, **values))


def _counts(answer: str | None) -> tuple[int, int]:
    deleted, _, inserted = (answer or "0/0").partition("/")
    return int(deleted), int(inserted)
