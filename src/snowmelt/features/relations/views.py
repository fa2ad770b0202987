"""CREATE VIEW and ALTER VIEW."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.relations.alter_tables import rename, swap
from snowmelt.runtime import declaring, kinds, schema_objects
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.binders import Environment, Guards
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.changes import (
    RenameTo,
    SetColumnComment,
    SetOptions,
    SetSecure,
    SwapWith,
    UnsetOptions,
)
from snowmelt.sql.statements.views import AlterView, CreateView, ViewOptions
from snowmelt.state.model import CatalogObject, Column, ViewDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_view(run: Run, statement: CreateView) -> Result:
    if statement.recursive:
        raise errors.unsupported("RECURSIVE VIEW")
    name = run.object_name(statement.name, "CREATE VIEW")
    tree = parse_snowflake(statement.query.text, line=statement.query.line, column=statement.query.column)
    if not statement.columns:
        declaring.require_names(tree)
    with run.state.read() as state:
        # Names in a view mean what they mean in the view's own schema, wherever it was created from.
        catalog = StatementCatalog(run, state, name.database, name.schema)
        catalog.defining = name
        query = QueryBinder(Environment(catalog, run.context), guards=Guards(declares=True)).bind(tree)
    definition = ViewDefinition(
        columns=_columns(statement, query),
        query=statement.query.text,
        database=name.database,
        schema=name.schema,
        text=run.sql.text,
        secure=statement.secure,
        change_tracking=bool(statement.options.change_tracking),
    )
    tracked = run.account.changes.tables_behind(run, name, definition) if definition.change_tracking else []
    result = _create(run, statement, name, definition)
    run.account.changes.track_all(run, tracked)
    return result


def _create(run: Run, statement: CreateView, name: ObjectName, definition: ViewDefinition) -> Result:
    item = CatalogObject(
        id="", name=name, owner=run.session.role, session_id=run.session.id if statement.temporary else None,
        created_on=run.now, altered_on=run.now, definition=definition,
    )  # fmt: skip
    contract = run.account.contracts.wanted(run, statement.options, item, definition.columns)
    if statement.or_alter and _altered(run, statement, definition):
        return status(f"View {quote(name.name)} successfully altered.", "CREATE_VIEW")
    if statement.or_replace and not statement.temporary:
        run.account.lifecycle.replacing(run, name, definition.columns)
    return schema_objects.create(
        run,
        ObjectType.VIEW,
        statement.name,
        definition,
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        temporary=statement.temporary,
        comment=statement.options.comment,
        contract=contract,
    )


def _altered(run: Run, statement: CreateView, definition: ViewDefinition) -> bool:
    """Makes the view that has the name what the statement says; False when there is none."""
    with run.state.read() as state:
        found = schema_objects.find(run, state, ObjectType.VIEW, statement.name)
    if found is None:
        return False
    run.account.lifecycle.columns_changing(run, found, definition.columns)
    values = {name: getattr(definition, name) for name in type(definition).model_fields if name != "kind"}
    schema_objects.alter(
        run, found, values, comment=statement.options.comment, uncomment=statement.options.comment is None
    )
    run.account.contracts.set_contract(run, found.model_copy(update={"definition": definition}), statement.options)
    return True


def _columns(statement: CreateView, query: BoundQuery) -> tuple[Column, ...]:
    declared = statement.columns
    if declared and len(declared) != len(query.columns):
        raise errors.compilation("002026", "42601", "Invalid column definition list")
    columns: list[Column] = []
    for index, produced in enumerate(query.columns):
        called = declared[index].name if declared else produced.name
        if any(column.name == called for column in columns):
            raise errors.duplicate_column(called)
        comment = declared[index].comment if declared else None
        columns.append(Column(name=called, type=declaring.stored_type(produced.type), comment=comment))
    return tuple(columns)


def alter_view(run: Run, statement: AlterView) -> Result:
    view = schema_objects.to_alter(run, ObjectType.VIEW, statement.name, if_exists=statement.if_exists)
    if view is None:
        return status(DONE, "ALTER_VIEW")
    if kinds.annotate_relation(run, view, statement.actions) is not None:
        return status(DONE, "ALTER_VIEW")
    for action in statement.actions:
        match action:
            case RenameTo(new_name=new_name):
                rename(run, view, new_name)
            case SwapWith(other=other):
                with run.state.read() as state:
                    found = schema_objects.require(run, state, ObjectType.VIEW, other)
                swap(run, view, found)
            case SetSecure(secure=secure):
                schema_objects.alter(run, view, {"secure": secure})
            case SetColumnComment(column=column, comment=comment):
                comment_column(run, view, column, comment)
            case SetOptions(options=options):
                assert isinstance(options, ViewOptions)
                _set_options(run, view, options)
            case UnsetOptions(names=names):
                untracked = {"change_tracking": False} if "CHANGE_TRACKING" in names else {}
                run.account.contracts.set_contract(run, view, ViewOptions(), names)
                schema_objects.alter(run, view, untracked, uncomment="COMMENT" in names)
            case _:
                raise errors.unsupported_action("VIEW", action)
    return status(DONE, "ALTER_VIEW")


def _set_options(run: Run, view: CatalogObject, options: ViewOptions) -> None:
    assert isinstance(view.definition, ViewDefinition)
    tables = run.account.changes.tables_behind(run, view.name, view.definition) if options.change_tracking else []
    run.account.contracts.set_contract(run, view, options)
    changed = {} if options.change_tracking is None else {"change_tracking": options.change_tracking}
    schema_objects.alter(run, view, changed, comment=options.comment)
    run.account.changes.track_all(run, tables)


def comment_column(run: Run, view: CatalogObject, column: str, comment: str | None) -> None:
    with run.state.read() as state:
        current = state.catalog.by_id(view.id)
    definition = current.definition if current is not None else view.definition
    assert isinstance(definition, ViewDefinition)
    if all(item.name != column for item in definition.columns):
        raise errors.invalid_identifier(quote(column), 1, 0)
    columns = tuple(
        item.model_copy(update={"comment": comment}) if item.name == column else item for item in definition.columns
    )
    schema_objects.alter(run, view, {"columns": columns})
