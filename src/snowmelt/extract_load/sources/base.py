"""What every extractor is: records of a source in batches, each with the place from which the next run goes on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from snowmelt.core import errors
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


def read_json_place(place: str, key: str) -> dict[str, Any]:
    """A place that is a document with that key. Raises for one that another way of reading left."""
    try:
        data = json.loads(place)
    except ValueError:
        data = None
    if not isinstance(data, dict) or key not in data:
        raise errors.configuration(
            "The flow was loaded in another way before, so where it stopped does not tell where to go on now.",
            hint="Undo the change of kind or change_column, or give the flow another name and load everything anew.",
        )
    return data
