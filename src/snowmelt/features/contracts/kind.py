"""The kind CONTRACT: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.contracts.definitions import CONTRACT, ContractDefinition
from snowmelt.features.contracts.statements import (
    AddConsumer,
    AlterContract,
    CheckContract,
    CreateContract,
    DropConsumer,
    parse_alter_contract,
    parse_create_contract,
)
from snowmelt.runtime.kinds import InProjects, KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import (
    Named,
    RightsRequest,
    Subject,
    altered,
    ask,
    ask_creator,
    ask_owner,
    created,
    table_named,
)
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.contracts import enforcing, listing
    from snowmelt.features.contracts.commands import alter_contract, check_contract, create_contract
    from snowmelt.features.contracts.ddl import contract_ddl
    from snowmelt.features.contracts.listing import contracts, described


def _create(statement: CreateContract) -> RightsRequest:
    table = statement.source.table
    if table is None:
        return created("CREATE CONTRACT", CONTRACT, statement)
    return created("CREATE CONTRACT FROM TABLE", CONTRACT, statement, table_named(table))


def _alter(statement: AlterContract) -> RightsRequest:
    if isinstance(statement.action, AddConsumer | DropConsumer):
        return RightsRequest("ALTER CONTRACT CONSUMER", Named(CONTRACT, statement.name))
    return altered("ALTER CONTRACT", CONTRACT, statement.name, statement.action)


def _check(statement: CheckContract) -> RightsRequest:
    return RightsRequest("CHECK CONTRACT", Named(CONTRACT, statement.name))


KIND = KindDescription(
    syntax=KindSyntax(
        CONTRACT,
        CreateRule(parse_create_contract),
        parse_alter_contract,
        {
            CreateContract: base.ddl("CREATE_CONTRACT"),
            AlterContract: base.ddl("ALTER_CONTRACT"),
            CheckContract: base.StatementKind("CHECK_CONTRACT"),
        },
        is_described=True,
    ),
    noun="Contract",
    definition=ContractDefinition,
    handlers={CreateContract: create_contract, AlterContract: alter_contract, CheckContract: check_contract},
    listing=Listing(contracts),
    columns=lambda: listing.COLUMNS,
    describe=described,
    ddl=contract_ddl,
    script_order=120,
    privileges=("USAGE", "APPLY"),
    rules={
        "CREATE CONTRACT": ask_creator(CONTRACT),
        "CREATE CONTRACT FROM TABLE": ask_creator(CONTRACT, ask(Subject.SOURCE, "SELECT", "REFERENCES")),
        "ALTER CONTRACT": ask_owner(),
        "ALTER CONTRACT CONSUMER": (ask(Subject.TARGET, "USAGE"),),
        "CHECK CONTRACT": (ask(Subject.TARGET, "USAGE", "APPLY"),),
    },
    requests={CreateContract: _create, AlterContract: _alter, CheckContract: _check},
    is_renamed=True,
    before_drop=lambda state, item: enforcing.check_contract_unused(state, item, "dropped"),
    in_projects=InProjects(statement=CreateContract, drop_order=90),
)
