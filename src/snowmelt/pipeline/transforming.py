"""Transformers: one record in, one out, or none. What can't be understood is rejected with a reason, and kept."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from snowmelt.pipeline.extracting import Record


class RejectedRecordError(Exception):
    """The record is set aside as a dead letter, and the rest goes on."""


class Transformer(ABC):
    """Changes records on their way. The same record must give the same result each time: steps are repeated."""

    @abstractmethod
    def transform(self, record: Record) -> Record | None:
        """The record as it goes on; None to leave it out. Raises `RejectedRecordError` for one that is wrong."""


class Chain(Transformer):
    """Several, one behind the other."""

    def __init__(self, *steps: Transformer) -> None:
        self.steps = steps

    def transform(self, record: Record) -> Record | None:
        current: Record | None = record
        for step in self.steps:
            if current is None:
                return None
            current = step.transform(current)
        return current


class ProtectColumns(Transformer):
    """Makes personal data unreadable before it is landed."""

    def __init__(self, columns: Sequence[str], strategy: Literal["drop", "hash", "mask"]) -> None:
        self.columns = frozenset(columns)
        self.strategy = strategy

    def transform(self, record: Record) -> Record | None:
        return {
            name: self._protected(value) if name in self.columns else value
            for name, value in record.items()
            if not (name in self.columns and self.strategy == "drop")
        }

    def _protected(self, value: object) -> object:
        if value is None:
            return None
        return hashlib.sha256(str(value).encode()).hexdigest() if self.strategy == "hash" else "***"
