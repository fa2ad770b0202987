"""What one look at the account shows: the graph, and what needs somebody's attention.

Put together from statements and reads with the session's rights. Pages that ask at the same time, with the same roles,
share one answer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.features.connectors.definitions import CONNECTOR
from snowmelt.features.tasks.definitions import RunState
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.serve.console import graph
from snowmelt.serve.console.arriving import MINUTES, Arrivals
from snowmelt.serve.console.standing import DYNAMIC, Standing, load, outside, word
from snowmelt.state.dynamic_model import RefreshAction, RefreshState
from snowmelt.state.model import ObjectKind

FRESH_SECONDS = 0.9
"""How long an answer is good for others: a little less than the pause between two messages to a page."""
_MOST_KEPT = 64
_RATE_MINUTES = MINUTES
_RECENT = 40
_MOST_TABLES = 6
_WORTH_SAVING = 0.01
"""Credits a day, below which nobody need be told how a table would cost less: 36 seconds of the smallest warehouse."""
_QUALITY_BAD = frozenset({"FAILED", "WARNED", "ERROR"})
_CONNECTOR_BAD = frozenset({"FAILED", "RETRYING"})


@dataclass(slots=True)
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    at: float = float("-inf")
    rights: int = -1
    """The rights of all roles as they were when it was made: it is good for no others."""
    content: bytes = b""


class Overviews:
    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._kept: dict[tuple[str, str, frozenset[str]], _Kept] = {}
        self._lock = threading.Lock()

    def graph(self, session: Session) -> bytes:
        return self._shared("graph", session, lambda: graph.described(load(session), session))

    def home(self, session: Session) -> bytes:
        return self._shared("home", session, lambda: _home(session, self._arrivals))

    def _shared(self, what: str, session: Session, make: Callable[[], dict[str, Any]]) -> bytes:
        key = what, session.user, session.authority.roles
        with self._lock:
            if key not in self._kept and len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            kept = self._kept.setdefault(key, _Kept())
        with kept.lock:
            rights = session.account.state.rights_version()
            if time.monotonic() - kept.at > FRESH_SECONDS or kept.rights != rights:
                kept.content = json.dumps(make(), default=_json_value).encode()
                kept.at, kept.rights = time.monotonic(), rights
            return kept.content


def _json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _home(session: Session, arrivals: Arrivals) -> dict[str, Any]:
    now = session.account.clock.now()
    standing = load(session)
    costs = _costs(session)
    problems = [
        *_of_tables(standing), *_of_tasks(standing), *_of_connectors(session), *_of_checks(session), *_of_costs(costs),
    ]  # fmt: skip
    problems.sort(key=lambda problem: (_SEVERITY[problem["severity"]], problem["name"]))
    with session.account.state.read(session.authority.sight) as state:
        known = {item.id for item in standing.objects}
        refreshes = [
            outside(row, standing.inside)
            for row in state.dynamic.refreshes(now - timedelta(minutes=_RATE_MINUTES), now + timedelta(minutes=1))
            if row.table_id in known
        ]  # fmt: skip
    counted: dict[str, int] = {}
    for item in standing.objects:
        kind = standing.kind_of(item)
        counted[kind] = counted.get(kind, 0) + 1
    limited = [one for one in standing.freshness.values() if one.limit is not None and not one.suspended]
    return {
        "now": now,
        "counts": counted,
        "freshness": {
            "within": sum(one.status.value in ("FRESH", "WARNING") for one in limited),
            "late": sum(one.status.value == "BREACHED" for one in limited),
            "with_limit": len(limited),
        },
        "problems": problems,
        "rates": _rates(refreshes, now),
        "ingest": _ingest(standing, arrivals, now),
        "recent": [_refresh(row) for row in sorted(filter(_tells, refreshes), key=_began, reverse=True)[:_RECENT]],
        "costs": costs,
        "queries_running": _running(session),
    }


_SEVERITY = {"failed": 0, "late": 1, "quarantined": 2, "suspended": 3, "warning": 4, "costly": 5}
_SUSPENDED_BY = {
    "USER_SUSPENDED": "A user suspended it.", "SUSPENDED_DUE_TO_QUALITY_CHECK": "A quality check suspended it.",
    "SUSPENDED_DUE_TO_ERRORS": "It failed too often.",
}  # fmt: skip


def _problem(severity: str, kind: str, name: str, title: str, detail: str | None, since: Any = None) -> dict[str, Any]:
    return {"severity": severity, "kind": kind, "name": name, "title": title, "detail": detail, "since": since}


def _of_tables(standing: Standing) -> Iterable[dict[str, Any]]:
    for item in standing.objects:
        name, kind = str(item.name), standing.kind_of(item)
        last, dynamic = standing.last.get(item.id), standing.dynamic.get(item.id)
        fresh = standing.freshness.get(item.id)
        if last is not None and last.state.value in ("FAILED", "UPSTREAM_FAILED"):
            title = "Refresh failed" if last.state.value == "FAILED" else "A table it reads failed"
            yield _problem("failed", kind, name, title, last.state_message, last.ended_at or last.data_timestamp)
        if dynamic is not None and dynamic.suspended:
            yield _problem("suspended", kind, name, "Suspended", dynamic.reason_message, dynamic.suspended_on)
        elif fresh is not None and fresh.limit is not None and fresh.status.value == "BREACHED":
            detail = "Something that it consists of is missing." if fresh.missing else None
            since = fresh.data_timestamp + timedelta(seconds=fresh.limit) if fresh.data_timestamp else None
            found = _problem("late", kind, name, "Later than promised", detail, since)
            yield {**found, "behind": fresh.behind, "limit": fresh.limit}


def _of_tasks(standing: Standing) -> Iterable[dict[str, Any]]:
    for item in standing.objects:
        name, kind = str(item.name), standing.kind_of(item)
        run, task = standing.failed_run(item.id), standing.tasks.get(item.id)
        if run is not None:
            stopped = run.state is RunState.FAILED_AND_AUTO_SUSPENDED and task is not None and not task.started
            title = "Failed too often, and was suspended" if stopped else "Last run failed"
            yield _problem("failed", kind, name, title, run.error_message, run.completed_at)
        elif task is not None and not task.started and task.suspended_reason is not None:
            # One that was never resumed is new, and no problem.
            detail = _SUSPENDED_BY.get(task.suspended_reason)
            yield _problem("suspended", kind, name, "Suspended", detail, task.suspended_on)


def _of_connectors(session: Session) -> Iterable[dict[str, Any]]:
    for row in named_rows(session.execute("SHOW CONNECTORS IN ACCOUNT")):
        name = str(ObjectName(row["database_name"], row["schema_name"], row["name"]))
        if row["state"] in _CONNECTOR_BAD:
            yield _problem("failed", word(CONNECTOR), name, "Brings no changes", row["error"], row["last_landed_at"])
        elif row["state"] == "PAUSED":
            yield _problem("suspended", word(CONNECTOR), name, "Paused", row["warning"], row["last_landed_at"])
        if row["dead_letters"]:
            title = f"{row['dead_letters']:,} changes could not land"
            yield _problem("quarantined", word(CONNECTOR), name, title, row["warning"], row["last_change_at"])


def _of_checks(session: Session) -> Iterable[dict[str, Any]]:
    for row in named_rows(session.execute("SHOW QUALITY CHECKS IN ACCOUNT")):
        if row["last_status"] in _QUALITY_BAD:
            table = str(ObjectName(row["database_name"], row["schema_name"], row["table_name"]))
            severity = "quarantined" if row["on_failure"] == "QUARANTINE" else "warning"
            title = f"Check {row['name']} does not hold"
            yield _problem(severity, word(ObjectKind.TABLE), table, title, row["last_message"], row["last_measured_on"])


def _of_costs(costs: dict[str, Any] | None) -> Iterable[dict[str, Any]]:
    """What could be had for less, of the tables that most is spent on."""
    for table in costs["tables"] if costs is not None else ():
        if table["advice"] and table["credits_per_day"] >= _WORTH_SAVING:
            yield _problem("costly", DYNAMIC, table["name"], "Costs more than it needs to", table["advice"][0])


def _rates(refreshes: Iterable[Any], now: datetime) -> dict[str, Any]:
    """The rates by minute, the oldest first."""
    start = now.replace(second=0, microsecond=0) - timedelta(minutes=_RATE_MINUTES - 1)
    done, failed, rows = ([0] * _RATE_MINUTES for _ in range(3))
    for row in refreshes:
        at = row.ended_at or row.data_timestamp
        index = int((at - start).total_seconds() // 60)
        if not 0 <= index < _RATE_MINUTES:
            continue
        if row.state.value == "SUCCEEDED":
            done[index] += 1
            rows[index] += row.statistics.get("numInsertedRows", 0) + row.statistics.get("numDeletedRows", 0)
        elif row.state.value in ("FAILED", "UPSTREAM_FAILED"):
            failed[index] += 1
    return {"start": start, "refreshes": done, "failed": failed, "rows": rows}


def _ingest(standing: Standing, arrivals: Arrivals, now: datetime) -> dict[str, Any]:
    """Rows that came to tables from outside of refreshes, by minute; and the tables that most of them came to."""
    names = {item.id: str(item.name) for item in standing.objects if item.kind is ObjectKind.TABLE}
    rows, by_table = arrivals.by_minute(names.keys(), now)
    most = sorted(by_table, key=lambda id: (-by_table[id], names[id]))[:_MOST_TABLES]
    return {"rows": rows, "tables": [{"name": names[id], "rows": by_table[id]} for id in most]}


def _tells(row: Any) -> bool:
    """One that found nothing to do would hide those that did: a table with a lag of seconds has one each second."""
    return row.action is not RefreshAction.NO_DATA or row.state is not RefreshState.SUCCEEDED


def _began(row: Any) -> datetime:
    at: datetime = row.started_at or row.data_timestamp
    return at


def _refresh(row: Any) -> dict[str, Any]:
    return {
        "name": str(row.name),
        "state": row.state.value,
        "action": row.action.value if row.action is not None else None,
        "trigger": row.trigger.value,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "data_timestamp": row.data_timestamp,
        "inserted": row.statistics.get("numInsertedRows", 0),
        "deleted": row.statistics.get("numDeletedRows", 0),
        "message": row.state_message,
        "query_id": row.query_id,
    }


def _costs(session: Session) -> dict[str, Any] | None:
    """The costs of the last day; nothing if the role may not know."""
    try:
        text = session.execute("SELECT SYSTEM$COST_REPORT(1)").rows()[0][0]
    except SnowmeltError:
        return None
    report: dict[str, Any] = json.loads(text)
    tables = sorted(report["tables"], key=lambda table: -table["cost_per_day"])[:_MOST_TABLES]
    return {"tables": tables, "purposes": report["purposes"], "credit_price": report["credit_price"]}


def _running(session: Session) -> int:
    account = session.account
    if not session.authority.on_account("MONITOR EXECUTION"):
        return sum(one.running is not None and one.user == session.user for one in account.sessions()) - 1
    return sum(one.running is not None for one in account.sessions() if one is not session)


def named_rows(result: Result) -> list[dict[str, Any]]:
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows()]
