"""The kind PIPE: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.pipes.definitions import PIPE, PipeDefinition
from snowmelt.features.pipes.statements import (
    AlterPipe,
    CreatePipe,
    RefreshPipe,
    parse_alter_pipe,
    parse_create_pipe,
)
from snowmelt.runtime.kinds import KindDescription
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
    from snowmelt.features.pipes import listing
    from snowmelt.features.pipes.commands import alter_pipe, create_pipe, refresh_pipe
    from snowmelt.features.pipes.listing import ddl, described, pipes


def _create(statement: CreatePipe) -> list[RightsRequest]:
    return [
        created("CREATE PIPE", PIPE, statement),
        RightsRequest("COPY INTO TABLE", table_named(statement.copy.target)),
    ]


KIND = KindDescription(
    syntax=KindSyntax(
        PIPE,
        CreateRule(parse_create_pipe),
        parse_alter_pipe,
        {
            CreatePipe: base.ddl("CREATE_PIPE"),
            AlterPipe: base.ddl("ALTER_PIPE"),
            RefreshPipe: base.StatementKind("ALTER_PIPE"),
        },
        is_described=True,
    ),
    noun="Pipe",
    definition=PipeDefinition,
    handlers={CreatePipe: create_pipe, AlterPipe: alter_pipe, RefreshPipe: refresh_pipe},
    listing=Listing(pipes),
    columns=lambda: listing.COLUMNS,
    describe=described,
    ddl=ddl,
    # Behind the tables, stages and file formats that it names.
    script_order=90,
    privileges=("MONITOR", "OPERATE"),
    rules={
        "CREATE PIPE": ask_creator(PIPE),
        "ALTER PIPE": ask_owner(),
        "REFRESH PIPE": (ask(Subject.TARGET, "OPERATE"),),
    },
    requests={
        CreatePipe: _create,
        AlterPipe: lambda statement: altered("ALTER PIPE", PIPE, statement.name, statement.action),
        RefreshPipe: lambda statement: RightsRequest("REFRESH PIPE", Named(PIPE, statement.name)),
    },
)
