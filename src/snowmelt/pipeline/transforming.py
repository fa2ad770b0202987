"""Transformers: one record in, one out, or none. What can't be understood is rejected with a reason, and kept."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from snowmelt.pipeline.records import Record, Rejected


class Transformer(ABC):
    """Changes records on their way. The same record must give the same result each time: steps are repeated."""

    @abstractmethod
    def transform(self, record: Record) -> Record | None:
        """The record as it goes on; None to leave it out. Raises `RejectedRecordError` for one that is wrong."""

    def protected(self, letter: Rejected) -> Rejected:
        """A dead letter as it may be kept: what must not be landed must not be landed there either."""
        return letter


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

    def protected(self, letter: Rejected) -> Rejected:
        for step in self.steps:
            letter = step.protected(letter)
        return letter


class ProtectColumns(Transformer):
    """Makes personal data unreadable before it is landed."""

    def __init__(self, columns: Sequence[str], strategy: Literal["drop", "hash", "mask"]) -> None:
        self.columns = frozenset(columns)
        self.strategy = strategy

    def transform(self, record: Record) -> Record:
        return {
            name: self._hidden(value) if self._is_personal(name) else value
            for name, value in record.items()
            if not (self.strategy == "drop" and self._is_personal(name))
        }

    def protected(self, letter: Rejected) -> Rejected:
        """What could not be read may hold anything: only its digest is kept."""
        if letter.readable:
            return replace(letter, record=self.transform(letter.record))
        text = letter.record.get("text")
        digest = None if text is None else hashlib.sha256(str(text).encode()).hexdigest()
        return replace(letter, record={**letter.record, "text": None, "sha256": digest})

    def _is_personal(self, name: str) -> bool:
        """Also a value of another type, which goes on under a name of its own when the schema evolves."""
        return name in self.columns or name.rpartition("__")[0] in self.columns

    def _hidden(self, value: object) -> object:
        if value is None:
            return None
        return hashlib.sha256(str(value).encode()).hexdigest() if self.strategy == "hash" else "***"
