"""The kinds FUNCTION and PROCEDURE, and the statements that run scripts: all that the runtime has to know of them."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.scripting.statements import (
    CREATE_FUNCTION,
    CREATE_PROCEDURE,
    AlterFunction,
    AlterProcedure,
    AlterRoutine,
    CreateFunction,
    CreateProcedure,
    CreateRoutine,
    parse_alter_routine,
)
from snowmelt.runtime.kinds import InProjects, KindDescription, ShownRows, StatementGroup
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import Named, RightsRequest, Subject, altered, ask, ask_creator, ask_owner
from snowmelt.sql.statements import base
from snowmelt.sql.statements.base import AnonymousBlock, ObjectType, StatementKind
from snowmelt.sql.statements.calls import Call, ExecuteImmediate, parse_call, parse_execute_immediate
from snowmelt.sql.statements.kinds import KindSyntax, StatementSyntax
from snowmelt.state.model import RoutineDefinition

with lazy_imports():
    from snowmelt.features.scripting import listing
    from snowmelt.features.scripting.commands import alter, create
    from snowmelt.features.scripting.ddl import ddl
    from snowmelt.features.scripting.listing import (
        builtin_functions,
        described,
        functions,
        nothing,
        procedures,
        user_functions,
    )
    from snowmelt.features.scripting.procedures import anonymous_block, call, execute_immediate
    from snowmelt.runtime.metadata import layouts


def _create(statement: CreateRoutine) -> RightsRequest:
    types = tuple(argument.type for argument in statement.arguments)
    named = Named(ObjectType(statement.kind), statement.name, types)
    return RightsRequest(f"CREATE {statement.kind}", replaced=named if statement.or_replace else None, created=named)


def _alter(statement: AlterRoutine) -> RightsRequest:
    return altered(
        f"ALTER {statement.kind}", statement.kind, statement.name, statement.action, statement.arguments
    )  # fmt: skip


FUNCTION = KindDescription(
    syntax=KindSyntax(
        ObjectType.FUNCTION,
        CREATE_FUNCTION,
        parse_alter_routine,
        {CreateFunction: base.ddl("CREATE_FUNCTION"), AlterFunction: base.ddl("ALTER_FUNCTION")},
        has_arguments=True,
        is_described=True,
    ),
    noun="Function",
    definition=RoutineDefinition,
    handlers={CreateFunction: create, AlterFunction: alter},
    listing=Listing(functions, paged=False),
    columns=lambda: listing.FUNCTION_COLUMNS,
    describe=lambda run, _, item: (layouts.DESCRIBE_PROPERTIES, described(run, item)),
    ddl=ddl,
    # Behind the tables that functions read, before the views that call them.
    script_order=50,
    privileges=("USAGE",),
    rules={"CREATE FUNCTION": ask_creator("FUNCTION"), "ALTER FUNCTION": ask_owner()},
    requests={CreateFunction: _create, AlterFunction: _alter},
    is_renamed=True,
    in_projects=InProjects(statement=CreateFunction, drop_order=110),
)

PROCEDURE = KindDescription(
    syntax=KindSyntax(
        ObjectType.PROCEDURE,
        CREATE_PROCEDURE,
        parse_alter_routine,
        {CreateProcedure: base.ddl("CREATE_PROCEDURE"), AlterProcedure: base.ddl("ALTER_PROCEDURE")},
        has_arguments=True,
        is_described=True,
        shown_as=("USER PROCEDURES",),
    ),
    noun="Procedure",
    definition=RoutineDefinition,
    handlers={CreateProcedure: create, AlterProcedure: alter},
    listing=Listing(procedures, paged=False),
    columns=lambda: listing.PROCEDURES,
    describe=lambda run, _, item: (layouts.DESCRIBE_PROPERTIES, described(run, item)),
    ddl=ddl,
    script_order=80,
    privileges=("USAGE",),
    rules={"CREATE PROCEDURE": ask_creator("PROCEDURE"), "ALTER PROCEDURE": ask_owner()},
    requests={CreateProcedure: _create, AlterProcedure: _alter},
    is_renamed=True,
    in_projects=InProjects(statement=CreateProcedure, drop_order=100),
)

SHOWN = (
    ShownRows(
        word="USER FUNCTIONS", listing=Listing(user_functions, paged=False), columns=lambda _: listing.FUNCTION_COLUMNS
    ),
    ShownRows(
        word="BUILTIN FUNCTIONS",
        listing=Listing(builtin_functions, paged=False),
        columns=lambda _: listing.FUNCTION_COLUMNS,
    ),
    ShownRows(
        word="EXTERNAL FUNCTIONS", listing=Listing(nothing, paged=False), columns=lambda _: listing.FUNCTION_COLUMNS
    ),
    ShownRows(word="BUILTIN PROCEDURES", listing=Listing(nothing, paged=False), columns=lambda _: listing.PROCEDURES),
)

SCRIPTS = StatementGroup(
    syntax=StatementSyntax(
        {"CALL": parse_call, "EXECUTE IMMEDIATE": parse_execute_immediate},
        {
            Call: StatementKind("CALL"),
            AnonymousBlock: StatementKind("CALL"),
            ExecuteImmediate: StatementKind("EXECUTE_IMMEDIATE"),
        },
    ),
    handlers={Call: call, AnonymousBlock: anonymous_block, ExecuteImmediate: execute_immediate},
    # CALL asks where the procedure is found.
    rules={"CALL": (ask(Subject.TARGET, "USAGE"),)},
)
