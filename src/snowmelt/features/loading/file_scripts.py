"""EXECUTE IMMEDIATE FROM: the statements of a file in a stage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.file_statements import ExecuteFile
from snowmelt.runtime.results import Result
from snowmelt.sql.tokens import split_statements

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_DEEPEST = 16
_MOST = 10 * 1024 * 1024
_TEMPLATE = re.compile(r"\s*--\s*!\s*jinja", re.IGNORECASE)


def execute_file(run: Run, statement: ExecuteFile) -> Result:
    """Runs the statements one after the other, each in its own right; gives what the last of them gave.

    It stops at the first that fails, whose error is this statement's. What ran before stays.
    """
    _check_depth(run)
    statements = split_statements(_content(run, statement))
    if not statements:
        raise errors.compilation("000900", "42601", "The file has no statement.")
    for one in statements[:-1]:
        run.check_cancelled()
        run.session.execute(one)
    return run.session.execute(statements[-1])


def _check_depth(run: Run) -> None:
    depth, around = 0, run.outer
    while around is not None:
        depth, around = depth + 1, around.outer
    if depth > _DEEPEST:
        raise SnowmeltError("090235", "54001", f"Statements are more than {_DEEPEST} deep inside each other.")


def _content(run: Run, statement: ExecuteFile) -> str:
    stage = stage_folders.resolve(run, statement.location)
    found = next((file for file in stage.all_files() if file.path == stage.path), None)
    if found is None:
        raise SnowmeltError("091016", "22000", f"Remote file '{stage.written}' was not found.")
    if found.size > _MOST:
        raise SnowmeltError("001003", "42000", f"A file of statements may have {_MOST:,} bytes.")
    with stage.reading(found.path) as opened:
        content = bytes(opened.read())
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SnowmeltError(
            "001003", "42000", f"The file '{stage.written}' is no text in UTF-8.",
            hint="PUT compresses files unless AUTO_COMPRESS = FALSE.",
        ) from None  # fmt: skip
    if _TEMPLATE.match(text):
        raise errors.unsupported("EXECUTE IMMEDIATE FROM a template", hint="Render the file's template before PUT.")
    return text
