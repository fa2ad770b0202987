"""CREATE ALERT, ALTER ALERT and EXECUTE ALERT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.service.alerts import changing
from snowmelt.service.results import DONE, Result, status
from snowmelt.sql.statements.alerts import AlterAlert, CreateAlert, ExecuteAlert
from snowmelt.sql.statements.base import Statement

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def create_alert(run: Run, statement: CreateAlert) -> Result:
    return status(changing.create(run, statement), "CREATE_ALERT")


def alter_alert(run: Run, statement: AlterAlert) -> Result:
    changing.alter(run, statement.name, statement.action, if_exists=statement.if_exists)
    return status(DONE, "ALTER_ALERT")


def execute_alert(run: Run, statement: ExecuteAlert) -> Result:
    return status(changing.execute(run, statement.name), "EXECUTE_ALERT")


HANDLERS: dict[type[Statement], Any] = {
    CreateAlert: create_alert,
    AlterAlert: alter_alert,
    ExecuteAlert: execute_alert,
}
