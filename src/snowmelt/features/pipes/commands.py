"""CREATE PIPE, ALTER PIPE and its REFRESH."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors, types
from snowmelt.features.loading.requests import understand
from snowmelt.features.pipes.definitions import PIPE, PipeDefinition
from snowmelt.features.pipes.loading import as_owner, load_text, waiting
from snowmelt.features.pipes.statements import AlterPipe, CreatePipe, PipeChanges, RefreshPipe
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, ResultColumn, status, table_result
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_COLUMNS = (ResultColumn("File", types.VARCHAR), ResultColumn("Status", types.VARCHAR))
_SENT = "SENT"
"""What Snowflake says of a file that a pipe takes."""


def create_pipe(run: Run, statement: CreatePipe) -> Result:
    """Raises what is wrong with the COPY: its table, stage and options."""
    understand(run, run.target_table(statement.copy.target), statement.copy)
    return schema_objects.create(
        run,
        PIPE,
        statement.name,
        PipeDefinition(copy_text=statement.text.text, auto_ingest=bool(statement.options.auto_ingest)),
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        comment=statement.options.comment,
    )


def alter_pipe(run: Run, statement: AlterPipe) -> Result:
    done = status(DONE, "ALTER_PIPE")
    found = schema_objects.to_alter(run, PIPE, statement.name, if_exists=statement.if_exists)
    if found is None:
        return done
    match statement.action:
        case SetOptions(options=PipeChanges() as options):
            given = options.given()
            changed = {"paused": options.pipe_execution_paused} if "PIPE_EXECUTION_PAUSED" in given else {}
            schema_objects.alter(run, found, changed, comment=options.comment)
        case UnsetOptions(names=names):
            changed = {"paused": False} if "PIPE_EXECUTION_PAUSED" in names else {}
            schema_objects.alter(run, found, changed, uncomment="COMMENT" in names)
        case other:
            raise errors.unsupported_action("PIPE", other)
    return done


def refresh_pipe(run: Run, statement: RefreshPipe) -> Result:
    """Loads the files before it answers. With the rights of the pipe's owner, in the pipe's schema."""
    found = schema_objects.to_alter(run, PIPE, statement.name, if_exists=statement.if_exists)
    if found is None:
        return status(DONE, "ALTER_PIPE")
    after = statement.options.modified_after
    with as_owner(run.session, found):
        inside = type(run)(run.session, run.sql)
        files = waiting(inside, found, statement.options.prefix, None if after is None else _moment(after))
        if files:
            run.session.execute(load_text(inside, found, files))
    return table_result(_COLUMNS, [[file.path, _SENT] for file in files], statement_type="ALTER_PIPE")


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise errors.invalid_value(text, "MODIFIED_AFTER") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
