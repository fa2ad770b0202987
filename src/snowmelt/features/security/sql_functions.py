"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.features.security import functions
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.rights import history
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    tables=(
        TableFunction("LOGIN_HISTORY", functions.LOGIN_ARGUMENTS, history.LOGIN_COLUMNS, functions.login_history),
        TableFunction(
            "LOGIN_HISTORY_BY_USER",
            ("USER_NAME", *functions.LOGIN_ARGUMENTS),
            history.LOGIN_COLUMNS,
            functions.login_history,
        ),
    ),
)
