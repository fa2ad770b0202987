"""What undoing a backfill would lose: rows that came to its range after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from snowmelt.backfill import errors as backfill_errors
from snowmelt.backfill.model import BackfillPlan
from snowmelt.backfill.standing import BackfillStanding, BackfillState, Left
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal, quote
from snowmelt.playbooks.claims import Execute
from snowmelt.playbooks.expecting import column as column_of

_NAMED_WRITES = 10
_NO_DATA = ("OPTIMIZE", "ALTER TABLE", "CREATE TABLE", "UNDO")


def check_may_begin(execute: Execute, plan: BackfillPlan, others: Iterable[BackfillStanding]) -> None:
    """Raises if another backfill of the same rows is under way: the two could not be undone in any order."""
    for other in others:
        if other.plan.name != plan.name or other.state not in (BackfillState.RUNNING, BackfillState.UNDOING):
            continue
        relations = [str(plan.name), plan.source, other.plan.source, *([other.plan.saved] if other.saved else ())]
        if _meet(execute, plan, other.plan, relations):
            raise backfill_errors.backfill(
                f"The backfill {other.plan.run} of the same rows of {plan.name} is {other.state}.",
                hint=f"Finish it with --resume {other.plan.run}, or take it back with --undo {other.plan.run}.",
            )


class Losses:
    """Looks at a backfill that is to be undone, and changes nothing."""

    def __init__(self, execute: Execute, standing: BackfillStanding, later: Sequence[BackfillStanding]) -> None:
        self._execute = execute
        self._standing = standing
        self._later = later
        """Backfills that began after it, whatever their table."""

    def later_backfills(self) -> list[BackfillStanding]:
        """Later backfills that replaced rows of the same range and were not undone."""
        plan = self._standing.plan
        found = []
        for other in self._later:
            if other.plan.name != plan.name or other.state is BackfillState.UNDONE or not other.begun:
                continue
            saved = [] if other.state is BackfillState.ACCEPTED else [other.plan.saved]
            if _meet(self._execute, plan, other.plan, [str(plan.name), plan.saved, *saved]):
                found.append(other)
        return found

    def found(self) -> list[str]:
        """One sentence for each thing that would be lost."""
        if not self._standing.begun - self._standing.restored:
            return []
        plan, changed = self._standing.plan, self._changed_chunks()
        losses = [
            f"backfill {other.plan.run} ({other.state}) replaced rows of the same range"
            for other in self.later_backfills()
            # An accepted one that left the rows as they were has nothing to lose, and can't be undone any more.
            if changed or other.state is not BackfillState.ACCEPTED
        ]
        for chunk in changed:
            where = f"chunk {chunk + 1} of {len(plan.chunks)} ({plan.chunks[chunk]})"
            if chunk in self._standing.left:
                losses.append(f"the rows of {where} are no longer those that the backfill left")
            else:
                losses.append(f"what the backfill left in {where} was not noted by the version of Snowmelt that ran it")
        losses += self._new_columns()
        if changed:
            losses += self._writes(changed)
        return losses

    def _changed_chunks(self) -> list[int]:
        standing = self._standing
        return [
            chunk for chunk in sorted(standing.begun - standing.restored)
            if (chunk in standing.left and self._now(chunk) != standing.left[chunk].digest)
            or (chunk not in standing.left and chunk in standing.done)
        ]  # fmt: skip

    def _now(self, chunk: int) -> str:
        plan = self._standing.plan
        return str(self._execute(plan.digest(str(plan.name), chunk)).rows()[0][0])

    def _new_columns(self) -> list[str]:
        """Columns that the old version does not have, and values that somebody gave them."""
        plan = self._standing.plan
        names = map(str, column_of(self._execute(f"DESCRIBE TABLE {plan.name}"), "name"))
        losses = []
        for name in names:
            if name in plan.columns:
                continue
            counted = f"SELECT COUNT({quote(name)}) FROM {plan.name} WHERE {plan.within}"
            rows = int(str(self._execute(counted).rows()[0][0]))
            if rows:
                losses.append(f"{rows} values of the column {quote(name)}, which was added since")
        return losses

    def _writes(self, chunks: list[int]) -> list[str]:
        """Commits of rows to the table since then that are not this backfill's."""
        plan, left = self._standing.plan, self._standing.left
        since = min((left[chunk].at for chunk in chunks if chunk in left), default=None)
        if since is None:
            return []
        rows = self._execute(
            "SELECT COMMITTED_ON, OPERATION, QUERY_ID FROM TABLE(INFORMATION_SCHEMA.TABLE_VERSION_HISTORY("
            f"TABLE_NAME => {literal(str(plan.name))}, START_TIME => {literal(since)}::TIMESTAMP_TZ)) ORDER BY VERSION"
        ).rows()
        mine = _mine(rows, left.values())
        writes = [
            f"{operation} at {at:%Y-%m-%d %H:%M:%S} UTC (query {query or 'of another tool'})"
            for at, operation, query in rows
            if at not in mine and operation not in _NO_DATA
        ]
        more = [f"{len(writes) - _NAMED_WRITES} more writes"] if len(writes) > _NAMED_WRITES else []
        return [*writes[:_NAMED_WRITES], *more]


def refusal(run: str, losses: Sequence[str]) -> SnowmeltError:
    listed = "".join(f"\n- {loss}" for loss in losses)
    return backfill_errors.backfill(
        f"The backfill {run} is not undone: what came after it would be lost.{listed}",
        hint="Undo later backfills first, the newest one first. --force undoes it all the same, and keeps a clone of "
        "the table as it is now.",
    )


def _mine(rows: Sequence[tuple[object, ...]], left: Iterable[Left]) -> set[object]:
    """The first commit after a chunk noted what it leaves is its own: it had the table's lock."""
    instants = [at for at, *_ in rows if isinstance(at, datetime)]
    noted = [datetime.strptime(item.at, "%Y-%m-%d %H:%M:%S.%f %z") for item in left]
    return {min((at for at in instants if at >= moment), default=None) for moment in noted}


def _meet(execute: Execute, one: BackfillPlan, other: BackfillPlan, relations: Iterable[str]) -> bool:
    """Whether any of these has a row that is within both ranges. What can't be read may have one."""
    for relation in relations:
        try:
            found = execute(f"SELECT COUNT(*) FROM {relation} WHERE ({one.within}) AND ({other.within})").rows()
        except SnowmeltError:
            return True
        if int(str(found[0][0])):
            return True
    return False
