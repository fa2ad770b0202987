"""The rights that tasks ask for, and alerts, which run as tasks do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snowmelt.runtime.kinds import Requests
from snowmelt.runtime.rights.asks import (
    OWNERSHIP,
    SWITCHES,
    WAREHOUSE_USAGE,
    Ask,
    Named,
    RightsRequest,
    Subject,
    ask,
    ask_creator,
    ask_owner,
    created,
    source_of,
)
from snowmelt.sql.statements.base import ObjectType, Statement
from snowmelt.sql.statements.warehouses import Resume

PRIVILEGES = ("OPERATE", "MONITOR")


def rules(kind: ObjectType) -> dict[str, tuple[Ask, ...]]:
    """What CREATE, ALTER and EXECUTE ask for."""
    return {
        f"CREATE {kind}": ask_creator(kind, WAREHOUSE_USAGE),
        f"CREATE {kind} CLONE": ask_creator(kind, ask(Subject.SOURCE, OWNERSHIP)),
        f"ALTER {kind}": ask_owner(),
        f"ALTER {kind} OPERATE": (ask(Subject.TARGET, "OPERATE"),),
        f"EXECUTE {kind}": (ask(Subject.TARGET, "OPERATE"),),
    }


def requests(
    kind: ObjectType, creates: type[Statement], alters: type[Statement], executes: type[Statement]
) -> Mapping[type[Statement], Requests]:
    """Which of the rules a statement names. What resumes or runs one lets it run, so its owner must be allowed to."""

    def create(statement: Any) -> RightsRequest:
        rule = f"CREATE {kind}" if statement.clone is None else f"CREATE {kind} CLONE"
        return created(rule, kind, statement, source_of(kind, statement.clone), statement.options.warehouse)

    def alter(statement: Any) -> RightsRequest:
        rule = f"ALTER {kind} OPERATE" if isinstance(statement.action, SWITCHES) else f"ALTER {kind}"
        return RightsRequest(rule, Named(kind, statement.name), is_run=isinstance(statement.action, Resume))

    def execute(statement: Any) -> RightsRequest:
        return RightsRequest(f"EXECUTE {kind}", Named(kind, statement.name), is_run=True)

    return {creates: create, alters: alter, executes: execute}
