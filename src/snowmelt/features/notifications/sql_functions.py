"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.notifications import sending
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$SEND_EMAIL": SystemFunction(4, 5, types.BOOLEAN, sending.send_email, only_called=True),
        "SYSTEM$SEND_SNOWFLAKE_NOTIFICATION": SystemFunction(
            2, 2, types.VARCHAR, sending.send_notification, only_called=True
        ),
        "SYSTEM$SILENCE_ALERT_RULE": SystemFunction(2, 2, types.VARCHAR, sending.silence, only_called=True),
    },
    tables=(
        TableFunction(
            "NOTIFICATION_HISTORY", sending.HISTORY_ARGUMENTS, sending.HISTORY_COLUMNS, sending.notification_history
        ),
        TableFunction("ALERT_RULE_STATUS", (), sending.STATUS_COLUMNS, sending.rule_status),
    ),
)
