"""Notifications and alert rules. The kind ALERT is in `snowmelt.features.alerts`."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.notifications import messages, rules, sql_functions


def _begin(account: Account) -> None:
    account.services.offer(messages, "Messages", account)
    offered = account.services.offer(rules, "AlertRules", account)
    if account.settings.alert_rules:
        # What is wrong with them is said when the account opens.
        account.at_close(offered.conditions.stop)


FEATURE = Feature(
    "notifications",
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
)
