"""Users, roles, grants and log-ins."""

from __future__ import annotations

from snowmelt.features.security import functions, grant_commands, user_commands
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.rights import history
from snowmelt.runtime.table_functions import TableFunction

FEATURE = Feature(
    "security",
    drops=user_commands.DROPS,
    handlers={**user_commands.HANDLERS, **grant_commands.HANDLERS},
    table_functions=(
        TableFunction("LOGIN_HISTORY", functions.LOGIN_ARGUMENTS, history.LOGIN_COLUMNS, functions.login_history),
        TableFunction(
            "LOGIN_HISTORY_BY_USER",
            ("USER_NAME", *functions.LOGIN_ARGUMENTS),
            history.LOGIN_COLUMNS,
            functions.login_history,
        ),
    ),
)
