"""Queries that rules are on: run now and then, beside everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.config import AlertRuleSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.observe.alerting import Series
from snowmelt.runtime.rights.authority import SYSTEM

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)


class QueriedConditions:
    """How many rows the query of each rule had when it last ran. Nobody waits for one: Spark may take its time."""

    def __init__(self, account: Account, rules: Sequence[AlertRuleSettings]) -> None:
        self._account = account
        self._rules = [rule for rule in rules if rule.sql is not None]
        self._rows: dict[str, int] = {}
        self._asked: dict[str, datetime] = {}
        self._running: dict[str, Future[None]] = {}
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="snowmelt-rules") if self._rules else None

    def series(self) -> Iterator[Series]:
        """The numbers known now. Starts queries that are due. A failed one keeps its number: errors clear nothing."""
        now = self._account.clock.now()
        for rule in self._rules:
            running, asked = self._running.get(rule.name), self._asked.get(rule.name)
            due = asked is None or now - asked >= timedelta(seconds=rule.every_seconds)
            if self._workers is not None and due and (running is None or running.done()):
                self._asked[rule.name] = now
                self._running[rule.name] = self._workers.submit(self._ask, rule)
            if rule.name in self._rows:
                yield Series(rule.source, {}, float(self._rows[rule.name]))

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(rule.source for rule in self._rules)

    def unknown(self) -> list[AlertRuleSettings]:
        """Rules whose query has no result yet, since the process started."""
        return [rule for rule in self._rules if rule.name not in self._rows]

    def wait(self) -> None:
        """Until the queries that run are done."""
        for running in list(self._running.values()):
            running.result()

    def stop(self) -> None:
        if self._workers is not None:
            self._workers.shutdown(cancel_futures=True)

    def _ask(self, rule: AlertRuleSettings) -> None:
        try:
            session = self._account.session(
                user=SYSTEM, role=rule.role, database=rule.database, schema=rule.schema_
            )  # fmt: skip
            with closing(session):
                session.acts_as_owner = True
                self._rows[rule.name] = session.execute(rule.sql or "").row_count
        except SnowmeltError as error:
            _log.warning("the query of an alert rule failed", rule=rule.name, error=error.text)
