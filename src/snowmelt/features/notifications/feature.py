"""Notifications and alert rules. The kind ALERT is in `snowmelt.features.alerts`."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.notifications import sending
from snowmelt.features.notifications.messages import Messages
from snowmelt.features.notifications.rules import Rules
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction


def _begin(account: Account) -> None:
    account.services.add(Messages(account))
    rules = account.services.add(Rules(account))
    account.at_close(rules.conditions.stop)


FEATURE = Feature(
    "notifications",
    system_functions={
        "SYSTEM$SEND_EMAIL": SystemFunction(4, 5, types.BOOLEAN, sending.send_email, only_called=True),
        "SYSTEM$SEND_SNOWFLAKE_NOTIFICATION": SystemFunction(
            2, 2, types.VARCHAR, sending.send_notification, only_called=True
        ),
        "SYSTEM$SILENCE_ALERT_RULE": SystemFunction(2, 2, types.VARCHAR, sending.silence, only_called=True),
    },
    table_functions=(
        TableFunction(
            "NOTIFICATION_HISTORY", sending.HISTORY_ARGUMENTS, sending.HISTORY_COLUMNS, sending.notification_history
        ),
        TableFunction("ALERT_RULE_STATUS", (), sending.STATUS_COLUMNS, sending.rule_status),
    ),
    begin=_begin,
)
