"""What every loader is: it takes batches, and commits each with its place, so that no batch counts twice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum

from snowmelt.core import errors
from snowmelt.extract_load.records import Batch, Rows, together


class LoadStrategy(StrEnum):
    APPEND = "append"
    OVERWRITE = "overwrite"
    UPSERT = "upsert"
    MERGE = "merge"
    SCD_TYPE_2 = "scd_type_2"


class Loader(ABC):
    """One destination of one flow.

    Rows and place become visible together, so that a run which was killed goes on where the last commit ended.
    """

    run_id: str
    """Told with every row or commit: which run brought it."""

    @abstractmethod
    def place(self) -> str | None:
        """What is committed; None at the beginning."""

    @abstractmethod
    def load(self, batch: Batch, loaded_at: str) -> int:
        """How many rows were committed. A batch whose place is committed already is not loaded again."""

    @abstractmethod
    def close(self) -> None: ...


def require_strategy(strategy: LoadStrategy, allowed: tuple[LoadStrategy, ...], destination: str) -> None:
    if strategy not in allowed:
        raise errors.configuration(
            f"{destination} can't be loaded by {strategy}.", hint=f"It takes {', '.join(allowed)}."
        )


class Staging:
    """Parts of a whole, in memory, until all of them are there."""

    def __init__(self, destination: str) -> None:
        self._destination = destination
        self._parts: list[Rows] = []

    def taken(self, batch: Batch, *, whole: bool) -> Rows | None:
        """What is to be loaded now: the batch, or of a whole everything with its last part, and nothing before."""
        return self._complete(batch) if whole else batch.rows

    def _complete(self, batch: Batch) -> Rows | None:
        """All rows, with the last part. What is new alone is refused: it must not replace everything."""
        if batch.whole is None:
            raise errors.configuration(
                f"{self._destination} is overwritten, but its source gives only new rows.",
                hint="Leave change_column out, so that the source is read as a whole, or choose append or upsert.",
            )
        if batch.whole.number == 1:
            # A run that tries again begins anew.
            self._parts = []
        self._parts.append(batch.rows)
        return together(self._parts) if batch.whole.last else None
