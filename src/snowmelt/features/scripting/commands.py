"""Functions and procedures: CREATE, ALTER, CALL, and the blocks that need no name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.type_errors import unknown_type
from snowmelt.core.types import DataType, parse_type
from snowmelt.features.scripting import packages, procedures, python
from snowmelt.features.scripting.statements import (
    AlterRoutine,
    CreateRoutine,
    RoutineArgument,
    RoutineOptions,
    SetExecuteAs,
)
from snowmelt.runtime.python_code import require_trust
from snowmelt.runtime.resolver import scalar_routine
from snowmelt.runtime.results import DONE, Result, kept, status
from snowmelt.sql import routines
from snowmelt.sql.bound import Scope
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.base import Action, ObjectType
from snowmelt.sql.statements.changes import RenameTo, SetOptions, SetSecure, UnsetOptions
from snowmelt.sql.tokens import SqlText
from snowmelt.state.ids import new_id
from snowmelt.state.model import Argument, CatalogObject, Column, ObjectKind, RoutineDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


# -- CREATE ------------------------------------------------------------------------------------------------------------


def create(run: Run, statement: CreateRoutine) -> Result:
    _refuse(run, statement)
    name = run.object_name(statement.name, f"CREATE {statement.kind}")
    definition = _definition(run, statement, name)
    _check(run, name, definition)
    kind = ObjectKind(statement.kind)
    with run.state.begin() as state:
        session_id = run.session.id if statement.temporary else None
        types = [argument.type for argument in definition.arguments]
        existing = [
            item for item in _overloads(state, name, kind, types, run.session.id) if item.session_id == session_id
        ]
        if existing and statement.if_not_exists:
            return kept(name.name, f"CREATE_{kind}")
        if existing and statement.or_replace:
            state.catalog.drop(existing[0].id, state.now)
        state.catalog.create(
            CatalogObject(
                id=new_id(),
                name=name,
                owner=run.session.role,
                comment=statement.options.comment,
                session_id=session_id,
                created_on=state.now,
                altered_on=state.now,
                definition=definition,
            )
        )
    return status(f"Function {quote(name.name)} successfully created.", f"CREATE_{kind}")


def _refuse(run: Run, statement: CreateRoutine) -> None:
    if statement.aggregate and (statement.language == "SQL" or statement.returns is None):
        raise errors.unsupported("CREATE AGGREGATE FUNCTION … LANGUAGE SQL", hint="Write it in Python.")
    if statement.language == "PYTHON":
        require_trust(run.account.settings)
        interpreter = run.account.settings.procedure_python if statement.kind == "PROCEDURE" else None
        packages.check(statement.kind, statement.options.packages or (), interpreter)
    if statement.options.imports is not None:
        raise errors.unsupported(f"CREATE {statement.kind} … IMPORTS", hint="Put the code into the body.")


def _definition(run: Run, statement: CreateRoutine, name: ObjectName) -> RoutineDefinition:
    assert statement.body is not None
    arguments = tuple(_argument(argument) for argument in statement.arguments)
    _no_duplicates([argument.name for argument in arguments])
    table = statement.returns_table
    columns = None if table is None else tuple(Column(name=c.name, type=_type(c.type)) for c in table)
    if columns is not None:
        _no_duplicates([column.name for column in columns])
    return RoutineDefinition(
        kind=statement.kind,
        arguments=arguments,
        returns=None if statement.returns is None else _type(statement.returns),
        returns_table=columns,
        language=statement.language,
        body=statement.body.text,
        handler=statement.options.handler,
        volatile=statement.volatility == "VOLATILE",
        immutable=statement.volatility == "IMMUTABLE",
        aggregate=statement.aggregate,
        strict=statement.strict,
        secure=statement.secure,
        execute_as_caller=statement.execute_as == "CALLER",
        database=name.database,
        schema=name.schema,
        text=run.sql.text,
    )


def _argument(argument: RoutineArgument) -> Argument:
    default = None if argument.default is None else argument.default.text
    return Argument(name=argument.name, type=_type(argument.type), default=default)


def _type(text: SqlText) -> DataType:
    found = parse_type(text.text)
    if found is None:
        raise unknown_type(text.text, text.line, text.column)
    return found


def _no_duplicates(names: list[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise errors.duplicate_column(quote(name))


def _check(run: Run, name: ObjectName, definition: RoutineDefinition) -> None:
    """Raises what is wrong with the body and the defaults, before anything is stored."""
    optional = False
    for argument in definition.arguments:
        optional = optional or argument.default is not None
        if optional and argument.default is None:
            raise errors.compilation(
                "001044", "42P13", f"Argument '{argument.name}' needs a default: it stands behind one that has one."
            )
    with run.environment() as environment:
        queries = QueryBinder(environment)
        binder = ExpressionBinder(environment, Scope(), queries)
        for argument in definition.arguments:
            if argument.default is not None:
                binder.cast(binder.bind(parse_snowflake(argument.default)), argument.type)
        if definition.kind == "FUNCTION" and definition.language == "SQL":
            routines.check(queries, binder, scalar_routine(str(name), definition))
    if definition.kind == "PROCEDURE" and definition.language == "SQL":
        procedures.body_of(definition.body)
    elif definition.language == "PYTHON":
        python.check(definition)


# -- ALTER -------------------------------------------------------------------------------------------------------------


def alter(run: Run, statement: AlterRoutine) -> Result:
    name = run.object_name(statement.name, f"ALTER {statement.kind}")
    wanted = [_type(text) for text in statement.arguments]
    word: Literal["FUNCTION", "PROCEDURE"] = "FUNCTION" if statement.kind is ObjectType.FUNCTION else "PROCEDURE"
    with run.state.begin() as state:
        found = _overloads(state, name, ObjectKind(word), wanted, run.session.id)
        if not found:
            if statement.if_exists:
                return status(DONE, f"ALTER_{word}")
            raise errors.not_found(word.capitalize(), quote(name.name))
        _change(run, state, found[0], statement.action, word)
    return status(DONE, f"ALTER_{word}")


def _change(run: Run, state: StateTransaction, item: CatalogObject, action: Action, word: str) -> None:
    definition = item.definition
    assert isinstance(definition, RoutineDefinition)
    match action:
        case RenameTo(new_name=reference):
            parts = run.parts(reference)
            short = len(parts) == 1
            new = ObjectName(item.name.database, item.name.schema, parts[0]) if short else run.object_name(parts)
            state.catalog.rename(item.id, new)
            moved = state.catalog.by_id(item.id)
            assert moved is not None
            home = definition.model_copy(update={"database": new.database, "schema_": new.schema})
            state.catalog.update(moved.model_copy(update={"definition": home, "altered_on": state.now}))
        case SetExecuteAs(caller=caller):
            _update(state, item, definition.model_copy(update={"execute_as_caller": caller}))
        case SetSecure(secure=secure):
            _update(state, item, definition.model_copy(update={"secure": secure}))
        case SetOptions(options=RoutineOptions() as options) if set(options.given()) == {"COMMENT"}:
            _update(state, item, definition, comment=options.comment)
        case UnsetOptions(names=("COMMENT",)):
            _update(state, item, definition, comment=None)
        case _:
            raise errors.unsupported(f"this ALTER {word}")


def _update(state: StateTransaction, item: CatalogObject, definition: RoutineDefinition, **changes: str | None) -> None:
    state.catalog.update(item.model_copy(update={"definition": definition, "altered_on": state.now, **changes}))


def _overloads(
    state: StateTransaction, name: ObjectName, kind: ObjectKind, types: list[DataType], session_id: str
) -> list[CatalogObject]:
    """The routine of that name and those argument types; a temporary one of the session comes first."""
    kinds = [type_.kind for type_ in types]
    return [
        item
        for item in state.catalog.routines(name, kind, session_id)
        if isinstance(item.definition, RoutineDefinition)
        and [argument.type.kind for argument in item.definition.arguments] == kinds
    ]
