"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.alerts import history, inside
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SNOWFLAKE.ALERT.GET_CONDITION_QUERY_UUID": SystemFunction(0, 0, types.VARCHAR, inside.condition_query),
        "SNOWFLAKE.ALERT.LAST_SUCCESSFUL_SCHEDULED_TIME": SystemFunction(
            0, 0, types.TIMESTAMP_LTZ, inside.last_successful_time
        ),
        "SNOWFLAKE.ALERT.SCHEDULED_TIME": SystemFunction(0, 0, types.TIMESTAMP_LTZ, inside.scheduled_time),
        "SNOWFLAKE.NOTIFICATION.APPLICATION_JSON": SystemFunction(1, 1, types.VARCHAR, inside.application_json),
        "SNOWFLAKE.NOTIFICATION.EMAIL_INTEGRATION_CONFIG": SystemFunction(
            2, 3, types.VARCHAR, inside.email_integration
        ),
        "SNOWFLAKE.NOTIFICATION.INTEGRATION": SystemFunction(1, 1, types.VARCHAR, inside.integration),
        "SNOWFLAKE.NOTIFICATION.TEXT_HTML": SystemFunction(1, 1, types.VARCHAR, inside.text_html),
        "SNOWFLAKE.NOTIFICATION.TEXT_PLAIN": SystemFunction(1, 1, types.VARCHAR, inside.text_plain),
    },
    tables=(
        TableFunction(
            "ALERT_HISTORY", history.HISTORY_ARGUMENTS, history.HISTORY_COLUMNS, history.alert_history, about="NAME"
        ),
    ),
)
