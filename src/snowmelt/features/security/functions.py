"""Table functions over log-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.rights import history
from snowmelt.runtime.table_functions import Arguments
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


LOGIN_ARGUMENTS = ("TIME_RANGE_START", "TIME_RANGE_END", "RESULT_LIMIT")


def login_history(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    start, end = arguments.instant("TIME_RANGE_START"), arguments.instant("TIME_RANGE_END")
    return history.logins(run, arguments.limit(100), start, end, arguments.identifier("USER_NAME"))
