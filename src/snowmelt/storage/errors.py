"""delta-rs' and the disk's failures as Snowmelt's errors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from snowmelt.core.errors import WriteConflictError, internal, nondeterministic_merge, storage_failed

T = TypeVar("T")
_DUPLICATE_MATCH = "MERGE matched a target row with multiple source rows"
_ATTEMPTS = 20
_OPERATING_SYSTEM = re.compile(r"\(os error (\d+)\)")
"""How Rust ends the text of a failed call to the operating system."""


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raise what delta-rs and the operating system raise as a `SnowmeltError` that names the table."""
    try:
        yield
    except TableNotFoundError as error:
        raise internal(f"there is no Delta table at '{location}': {error}") from error
    except CommitFailedError as error:
        raise WriteConflictError(location, str(error)) from error
    except DeltaError as error:
        if _DUPLICATE_MATCH in str(error):
            raise nondeterministic_merge() from error
        if _OPERATING_SYSTEM.search(str(error)):
            raise storage_failed(f"The Delta table at '{location}'", _system_error(error)) from error
        raise internal(f"the Delta table at '{location}': {error}") from error
    except FileExistsError as error:
        raise internal(f"there is a Delta table at '{location}' already") from error
    except pa.ArrowInvalid as error:
        raise internal(f"data does not fit the Delta table at '{location}': {error}") from error
    except OSError as error:
        raise storage_failed(f"The Delta table at '{location}'", _system_error(error)) from error


def _system_error(error: Exception) -> OSError:
    """The operating system's error; Rust gives its number in the text only."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    failed = _OPERATING_SYSTEM.search(str(error))
    return OSError(int(failed[1]), os.strerror(int(failed[1]))) if failed else OSError(str(error))


def retried_on_conflict(attempt: Callable[[], T], location: str) -> T:
    """What `attempt` returns; it is made again as long as other tools commit in the few milliseconds it takes."""
    for _ in range(_ATTEMPTS):
        try:
            with translated(location):
                return attempt()
        except WriteConflictError:
            continue
    with translated(location):
        return attempt()
