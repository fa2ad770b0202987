"""Quality checks, the gate, and quarantine."""

from __future__ import annotations

from functools import partial

from snowmelt.features.quality import declaring, following
from snowmelt.features.quality import listing as quality
from snowmelt.features.quality.commands import execute_checks, replay_quarantine
from snowmelt.features.quality.gate import QualityGate
from snowmelt.features.quality.statements import (
    AddQualityCheck,
    DropQualityCheck,
    ExecuteQualityChecks,
    ReplayQuarantine,
    parse_add_check,
    parse_drop_check,
    parse_execute_checks,
    parse_replay,
)
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import Clauses, ShownRows, StatementGroup
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import Request, Subject, ask, table_named
from snowmelt.runtime.table_functions import TableFunction
from snowmelt.sql.statements.base import StatementKind
from snowmelt.sql.statements.kinds import ClauseSyntax, StatementSyntax


def _begin(account: Account) -> None:
    account.gate = gate = QualityGate(account)
    account.transactions.gate = gate.check
    account.lifecycle.columns_altered.subscribe(following.columns_altered)
    account.lifecycle.renamed.subscribe(following.renamed)
    account.lifecycle.swapped.subscribe(following.swapped)


FEATURE = Feature(
    "quality",
    clauses=(
        Clauses(
            syntax=(
                ClauseSyntax("ADD", ("QUALITY", "CHECK"), parse_add_check),
                ClauseSyntax("ADD", ("OR", "REPLACE", "QUALITY", "CHECK"), partial(parse_add_check, replaces=True)),
                ClauseSyntax("DROP", ("QUALITY", "CHECK"), parse_drop_check),
                ClauseSyntax("REPLAY", ("QUARANTINE",), parse_replay, of_dynamic=False),
            ),
            handlers={
                AddQualityCheck: declaring.add_check,
                DropQualityCheck: declaring.drop_check,
                ReplayQuarantine: replay_quarantine,
            },
        ),
    ),
    groups=(
        StatementGroup(
            syntax=StatementSyntax(
                {"EXECUTE QUALITY CHECKS": parse_execute_checks},
                {ExecuteQualityChecks: StatementKind("EXECUTE_QUALITY_CHECKS")},
            ),
            handlers={ExecuteQualityChecks: execute_checks},
            rules={"EXECUTE QUALITY CHECKS": (ask(Subject.TARGET, "SELECT"),)},
            requests={
                ExecuteQualityChecks: lambda statement: Request("EXECUTE QUALITY CHECKS", table_named(statement.name))
            },
        ),
    ),
    shows=(ShownRows(word="QUALITY CHECKS", listing=Listing(quality.checks), columns=quality.COLUMNS),),
    table_functions=(
        TableFunction(
            "QUALITY_CHECK_HISTORY",
            quality.HISTORY_ARGUMENTS,
            quality.HISTORY_COLUMNS,
            quality.history,
            about="TABLE_NAME",
        ),
    ),
    begin=_begin,
)
