"""Carrying out the rules of the settings: on metrics, and on queries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.notifications.conditions import QueriedConditions
from snowmelt.features.notifications.messages import Messages
from snowmelt.observe import alerting
from snowmelt.observe.alerting import Series, Tell
from snowmelt.observe.meters import COUNTED_HERE
from snowmelt.observe.metrics import METRICS

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)


class AlertRules:
    """What fires is in the state store: a restart neither forgets an alert nor tells of it twice."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._rules = account.settings.alert_rules
        self.conditions = QueriedConditions(account, self._rules)
        _check(account)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def check(self, series: Iterable[Series]) -> None:
        """One look at all rules; messages leave here."""
        with self._account.state.read() as state:
            before = state.observations.standings()
        series = [*series, *self.conditions.series()]
        now, unheard_of = self._account.clock.now(), self.conditions.sources | COUNTED_HERE
        verdict = alerting.evaluate(self._rules, series, before, now, unheard_of)
        changed = [item for key, item in verdict.standings.items() if before.get(key) != item]
        if changed or verdict.gone:
            with self._account.state.begin() as state:
                for item in changed:
                    state.observations.put_standing(item)
                for key in verdict.gone:
                    state.observations.forget_standing(key)
        for tell in verdict.tell:
            self._tell(tell)

    def _tell(self, tell: Tell) -> None:
        """What did not reach a channel is said there at the next look, and nowhere else again."""
        unheard: list[str] = []
        for channel in tell.channels:
            try:
                self._account.services[Messages].deliver(channel, tell.message, tell.message.title)
            except SnowmeltError as error:
                unheard.append(channel)
                _log.warning("an alert could not be sent", channel=channel, error=error.text)
        after = tell.unheard(unheard) if unheard else tell.after
        if after == tell.before or len(unheard) == len(tell.channels):
            return
        with self._account.state.begin() as state:
            if after is not None:
                state.observations.put_standing(after)
            else:
                state.observations.forget_standing(tell.key)

    def silence(self, rule: str, minutes: float) -> None:
        """Nobody hears of a rule for so long; 0 ends it."""
        if all(rule != known.name for known in self._rules):
            raise errors.not_found("Alert rule", rule)
        with self._account.state.begin() as state:
            until = state.now + timedelta(minutes=minutes)
            state.observations.put_standing(alerting.silence(rule, until, state.now))


def _check(account: Account) -> None:
    """A rule without a channel, or with a metric or channel that does not exist, is a mistake in the settings."""
    for rule in account.settings.alert_rules:
        if rule.metric is not None and rule.metric not in METRICS:
            raise errors.configuration(f"The alert rule '{rule.name}' watches '{rule.metric}', which is not a metric.")
        for channel in (*rule.channels, *rule.escalate_to):
            if channel not in account.settings.notifications:
                raise errors.configuration(
                    f"The alert rule '{rule.name}' names the channel '{channel}', which [notifications] does not have."
                )
