"""CREATE TAG and ALTER TAG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.relations.alter_tables import rename
from snowmelt.features.tags.definitions import TAG, TagDefinition
from snowmelt.features.tags.statements import AllowValues, AlterTag, CreateTag
from snowmelt.runtime import kinds, schema_objects
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.base import Annotation
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.options import CommentOption

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_tag(run: Run, statement: CreateTag) -> Result:
    return schema_objects.create(
        run,
        TAG,
        statement.name,
        TagDefinition(allowed_values=statement.allowed_values),
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        comment=statement.comment,
    )


def alter_tag(run: Run, statement: AlterTag) -> Result:
    done = status(DONE, "ALTER_TAG")
    found = schema_objects.to_alter(run, TAG, statement.name, if_exists=statement.if_exists)
    if found is None:
        return done
    match statement.action:
        case RenameTo(new_name=new_name):
            rename(run, found, new_name)
        case AllowValues() as change:
            schema_objects.alter(run, found, lambda definition: {"allowed_values": _allowed(definition, change)})
        case SetOptions(options=CommentOption() as options):
            schema_objects.alter(run, found, {}, comment=options.comment)
        case Annotation() as said:
            kinds.annotate_relation(run, found, (said,))
        case UnsetOptions():
            schema_objects.alter(run, found, {}, uncomment=True)
        case other:
            raise errors.unsupported_action("TAG", other)
    return done


def _allowed(definition: TagDefinition, change: AllowValues) -> tuple[str, ...] | None:
    """Values that something has already stay there: what is allowed counts when one is set."""
    if change.any:
        return None
    known = definition.allowed_values or ()
    return tuple(value for value in dict.fromkeys((*known, *change.added)) if value not in change.dropped)
