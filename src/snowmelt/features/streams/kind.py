"""The kind STREAM: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.streams.definitions import STREAM, StreamDefinition
from snowmelt.features.streams.statements import (
    AlterStream,
    CreateStream,
    parse_alter_stream,
    parse_create_stream,
)
from snowmelt.runtime.kinds import InProjects, KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import Named, RightsRequest, Subject, ask, ask_creator, ask_owner, created, source_of
from snowmelt.sql.statements import base
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.streams import listing
    from snowmelt.features.streams.cloned import add
    from snowmelt.features.streams.commands import alter_stream, create_stream
    from snowmelt.features.streams.listing import ddl, described, streams
    from snowmelt.features.streams.references import follow


def _create(statement: CreateStream) -> RightsRequest:
    read = ObjectType.TABLE if statement.clone is None else STREAM
    return created("CREATE STREAM", STREAM, statement, source_of(read, statement.clone, statement.source))


KIND = KindDescription(
    syntax=KindSyntax(
        STREAM,
        CreateRule(parse_create_stream, or_alter=True),
        parse_alter_stream,
        {CreateStream: base.ddl("CREATE_STREAM"), AlterStream: base.ddl("ALTER_STREAM")},
        is_described=True,
        is_undropped=True,
    ),
    noun="Stream",
    definition=StreamDefinition,
    handlers={CreateStream: create_stream, AlterStream: alter_stream},
    listing=Listing(streams),
    columns=lambda: listing.COLUMNS,
    terse=lambda: listing.TERSE,
    describe=lambda run, state, item: (listing.COLUMNS, [described(run, state, item)]),
    ddl=ddl,
    script_order=70,
    privileges=("SELECT",),
    rules={
        "CREATE STREAM": ask_creator(STREAM, ask(Subject.SOURCE, "SELECT")),
        "ALTER STREAM": ask_owner(),
    },
    requests={
        CreateStream: _create,
        AlterStream: lambda statement: RightsRequest("ALTER STREAM", Named(STREAM, statement.name)),
    },
    clone=add,
    follow=follow,
    forget=lambda state, item: state.streams.delete_for(item.id),
    in_projects=InProjects(statement=CreateStream, drop_order=40),
)
