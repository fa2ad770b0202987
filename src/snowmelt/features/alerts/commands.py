"""CREATE ALERT, ALTER ALERT and EXECUTE ALERT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.features.alerts import changing
from snowmelt.features.alerts.statements import AlterAlert, CreateAlert, ExecuteAlert
from snowmelt.runtime.results import DONE, Result, status

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_alert(run: Run, statement: CreateAlert) -> Result:
    return status(changing.create(run, statement), "CREATE_ALERT")


def alter_alert(run: Run, statement: AlterAlert) -> Result:
    changing.alter(run, statement.name, statement.action, if_exists=statement.if_exists)
    return status(DONE, "ALTER_ALERT")


def execute_alert(run: Run, statement: ExecuteAlert) -> Result:
    return status(changing.execute(run, statement.name), "EXECUTE_ALERT")
