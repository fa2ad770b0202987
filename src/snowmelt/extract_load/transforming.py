"""Transformers: one record in, one out, or none. What can't be understood is rejected with a reason, and kept."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import configuration
from snowmelt.extract_load.columns import values_of
from snowmelt.extract_load.records import Record, Rejected, RejectedRecordError, Rows
from snowmelt.govern.pii.strategies import Strategy, hidden


@dataclass(frozen=True, slots=True)
class Transformed:
    """What became of rows."""

    rows: Rows
    """The rows that go on."""
    kept: Sequence[int] | None = None
    """For each row that goes on the index of the given row it was made of; None if all go on, in their order."""
    rejected: Sequence[tuple[int, str]] = ()
    """Which of the given rows are set aside, and why."""

    def then(self, following: Transformed) -> Transformed:
        """This step and the following one as a single step. Indexes are those of the rows given to this one."""
        if self.kept is None:
            return replace(following, rejected=[*self.rejected, *following.rejected])
        late = [(self.kept[index], reason) for index, reason in following.rejected]
        kept = self.kept if following.kept is None else [self.kept[index] for index in following.kept]
        return Transformed(following.rows, kept, [*self.rejected, *late])


class Transformer(ABC):
    """Changes records on their way. The same record must give the same result each time: steps are repeated."""

    @abstractmethod
    def transform(self, record: Record) -> Record | None:
        """The record as it goes on; None to leave it out. Raises `RejectedRecordError` for one that is wrong."""

    def transform_rows(self, rows: Rows) -> Transformed:
        """All rows of a batch: record by record, unless a transformer has a way to do it for whole columns."""
        made: list[Record] = []
        kept: list[int] = []
        rejected: list[tuple[int, str]] = []
        for index, record in enumerate(rows.records):
            try:
                found = self.transform(record)
            except RejectedRecordError as error:
                rejected.append((index, str(error)))
                continue
            if found is not None:
                made.append(found)
                kept.append(index)
        return Transformed(Rows(made), kept, rejected)

    def protected(self, letter: Rejected) -> Rejected:
        """A dead letter as it may be kept: what must not be landed must not be landed there either."""
        return letter

    def _by_columns(self, owner: type[Transformer], rows: Rows) -> bool:
        """Whether what a class knows about columns holds: a subclass may treat records in another way."""
        return rows.columnar and type(self).transform is owner.transform


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

    def transform_rows(self, rows: Rows) -> Transformed:
        if type(self).transform is not Chain.transform:
            return super().transform_rows(rows)
        made = Transformed(rows)
        for step in self.steps:
            made = made.then(step.transform_rows(made.rows))
        return made

    def protected(self, letter: Rejected) -> Rejected:
        for step in self.steps:
            letter = step.protected(letter)
        return letter


TOKEN_KEY = "SNOWMELT_TOKEN_KEY"
"""The variable in the environment with the key of hashes and tokens; the account's own is the same one."""
_SHOWN_IN_REASONS = 40
_HIDDEN = re.compile(r"[0-9a-f]{64}|tok_[0-9a-f]{32}|\*\*\*")
PiiWord = Literal["drop", "hash", "mask", "tokenise"]


def pii_key() -> str:
    """Raises when the environment has none: without a key, who can list all values finds out what was hashed."""
    key = os.environ.get(TOKEN_KEY)
    if not key:
        raise configuration(
            f"{TOKEN_KEY} is not set.", hint="It is the key by which personal data is hashed: keep it as a secret."
        )
    return key


def pseudonym(value: object, strategy: str, key: str | None) -> str:
    """What stands for a value: `hash`, with the key where there is one, or `tokenise`, as connectors and views do."""
    if strategy == "tokenise":
        return str(hidden(str(value), Strategy.TOKENISE, key or ""))
    return str(hidden(str(value), Strategy.HASH if key is None else Strategy.KEYED_HASH, key or ""))


class ProtectColumns(Transformer):
    """Makes personal data unreadable before it is landed.

    `key` is for `hash`, where equal values stay equal and nobody finds them out who has no key, and for `tokenise`,
    whose tokens are those of PII_TOKEN. A hash without a key can be found out by who can list all values.
    `again` leaves what is hidden already as it is: for dead letters, whose records went this way before.
    """

    def __init__(
        self, columns: Sequence[str], strategy: PiiWord, key: str | None = None, *, again: bool = False
    ) -> None:
        if strategy == "tokenise" and not key:
            raise configuration("tokenise needs a key.")
        self.columns = frozenset(columns)
        self.strategy = strategy
        self._key = key
        self._again = again

    def transform(self, record: Record) -> Record:
        return {
            name: self._hidden(value) if self._is_personal(name) else value
            for name, value in record.items()
            if not (self.strategy == "drop" and self._is_personal(name))
        }

    def transform_rows(self, rows: Rows) -> Transformed:
        if not self._by_columns(ProtectColumns, rows):
            return super().transform_rows(rows)
        table = rows.table
        personal = [name for name in table.column_names if self._is_personal(name)]
        if self.strategy == "drop":
            return Transformed(Rows(table.drop_columns(personal)))
        for name in personal:
            index = table.column_names.index(name)
            hidden = self._hidden_column(table.column(index), table.schema.field(index))
            table = table.set_column(index, pa.field(name, pa.string()), hidden)
        return Transformed(Rows(table))

    def protected(self, letter: Rejected) -> Rejected:
        """What could not be read may hold anything: only its digest is kept."""
        if letter.readable:
            return replace(letter, record=self.transform(letter.record), reason=self._reason(letter))
        text = letter.record.get("text")
        digest = None if text is None else pseudonym(text, "hash", self._key)
        return replace(letter, record={**letter.record, "text": None, "sha256": digest})

    def _reason(self, letter: Rejected) -> str:
        """A reason may quote the value that is wrong."""
        reason = letter.reason
        for name, value in letter.record.items():
            if value not in (None, "") and self._is_personal(name):
                reason = reason.replace(str(value).strip()[:_SHOWN_IN_REASONS], "***")
        return reason

    def _is_personal(self, name: str) -> bool:
        """Also a value of another type, which goes on under a name of its own when the schema evolves."""
        return name in self.columns or name.rpartition("__")[0] in self.columns

    def _hidden(self, value: object) -> str | None:
        if value is None:
            return None
        if self._again and _HIDDEN.fullmatch(str(value)):
            return str(value)
        return "***" if self.strategy == "mask" else pseudonym(value, self.strategy, self._key)

    def _hidden_column(self, column: Any, field: pa.Field) -> Any:
        if self.strategy == "mask":
            return pc.if_else(pc.is_valid(column), "***", pa.scalar(None, pa.string()))
        return pa.array([self._hidden(value) for value in values_of(column, field)], pa.string())
