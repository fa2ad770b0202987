"""Quality checks, the gate, and quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from snowmelt.core.lazy import lazy_imports
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
from snowmelt.runtime.kinds import AlterClauses, ShownRows, StatementGroup
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.pending import PendingTable, Transaction
from snowmelt.runtime.rights.asks import RightsRequest, Subject, ask, table_named
from snowmelt.sql.statements.base import StatementKind
from snowmelt.sql.statements.kinds import ClauseSyntax, StatementSyntax

with lazy_imports():
    from snowmelt.features.quality import gate, listing, sql_functions
    from snowmelt.features.quality.commands import execute_checks, replay_quarantine
    from snowmelt.features.quality.declaring import add_check, drop_check
    from snowmelt.features.quality.following import columns_altered, renamed, swapped
    from snowmelt.features.quality.listing import checks
    from snowmelt.features.quality.quarantine import base_of


def _begin(account: Account) -> None:
    account.gate = offered = account.services.offer(gate, "QualityGate", account)

    def check(transaction: Transaction, items: Sequence[PendingTable]) -> None:
        offered.check(transaction, items)

    account.transactions.gate = check
    account.set_aside.append(base_of)
    account.lifecycle.columns_altered.subscribe(columns_altered)
    account.lifecycle.renamed.subscribe(renamed)
    account.lifecycle.swapped.subscribe(swapped)


FEATURE = Feature(
    "quality",
    clauses=(
        AlterClauses(
            syntax=(
                ClauseSyntax("ADD", ("QUALITY", "CHECK"), parse_add_check),
                ClauseSyntax("ADD", ("OR", "REPLACE", "QUALITY", "CHECK"), partial(parse_add_check, replaces=True)),
                ClauseSyntax("DROP", ("QUALITY", "CHECK"), parse_drop_check),
                ClauseSyntax("REPLAY", ("QUARANTINE",), parse_replay, of_dynamic=False),
            ),
            handlers={
                AddQualityCheck: add_check,
                DropQualityCheck: drop_check,
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
                ExecuteQualityChecks: lambda statement: RightsRequest(
                    "EXECUTE QUALITY CHECKS", table_named(statement.name)
                )
            },
        ),
    ),
    shows=(ShownRows(word="QUALITY CHECKS", listing=Listing(checks), columns=lambda _: listing.COLUMNS),),
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
)
