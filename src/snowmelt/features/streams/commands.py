"""CREATE STREAM and ALTER STREAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.streams import creating
from snowmelt.features.streams.definitions import STREAM
from snowmelt.features.streams.statements import AlterStream, CreateStream, StreamComment
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_stream(run: Run, statement: CreateStream) -> Result:
    return creating.create(run, statement)


def alter_stream(run: Run, statement: AlterStream) -> Result:
    stream = schema_objects.to_alter(run, STREAM, statement.name, if_exists=statement.if_exists)
    if stream is None:
        return status(DONE, "ALTER_STREAM")
    match statement.action:
        case SetOptions(options=StreamComment(comment=comment)):
            schema_objects.alter(run, stream, {}, comment=comment)
        case UnsetOptions():
            schema_objects.alter(run, stream, {}, uncomment=True)
        case _:
            raise errors.unsupported_action("STREAM", statement.action)
    return status(DONE, "ALTER_STREAM")
