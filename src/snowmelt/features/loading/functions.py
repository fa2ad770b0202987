"""Table functions over files and loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.loading import inference
from snowmelt.runtime import histories
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.table_functions import Arguments
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def copy_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    name, start = arguments.text("TABLE_NAME"), arguments.instant("START_TIME")
    if name is None or start is None:
        raise errors.not_enough_arguments("COPY_HISTORY", 2, 0)
    return histories.loads(run, state, name, start, arguments.instant("END_TIME"))


def infer_schema(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    ignore_case = str(arguments.value("IGNORE_CASE")).upper() == "TRUE"
    return inference.inferred(
        run, arguments.text("LOCATION") or "", arguments.text("FILE_FORMAT"), ignore_case=ignore_case
    )
