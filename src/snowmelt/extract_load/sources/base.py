"""What every extractor is: records of a source in batches, each with the place from which the next run goes on.

And how a kind of source is described: the module of its extractor has its `SourceDescription`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from snowmelt.core import errors
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.options import Known, Options
from snowmelt.extract_load.records import Batch

BATCH_ROWS = 10_000


class Extractor(ABC):
    """Gives the records of one table, topic or kind of file."""

    @abstractmethod
    def extract(self, after: str | None) -> Iterator[Batch]:
        """All that is behind a place, or everything for None, in an order that is the same each time.

        Nothing new gives no batch. What can't be read goes on in `Batch.rejected`; an error that may pass is a
        `SnowmeltError` with `transient`, `ConnectionError` or `TimeoutError`, and is tried again from the last place
        that was committed.
        """


@dataclass(frozen=True, slots=True)
class TableToRead:
    """A table, a topic, a pattern of file names, or the path of an API."""

    endpoint: Endpoint
    name: str
    key: tuple[str, ...] = ()
    change_column: str | None = None
    options: Options = field(default_factory=dict)

    @property
    def batch_rows(self) -> int:
        return int(self.options.get("batch_rows", BATCH_ROWS))


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A kind of source, as `connections.yaml` names it."""

    kind: str
    table_options: Known
    """How a table is read."""
    connection_options: Known | None
    """Beside the address; None where any may be one."""
    extractor: Callable[[TableToRead], Extractor] | None
    """None where its extractor needs more than an address."""
    example_address: str = ""
    extra: str | None = None
    """What Snowmelt has to be installed with to read it."""
    has_catalog: bool = False
    """Whether the columns of its tables can be asked for."""


def read_json_place(place: str, key: str) -> dict[str, Any]:
    """A place that is a document with that key. Raises for one that another way of reading left."""
    try:
        data = json.loads(place)
    except ValueError:
        data = None
    if not isinstance(data, dict) or key not in data:
        raise errors.configuration(
            "The flow was loaded in another way before, so its last position can't be used now.",
            hint="Undo the change of kind or change_column, or rename the flow to load everything again.",
        )
    return data
