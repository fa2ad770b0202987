"""CREATE SEQUENCE and ALTER SEQUENCE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.relations.alter_tables import rename
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.changes import RenameTo, UnsetOptions
from snowmelt.sql.statements.sequences import AlterSequence, CreateSequence, SetSequence
from snowmelt.state.model import SequenceDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_LIMIT = 2**63


def create_sequence(run: Run, statement: CreateSequence) -> Result:
    for value, option in ((statement.start, "START"), (statement.step, "INCREMENT")):
        if not -_LIMIT <= value < _LIMIT:
            raise errors.invalid_value(str(value), option)
    return schema_objects.create(
        run,
        ObjectType.SEQUENCE,
        statement.name,
        SequenceDefinition(start=statement.start, step=statement.step, ordered=bool(statement.ordered)),
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        comment=statement.comment,
    )


def alter_sequence(run: Run, statement: AlterSequence) -> Result:
    sequence = schema_objects.to_alter(run, ObjectType.SEQUENCE, statement.name, if_exists=statement.if_exists)
    if sequence is None:
        return status(DONE, "ALTER_SEQUENCE")
    match statement.action:
        case RenameTo(new_name=new_name):
            rename(run, sequence, new_name)
        case SetSequence(step=step, ordered=ordered, comment=comment):
            changed: dict[str, Any] = {} if step is None else {"step": step}
            if ordered is not None:
                changed["ordered"] = ordered
            schema_objects.alter(run, sequence, changed, comment=comment)
        case UnsetOptions():
            schema_objects.alter(run, sequence, {}, uncomment=True)
        case _:
            raise errors.unsupported_action("SEQUENCE", statement.action)
    return status(DONE, "ALTER_SEQUENCE")
