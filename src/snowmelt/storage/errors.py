"""delta-rs' failures in the words of the error catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from snowmelt.core.errors import SnowmeltError, internal, nondeterministic_merge

_DUPLICATE_MATCH = "MERGE matched a target row with multiple source rows"


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raise what delta-rs raises as a `SnowmeltError` that names the table."""
    try:
        yield
    except TableNotFoundError as error:
        raise internal(f"there is no Delta table at '{location}': {error}") from error
    except CommitFailedError as error:
        raise SnowmeltError(
            "300002",
            "40001",
            f"Another writer changed the table at '{location}' at the same time: {error}",
            hint="Run the statement again.",
            transient=True,
        ) from error
    except DeltaError as error:
        if _DUPLICATE_MATCH in str(error):
            raise nondeterministic_merge() from error
        raise internal(f"the Delta table at '{location}': {error}") from error
    except FileExistsError as error:
        raise internal(f"there is a Delta table at '{location}' already") from error
    except pa.ArrowInvalid as error:
        raise internal(f"data does not fit the Delta table at '{location}': {error}") from error
