"""Loading what a pipe has not loaded: by a statement, or by the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core.names import literal
from snowmelt.features.loading import history
from snowmelt.features.loading.copy_statements import CopyIntoTable
from snowmelt.features.loading.requests import understand
from snowmelt.features.loading.stage_folders import StagedFile
from snowmelt.features.pipes.definitions import definition_of
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session


def copy_of(item: CatalogObject) -> CopyIntoTable:
    found = parse_statement(definition_of(item).copy_text)
    assert isinstance(found, CopyIntoTable)
    return found


@contextmanager
def as_owner(session: Session, item: CatalogObject) -> Iterator[None]:
    """Inside, the session acts as the pipe's owner in the pipe's schema."""
    home = session.database, session.schema, session.role, session.secondary_roles, session.acts_as_owner
    session.database, session.schema = item.name.database, item.name.schema
    session.role, session.secondary_roles, session.acts_as_owner = item.owner, (), True
    try:
        yield
    finally:
        session.database, session.schema, session.role, session.secondary_roles, session.acts_as_owner = home


def waiting(
    run: Run, item: CatalogObject, prefix: str | None = None, modified_after: datetime | None = None
) -> list[StagedFile]:
    """The files that the pipe would load now. The run acts as the owner."""
    copy = copy_of(item)
    table = run.target_table(copy.target)
    request = understand(run, table, copy)
    files = {request.stage.history_key(file): file for file in request.stage.matching(request.pattern)}
    known = history.known(run, table, list(files))
    return [
        file
        for key, file in files.items()
        if (key not in known or not history.is_same(run, request.stage, file, known[key]))
        and (prefix is None or below(request.stage.path, file).startswith(prefix))
        and (modified_after is None or file.modified > modified_after)
    ]


def below(path: str, file: StagedFile) -> str:
    """The file's path inside the stage's path, as FILES names it."""
    return file.path.removeprefix(path.rstrip("/")).lstrip("/") if path else file.path


def load_text(run: Run, item: CatalogObject, files: list[StagedFile]) -> str:
    """The COPY of these files. Bad ones do not stop a pipe."""
    copy = copy_of(item)
    path = understand(run, run.target_table(copy.target), copy).stage.path
    names = ", ".join(literal(below(path, file)) for file in files)
    on_error = "" if copy.options.on_error is not None else " ON_ERROR = SKIP_FILE"
    return f"{definition_of(item).copy_text}\nFILES = ({names}){on_error}"
