"""CREATE and ALTER of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import ObjectName
from snowmelt.core.types import DataType, Kind
from snowmelt.features.policies.definitions import (
    AGGREGATION,
    CONSTRAINTS,
    MASKING,
    PROJECTION,
    ROW_ACCESS,
    AggregationPolicyDefinition,
    MaskingPolicyDefinition,
    PolicyDefinition,
    ProjectionPolicyDefinition,
    RowAccessPolicyDefinition,
    definition_of,
)
from snowmelt.features.policies.errors import wrong_arguments
from snowmelt.features.policies.statements import AlterPolicy, CreatePolicy, SetBody
from snowmelt.features.relations.alter_tables import rename
from snowmelt.runtime import schema_objects
from snowmelt.runtime.declaring import type_of
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Bound, Scope
from snowmelt.sql.constraints import as_value
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.options import CommentOption
from snowmelt.state.model import Argument

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


_DEFINITIONS: dict[str, type[PolicyDefinition]] = {
    MASKING: MaskingPolicyDefinition, ROW_ACCESS: RowAccessPolicyDefinition, PROJECTION: ProjectionPolicyDefinition,
    AGGREGATION: AggregationPolicyDefinition,
}  # fmt: skip


def create_policy(run: Run, statement: CreatePolicy) -> Result:
    kind = statement.kind
    constraint = CONSTRAINTS.get(kind)
    if constraint is not None and statement.returns.text.strip().upper() != constraint:
        raise wrong_arguments(".".join(statement.name.parts), f"it must return {constraint}")
    arguments = tuple(Argument(name=name, type=type_of(text)) for name, text in statement.arguments)
    returns = types.VARCHAR if constraint is not None else type_of(statement.returns)
    values = {"arguments": arguments, "returns": returns, "body": statement.body.text.strip()}
    definition = _DEFINITIONS[kind].model_validate(values)
    _check(run, run.object_name(statement.name, "CREATE POLICY"), definition, run.session.role)
    return schema_objects.create(
        run,
        kind,
        statement.name,
        definition,
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        comment=statement.comment,
    )


def alter_policy(run: Run, statement: AlterPolicy) -> Result:
    kind = statement.kind
    done = status(DONE, f"ALTER_{kind.replace(' ', '_')}")
    found = schema_objects.to_alter(run, kind, statement.name, if_exists=statement.if_exists)
    if found is None:
        return done
    match statement.action:
        case RenameTo(new_name=new_name):
            rename(run, found, new_name)
        case SetBody(body=body):
            definition = definition_of(found).model_copy(update={"body": body.text.strip()})
            _check(run, found.name, definition, found.owner)
            schema_objects.alter(run, found, {"body": definition.body})
        case SetOptions(options=CommentOption() as options):
            schema_objects.alter(run, found, {}, comment=options.comment)
        case UnsetOptions():
            schema_objects.alter(run, found, {}, uncomment=True)
        case other:
            raise errors.unsupported_action(kind, other)
    return done


def _check(run: Run, name: ObjectName, definition: PolicyDefinition, owner: str) -> None:
    """Raises what is wrong with a policy: it is asked about rows only once it is set on something."""
    names = [one.name for one in definition.arguments]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise errors.duplicate_column(twice)
    if definition.kind in CONSTRAINTS:
        if names:
            raise wrong_arguments(str(name), "a policy of its kind has no arguments")
        _type_of_body(run, name, definition, owner)
        return
    if not names:
        raise wrong_arguments(str(name), "it has no arguments")
    masks = isinstance(definition, MaskingPolicyDefinition)
    wanted = definition.arguments[0].type if masks else types.BOOLEAN
    if definition.returns.kind is not wanted.kind:
        raise wrong_arguments(str(name), f"it returns {definition.returns}, not {wanted.kind.value}")
    found = _type_of_body(run, name, definition, owner)
    if masks and found.kind not in (wanted.kind, Kind.NULL):
        raise wrong_arguments(str(name), f"its body gives {found}, not {wanted}")


def _type_of_body(run: Run, name: ObjectName, definition: PolicyDefinition, owner: str) -> DataType:
    with run.state.read() as state:
        catalog = StatementCatalog(run, state, name.database, name.schema).within(name.database, name.schema, owner)
        environment = Environment(catalog, run.context)
        queries = QueryBinder(environment, depth=1)
        blank = ExpressionBinder(environment, Scope(), queries)
        given = {
            one.name: blank.cast(Bound(exp.Null(), types.NULL), one.type) for one in definition.arguments
        }  # fmt: skip
        binder = ExpressionBinder(environment, Scope(arguments=given), queries)
        tree = parse_snowflake(definition.body)
        constraint = CONSTRAINTS.get(definition.kind)
        if constraint is not None:
            return binder.bind(as_value(tree, constraint)).type
        body = exp.Subquery(this=tree) if isinstance(tree, exp.Query) else tree
        masks = isinstance(definition, MaskingPolicyDefinition)
        return (binder.bind(body) if masks else binder.boolean(body)).type
