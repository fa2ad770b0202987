"""SYSTEM$ functions of pipes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import split_name
from snowmelt.features.pipes import service
from snowmelt.features.pipes.definitions import PIPE, definition_of
from snowmelt.features.pipes.loading import as_owner, copy_of, waiting
from snowmelt.runtime import schema_objects
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.rights import enforcement
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _find(run: Run, state: StateReader, text: Any) -> CatalogObject:
    parts = split_name(str(text))
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(str(text), "pipe_name")
    full = run.object_name(parts)
    found = state.catalog.find(full, [PIPE])
    if found is None:
        raise errors.not_found("Pipe", str(full))
    return found


def pipe_status(run: Run, state: StateReader, arguments: Sequence[Any]) -> str:
    """JSON: whether it runs, how many files wait, and when the last one was loaded."""
    item = _find(run, state, arguments[0])
    enforcement.require_object(run, "MONITOR", item)
    found: dict[str, Any] = {"executionState": "PAUSED" if definition_of(item).paused else "RUNNING"}
    with as_owner(run.session, item):
        inside = type(run)(run.session, run.sql)
        try:
            found["pendingFileCount"] = len(waiting(inside, item))
            loads = state.loads.history(inside.target_table(copy_of(item).target).id)
        except SnowmeltError as error:
            return json.dumps(
                {"executionState": "STOPPED_MISSING_TABLE", "pendingFileCount": 0, "error": error.message}
            )
    loaded = [load for load in loads if load.status != "LOAD_FAILED"]
    if loaded:
        last = max(loaded, key=lambda load: load.loaded_at)
        found["lastIngestedTimestamp"] = last.loaded_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        found["lastIngestedFilePath"] = last.file.partition("/")[2]
    failure = run.account.services[service.Pipes].error_of(item.id) if run.account.services.is_made("Pipes") else None
    if failure is not None:
        found["error"] = failure
    return json.dumps(found)


def force_resume(run: Run, state: StateReader, arguments: Sequence[Any]) -> str:
    item = _find(run, state, arguments[0])
    enforcement.require_object(run, "OWNERSHIP", item)
    schema_objects.alter(run, item, {"paused": False})
    return json.dumps({"executionState": "RUNNING"})


FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$PIPE_STATUS": SystemFunction(1, 1, types.VARCHAR, pipe_status),
        "SYSTEM$PIPE_FORCE_RESUME": SystemFunction(1, 2, types.VARCHAR, force_resume),
    },
)
